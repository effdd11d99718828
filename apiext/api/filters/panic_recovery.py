"""Answers 500 after an unexpected exception (apiserver pkg/server/filters/wrap.go)."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from apiext.api.endpoints.request import HEADERS, Handler
from apiext.api.endpoints.responsewriters.response import AbortedResponse, has_begun
from apiext.api.endpoints.responsewriters.status import text_reply
from apiext.api.filters.audit_id import HEADER
from apiext.base.meta.log import get_logger

_LOG: Final = get_logger(__name__)
_MESSAGE: Final = "This request caused apiserver to panic. Look in the logs for details."


class PanicRecovery:
    """Logs an unexpected exception, and answers 500 without its details.

    If an answer has begun, it closes the connection instead.
    """

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the handler's answer, or 500."""
        try:
            return await self._handler(request)
        except Exception as error:  # noqa: BLE001 -- the last resort for defects
            if not (isinstance(error, ConnectionError) and _is_disconnected(request)):
                audit_id = request.get(HEADERS, {}).get(HEADER, "")
                _LOG.exception("request failed", method=request.method, uri=str(request.rel_url), audit_id=audit_id)
            if has_begun(request):
                return AbortedResponse()
            reply = text_reply(_MESSAGE, status=500)
            reply.force_close()
            return reply


def _is_disconnected(request: web.BaseRequest) -> bool:
    return request.transport is None or request.transport.is_closing()

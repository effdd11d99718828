"""Turns an unexpected exception into an answer that gives nothing away (apiserver pkg/server/filters/wrap.go)."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from apiext.endpoints.request import HEADERS, Handler
from apiext.endpoints.responsewriters.response import BrokenOff, has_begun
from apiext.endpoints.responsewriters.status import text_reply
from apiext.filters.audit_id import HEADER
from apiext.meta.log import get_logger

_LOG: Final = get_logger(__name__)
_MESSAGE: Final = "This request caused apiserver to panic. Look in the logs for details."


class PanicRecovery:
    """Answers 500 where a handler fails with anything that is not meant for the client; the log gets the details.

    An answer that has begun cannot be taken back: its connection is closed.
    """

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Pass the request on."""
        try:
            return await self._handler(request)
        except Exception as error:  # noqa: BLE001 -- the one place that keeps a defect from the client
            if not (isinstance(error, ConnectionError) and _gone(request)):
                audit_id = request.get(HEADERS, {}).get(HEADER, "")
                _LOG.exception("request failed", method=request.method, uri=str(request.rel_url), audit_id=audit_id)
            if has_begun(request):
                return BrokenOff()
            reply = text_reply(_MESSAGE, status=500)
            reply.force_close()
            return reply


def _gone(request: web.BaseRequest) -> bool:
    return request.transport is None or request.transport.is_closing()

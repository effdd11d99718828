"""Filters that answer errors: those of a handler, and unexpected exceptions (apiserver pkg/server/filters/wrap.go).

The audit filter renders the errors of the filters behind it itself, to record the answer.
"""

from __future__ import annotations

from typing import Final

from aiohttp import web

from apiext.api.endpoints.request import HEADERS, Handler
from apiext.api.endpoints.responsewriters.response import AbortedResponse, has_begun
from apiext.api.endpoints.responsewriters.status import status_reply, text_reply
from apiext.api.filters.headers import HEADER
from apiext.base.meta import errors
from apiext.base.meta.log import get_logger

_LOG: Final = get_logger(__name__)
_MESSAGE: Final = "This request caused apiserver to panic. Look in the logs for details."
_TOO_LARGE: Final = errors.too_large("limit is 3145728")


class ErrorRendering:
    """Answers with the Status of a StatusError; with `plain`, as a server without the feature AllowUnsafeMalformedObjectDeletion.

    If an answer has begun, it closes the connection.
    """

    def __init__(self, handler: Handler, *, plain: bool = False) -> None:
        self._handler = handler
        self._plain = plain

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the handler's answer, or its error as an answer."""
        try:
            return await self._handler(request)
        except errors.StatusError as error:
            # no local variable for the error: its traceback would make that a reference cycle
            return AbortedResponse() if has_begun(request) else status_reply(request, (self._plain and error.plain) or error)
        except web.HTTPRequestEntityTooLarge:
            return AbortedResponse() if has_begun(request) else status_reply(request, _TOO_LARGE)
        except web.HTTPException as error:
            return AbortedResponse() if has_begun(request) else text_reply(error.text or error.reason, status=error.status)


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

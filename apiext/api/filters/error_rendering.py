"""Renders errors as answers. The audit filter does that itself for the errors of the filters behind it, to record the answer."""

from __future__ import annotations

from aiohttp import web

from apiext.api.endpoints.request import Handler
from apiext.api.endpoints.responsewriters.response import AbortedResponse, has_begun
from apiext.api.endpoints.responsewriters.status import status_reply, text_reply
from apiext.base.meta import errors


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


_TOO_LARGE = errors.too_large("limit is 3145728")

"""Turns errors meant for the client into answers: the one place where a StatusError leaves the server."""

from __future__ import annotations

from aiohttp import web

from apiext.endpoints.request import Handler
from apiext.endpoints.responsewriters.response import BrokenOff, has_begun
from apiext.endpoints.responsewriters.status import status_reply, text_reply
from apiext.meta import errors


class ErrorRendering:
    """Answers with the Status of a StatusError. What has begun is broken off instead."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Pass the request on."""
        try:
            return await self._handler(request)
        except errors.StatusError as error:
            return BrokenOff() if has_begun(request) else status_reply(request, error)
        except web.HTTPRequestEntityTooLarge:
            return BrokenOff() if has_begun(request) else status_reply(request, _TOO_LARGE)
        except web.HTTPException as error:
            return BrokenOff() if has_begun(request) else text_reply(error.text or error.reason, status=error.status)


_TOO_LARGE = errors.too_large("limit is 3145728")

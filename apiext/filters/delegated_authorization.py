"""Refuses requests that another server does not authorize (apiserver pkg/endpoints/filters/authorization.go)."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from apiext.authorization.authorizer import AuthorizationModes, Decision, ReviewError
from apiext.authorization.forbidden import forbidden, sanitized
from apiext.endpoints.request import AUTHORIZE, INFO, USER, Handler
from apiext.endpoints.responsewriters.status import status_reply, text_reply
from apiext.meta import go_format

_DELETIONS: Final = ("delete", "deletecollection")
_NO_SNIFFING: Final = {"X-Content-Type-Options": "nosniff"}


class DelegatedAuthorization:
    """Passes requests that one of the modes allows.

    Answers 403 to others, and 500 if no mode allows the request and its SubjectAccessReview failed.
    """

    def __init__(self, handler: Handler, *, modes: AuthorizationModes, unsafe_deletion: bool = True) -> None:
        self._handler = handler
        self._modes = modes
        self._unsafe_deletion = unsafe_deletion

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the handler's answer to an authorized request, else 403 or 500."""
        user, info = request[USER], request[INFO]
        try:
            verdict = await self._modes.authorize(user, info)
        except ReviewError as failure:
            uri = go_format.quote(str(request.rel_url))
            return text_reply(sanitized(f"Internal Server Error: {uri}: {failure}"), status=500)
        if verdict.decision is not Decision.ALLOW:
            return status_reply(request, forbidden(user, info, verdict.reason), _NO_SNIFFING)
        if info.verb in _DELETIONS and self._unsafe_deletion:
            request[AUTHORIZE] = self._modes.authorize
        return await self._handler(request)

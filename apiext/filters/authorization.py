"""Refuses unauthorized requests (apiserver pkg/endpoints/filters/authorization.go)."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from apiext.authorization.authorizer import ALLOWED, Authorizer, Decision, Verdict
from apiext.authorization.forbidden import forbidden
from apiext.endpoints.request import AUTHORIZE, INFO, USER, Handler
from apiext.endpoints.responsewriters.status import status_reply
from apiext.filters.step import FilterStep
from apiext.meta.request import RequestInfo, UserInfo

_DELETIONS: Final = ("delete", "deletecollection")
_NO_SNIFFING: Final = {"X-Content-Type-Options": "nosniff"}


class Authorization(FilterStep):
    """Passes requests that the authorizer allows, and answers 403 to others."""

    def __init__(self, handler: Handler, *, authorizer: Authorizer, unsafe_deletion: bool = True) -> None:
        super().__init__(handler)
        self._authorizer = authorizer
        self._unsafe_deletion = unsafe_deletion

    def enter(self, request: web.BaseRequest) -> web.StreamResponse | None:
        """Return 403 unless the user is authorized."""
        user, info = request[USER], request[INFO]
        verdict = self._authorizer.authorize(user, info)
        if verdict is ALLOWED or verdict.decision is Decision.ALLOW:
            if info.verb in _DELETIONS and self._unsafe_deletion:
                request[AUTHORIZE] = self._decide
            return None
        return status_reply(request, forbidden(user, info, verdict.reason), _NO_SNIFFING)

    async def _decide(self, user: UserInfo, info: RequestInfo) -> Verdict:
        return self._authorizer.authorize(user, info)

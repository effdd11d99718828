"""Refuses what another server does not allow (apiserver pkg/endpoints/filters/authorization.go)."""

from __future__ import annotations

from typing import Final, Protocol

from aiohttp import web

from apiext.authorization.authorizer import Authorizer, Decision, Verdict
from apiext.authorization.refusal import forbidden, sanitized
from apiext.authorization.webhook import ReviewError
from apiext.endpoints.request import AUTHORIZE, INFO, USER, Handler
from apiext.endpoints.status import status_reply, text_reply
from apiext.meta import goformat
from apiext.meta.request import RequestInfo, UserInfo

_DELETIONS: Final = ("delete", "deletecollection")
_NO_SNIFFING: Final = {"X-Content-Type-Options": "nosniff"}


class Delegate(Protocol):
    """Decides by asking somebody else."""

    async def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """The verdict. Raises ReviewError."""
        ...


class DelegatedAuthorization:
    """Passes on what `before` allows, else what the delegate allows, else what `after` does.

    Answers 403 to the rest, and 500 where nobody has allowed it and the delegate could not be asked.
    """

    def __init__(
        self, handler: Handler, *, before: Authorizer, delegate: Delegate, after: Authorizer, unsafe_deletion: bool = True
    ) -> None:
        self._handler = handler
        self._unsafe_deletion = unsafe_deletion
        self._before = before
        self._delegate = delegate
        self._after = after

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Pass the request on where its user may do what it asks for."""
        user, info = request[USER], request[INFO]
        try:
            verdict = await self._decide(user, info)
        except ReviewError as failure:
            uri = goformat.quote(str(request.rel_url))
            return text_reply(sanitized(f"Internal Server Error: {uri}: {failure}"), status=500)
        if verdict.decision is not Decision.ALLOW:
            return status_reply(request, forbidden(user, info, verdict.reason), _NO_SNIFFING)
        if info.verb in _DELETIONS and self._unsafe_deletion:
            request[AUTHORIZE] = self._decide
        return await self._handler(request)

    async def _decide(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """The verdict of all. Raises ReviewError."""
        verdict, failure = self._before.authorize(user, info), None
        if verdict.decision is Decision.NO_OPINION:
            try:
                verdict = await self._delegate.authorize(user, info)
            except ReviewError as error:
                failure = error
        if verdict.decision is Decision.NO_OPINION and not (failure and failure.denied):
            other = self._after.authorize(user, info)
            verdict = other if other.decision is not Decision.NO_OPINION else verdict
        if failure is not None and verdict.decision is not Decision.ALLOW:
            raise failure
        return verdict

"""Finds out who sends a request, with the help of another server (apiserver pkg/authentication/authenticatorfactory/delegating.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from apiext.authentication.token_review import TokenReviewError
from apiext.endpoints.request import USER
from apiext.meta.log import get_logger
from apiext.meta.user import authenticated

if TYPE_CHECKING:
    from aiohttp import web

    from apiext.endpoints.request import Handler
    from apiext.filters.authentication import Credentials
    from apiext.meta.request import UserInfo

_LOG: Final = get_logger(__name__)


class Reviewer(Protocol):
    """Knows more tokens."""

    async def user(self, token: str) -> UserInfo | None:
        """Whose the token is, None where it is nobody's. Raises TokenReviewError."""
        ...


class DelegatedAuthentication:
    """As Authentication; a token that the server itself does not know is the other server's to judge."""

    def __init__(self, handler: Handler, *, credentials: Credentials, reviewer: Reviewer) -> None:
        self._handler = handler
        self._credentials = credentials
        self._reviewer = reviewer

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Attach the user and pass the request on.

        Raises:
            StatusError: 401.
        """
        credentials = self._credentials
        user = credentials.certified(request)
        if user is None:
            token = credentials.token(request)
            user = await self._known(token)
            if user is None:
                offered = credentials.offered(request)
                user = await self._known(offered) or credentials.nobody(request, shown=bool(token or offered))
        request[USER] = user
        return await self._handler(request)

    async def _known(self, token: str) -> UserInfo | None:
        user = self._credentials.known(token)
        if user is not None or not token:
            return user
        why = "invalid bearer token"
        try:
            user = await self._reviewer.user(token)
        except TokenReviewError as error:
            why = str(error)
        if user is None:
            _LOG.error("a token is nobody's", error=why)
            return None
        return authenticated(user)

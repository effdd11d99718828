"""Finds out who sends a request (apiserver pkg/endpoints/filters/authentication.go).

In this order: the headers of a front proxy, the client certificate, a bearer token, anonymous.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from aiohttp import web

from apiext.authentication.request_header import RequestHeaders
from apiext.authentication.tokenfile import bearer_token
from apiext.endpoints.request import PEER, USER, WARNINGS, Handler
from apiext.filters.step import Step
from apiext.meta import errors
from apiext.meta.request import Peer, UserInfo
from apiext.meta.user import ANONYMOUS, authenticated

_BLANKS: Final = "the provided Authorization header contains extra space before the bearer token, and is ignored"


class Authentication(Step):
    """Attaches the user. Who shows a wrong token, or nothing where anonymous requests are not let in, gets 401."""

    def __init__(
        self,
        handler: Handler,
        *,
        anonymous: bool,
        tokens: Mapping[str, UserInfo] | None = None,
        front_proxy: RequestHeaders | None = None,
    ) -> None:
        super().__init__(handler)
        self._anonymous = anonymous
        self._tokens = {token: authenticated(user) for token, user in (tokens or {}).items()}
        self._front_proxy = front_proxy

    def enter(self, request: web.BaseRequest) -> None:
        """Attach the user.

        Raises:
            StatusError: 401.
        """
        user = self._certified(request) or self._known_by_token(request)
        if user is None:
            if not self._anonymous:
                raise errors.unauthorized("Unauthorized")
            user = ANONYMOUS
        request[USER] = user

    def _certified(self, request: web.BaseRequest) -> UserInfo | None:
        peer: Peer | None = request.get(PEER)
        if peer is None:
            return None
        if peer.is_front_proxy and self._front_proxy is not None:
            user = self._front_proxy.user(request.headers)
            if user is not None:
                return authenticated(user)
        return peer.user

    def _known_by_token(self, request: web.BaseRequest) -> UserInfo | None:
        header = request.headers.get("Authorization")
        token = bearer_token(header) if header else ""
        if not token:
            if header and header.strip().lower().startswith("bearer  "):
                request[WARNINGS].append(_BLANKS)
            return None
        user = self._tokens.get(token)
        if user is None:
            raise errors.unauthorized("Unauthorized")
        return user

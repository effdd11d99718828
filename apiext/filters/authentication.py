"""Finds out who sends a request (apiserver pkg/endpoints/filters/authentication.go).

In this order: the headers of a front proxy, the client certificate, a bearer token, anonymous.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final, Protocol

from aiohttp import web

from apiext.authentication.token_file import bearer_token
from apiext.authentication.websocket_token import ProtocolError, bearer_of
from apiext.endpoints.request import PEER, PROTOCOLS, USER, WARNINGS, Handler
from apiext.endpoints.responsewriters.websocket import upgrades
from apiext.filters.metrics import CertificateLives
from apiext.filters.step import Step
from apiext.meta import errors
from apiext.meta.request import Peer, UserInfo
from apiext.meta.user import ANONYMOUS, authenticated

_BLANKS: Final = "the provided Authorization header contains extra space before the bearer token, and is ignored"


class VouchedUsers(Protocol):
    """Reads users from the headers of front proxies."""

    def user(self, headers: Mapping[str, str]) -> UserInfo | None:
        """The user that the headers name, None where they name nobody."""
        ...


class Credentials:
    """What is known of clients without asking anybody."""

    def __init__(
        self,
        *,
        anonymous: bool,
        tokens: Mapping[str, UserInfo] | None = None,
        front_proxy: VouchedUsers | None = None,
        lives: CertificateLives | None = None,
    ) -> None:
        self._anonymous = anonymous
        self._tokens = {token: authenticated(user) for token, user in (tokens or {}).items()}
        self._front_proxy = front_proxy
        self._lives = lives or CertificateLives()

    def certified(self, request: web.BaseRequest) -> UserInfo | None:
        """Whom the connection's certificate stands for, or whom a front proxy's headers name; nobody once it has ended."""
        peer: Peer | None = request.get(PEER)
        if peer is None:
            return None
        left = peer.ends - time.time()
        if peer.is_front_proxy and self._front_proxy is not None and left > 0:
            user = self._front_proxy.user(request.headers)
            if user is not None:
                return authenticated(user)
        self._lives.observe(left)
        return peer.user if left > 0 else None

    def token(self, request: web.BaseRequest) -> str:
        """The bearer token, empty where there is none."""
        header = request.headers.get("Authorization")
        token = bearer_token(header) if header else ""
        if header and not token and header.strip().lower().startswith("bearer  "):
            request[WARNINGS].append(_BLANKS)
        return token

    def offered(self, request: web.BaseRequest) -> str:
        """The bearer token among the protocols of a WebSocket, empty where there is none.

        Raises:
            StatusError: 401, where it cannot be told.
        """
        headers = request.headers.getall("Sec-WebSocket-Protocol", ())
        if not headers or not upgrades(request.headers):
            return ""
        try:
            token, rest = bearer_of(headers)
        except ProtocolError as error:
            raise errors.unauthorized("Unauthorized") from error
        if token:
            request[PROTOCOLS] = rest
        return token

    def known(self, token: str) -> UserInfo | None:
        """Whose a token of the file is."""
        return self._tokens.get(token)

    def nobody(self, request: web.BaseRequest, *, shown: bool) -> UserInfo:
        """Who sends a request without a token that is somebody's.

        Raises:
            StatusError: 401, where it was `shown` with one, its certificate is worth nothing, or nobody may be anonymous.
        """
        peer: Peer | None = request.get(PEER)
        if shown or not self._anonymous or (peer is not None and (peer.is_refused or peer.ends <= time.time())):
            raise errors.unauthorized("Unauthorized")
        return ANONYMOUS


class Authentication(Step):
    """Attaches the user. Who shows a wrong token or certificate, or nothing where nobody may be anonymous, gets 401."""

    def __init__(
        self,
        handler: Handler,
        *,
        anonymous: bool,
        tokens: Mapping[str, UserInfo] | None = None,
        front_proxy: VouchedUsers | None = None,
        lives: CertificateLives | None = None,
    ) -> None:
        super().__init__(handler)
        self._credentials = Credentials(anonymous=anonymous, tokens=tokens, front_proxy=front_proxy, lives=lives)

    def enter(self, request: web.BaseRequest) -> None:
        """Attach the user.

        Raises:
            StatusError: 401.
        """
        credentials = self._credentials
        user = credentials.certified(request)
        if user is None:
            token = credentials.token(request)
            user = credentials.known(token)
            if user is None:
                offered = credentials.offered(request)
                user = credentials.known(offered) or credentials.nobody(request, shown=bool(token or offered))
        request[USER] = user

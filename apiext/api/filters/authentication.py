"""Authenticates requests (apiserver pkg/endpoints/filters/authentication.go, pkg/authentication/authenticatorfactory/delegating.go).

In this order: front-proxy headers, client certificate, bearer token, bearer token among WebSocket protocols, anonymous.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from aiohttp import web

from apiext.api.authentication.bearer_token import WebSocketTokenError, bearer_token, websocket_token
from apiext.api.authentication.request_header import RawHeaders
from apiext.api.authentication.token_review import TokenReviewError
from apiext.api.endpoints.handlers.websocket import upgrades
from apiext.api.endpoints.request import PEER, PROTOCOLS, PROXIED_USER, USER, WARNINGS, Handler
from apiext.api.filters.before_request import FilterStep
from apiext.api.filters.metrics import CertificateExpirations
from apiext.base.meta import errors
from apiext.base.meta.log import get_logger
from apiext.base.meta.request import ANONYMOUS, Peer, UserInfo, authenticated

_LOG: Final = get_logger(__name__)
_EXTRA_SPACE: Final = "the provided Authorization header contains extra space before the bearer token, and is ignored"


FrontProxyUser = Callable[[Mapping[str, str], RawHeaders], UserInfo | None]
"""Returns the authenticated user in the headers of a front proxy, parsed and as received, None without a user name."""
Reviewer = Callable[[str], Awaitable[UserInfo | None]]
"""Asks another server for the user of a token; returns None for an unauthenticated token. Raises TokenReviewError."""

Refused = Callable[[web.BaseRequest, errors.StatusError], None]
"""Takes a request that is refused, and the error that is its answer."""


class Authentication(FilterStep):
    """Sets the user of a request. Answers 401 to invalid credentials and, if anonymous requests are disabled, to missing ones.

    `tokens` maps static tokens to users. The `reviewer` gets all other tokens. `refused` gets each request that is answered 401.
    """

    def __init__(
        self,
        handler: Handler,
        *,
        anonymous: bool,
        tokens: Mapping[str, UserInfo] | None = None,
        front_proxy: FrontProxyUser | None = None,
        expirations: CertificateExpirations | None = None,
        reviewer: Reviewer | None = None,
        refused: Refused | None = None,
    ) -> None:
        super().__init__(handler)
        self._anonymous = anonymous
        self._tokens = {token: authenticated(user) for token, user in (tokens or {}).items()}
        self._front_proxy = front_proxy
        self._expirations = expirations or CertificateExpirations()
        self._reviewer = reviewer
        self._refused = refused

    def enter(self, request: web.BaseRequest) -> Awaitable[None] | None:
        """Set the user. If only the reviewer knows the user, return an awaitable that asks it.

        Raises:
            StatusError: 401, also after a defect: no client shall cause one without a user. Another one if the store does not answer.
        """
        try:
            return self._authenticate(request)
        except errors.StatusError:
            raise
        except Exception as error:
            raise self._failed(request) from error

    def _authenticate(self, request: web.BaseRequest) -> Awaitable[None] | None:
        user = self._certificate_user(request)
        if user is None:
            token = _header_token(request)
            user = self._tokens.get(token)
            if user is None:
                if self._reviewer is not None:
                    return self._review(request, token, self._reviewer)
                protocol_token = self._protocol_token(request)
                user = self._tokens.get(protocol_token) or self._anonymous_user(request, has_token=bool(token or protocol_token))
        request[USER] = user
        return None

    async def _review(self, request: web.BaseRequest, token: str, reviewer: Reviewer) -> None:
        """Ask the reviewer and set the user. Raises StatusError as `enter`."""
        try:
            user = await _reviewed(reviewer, token)
            if user is None:
                protocol_token = self._protocol_token(request)
                user = self._tokens.get(protocol_token) or await _reviewed(reviewer, protocol_token)
                user = user or self._anonymous_user(request, has_token=bool(token or protocol_token))
        except errors.StatusError:
            raise
        except Exception as error:
            raise self._failed(request) from error
        request[USER] = user

    def _certificate_user(self, request: web.BaseRequest) -> UserInfo | None:
        """Return the user of front-proxy headers or of the client certificate, None without a certificate or after it expired."""
        peer: Peer | None = request.get(PEER)
        if peer is None:
            return None
        left = peer.ends - time.time()
        if peer.is_front_proxy and self._front_proxy is not None and left > 0:
            user = self._front_proxy(request.headers, request.raw_headers)
            if user is not None:
                request[PROXIED_USER] = user
                return user
        self._expirations.observe(left)
        return peer.user if left > 0 else None

    def _anonymous_user(self, request: web.BaseRequest, *, has_token: bool) -> UserInfo:
        """Return system:anonymous. Raise 401 for an invalid token or certificate, or if anonymous requests are disabled."""
        peer: Peer | None = request.get(PEER)
        if has_token or not self._anonymous or (peer is not None and (peer.is_refused or peer.ends <= time.time())):
            raise self._unauthorized(request)
        return ANONYMOUS

    def _protocol_token(self, request: web.BaseRequest) -> str:
        """Return the bearer token among the protocols of a WebSocket, empty without one. Raise 401 for an invalid one."""
        headers = request.headers.getall("Sec-WebSocket-Protocol", ())
        if not headers or not upgrades(request.headers):
            return ""
        try:
            token, rest = websocket_token(headers)
        except WebSocketTokenError as error:
            raise self._unauthorized(request) from error
        if token:
            request[PROTOCOLS] = rest
        return token

    def _failed(self, request: web.BaseRequest) -> errors.StatusError:
        _LOG.exception("authentication failed", method=request.method, uri=str(request.rel_url))
        return self._unauthorized(request)

    def _unauthorized(self, request: web.BaseRequest) -> errors.StatusError:
        error = errors.unauthorized()
        if self._refused is not None:
            self._refused(request, error)
        return error


def _header_token(request: web.BaseRequest) -> str:
    """Return the bearer token of the Authorization header, empty without one."""
    header = request.headers.get("Authorization")
    token = bearer_token(header) if header else ""
    if header and not token and header.strip().lower().startswith("bearer  "):
        request[WARNINGS].append(_EXTRA_SPACE)
    return token


async def _reviewed(reviewer: Reviewer, token: str) -> UserInfo | None:
    if not token:
        return None
    reason = "invalid bearer token"
    try:
        user = await reviewer(token)
    except TokenReviewError as error:
        user, reason = None, str(error)
    if user is None:
        _LOG.error("bearer token rejected", error=reason)
        return None
    return authenticated(user)

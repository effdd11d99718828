"""The connections to a server, with its credentials and its proxy (client-go transport, plugin/pkg/client/auth/exec)."""

from __future__ import annotations

import socket
import ssl
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import aiohttp

from apiext.base.tls_trust import trusting_context
from apiext.base.webhook.clientcmd.credentials import CredentialError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

    from apiext.base.webhook.clientcmd.credentials import Credential
    from apiext.base.webhook.clientcmd.kubeconfig import Endpoint

PROBE_AFTER: Final = 15
"""Seconds without a byte until the kernel probes a connection."""
_PROBE_INTERVAL: Final = 5
_PROBES: Final = 3
_UNANSWERED: Final = PROBE_AFTER + _PROBES * _PROBE_INTERVAL
"""Seconds after which a connection breaks whose other end answers neither probes nor data. client-go takes 45, by pings of HTTP/2."""


class Transport:
    """Sends requests to an endpoint with its current credential, and once more with a new one after a 401."""

    def __init__(self, endpoint: Endpoint, *middlewares: aiohttp.ClientMiddlewareType) -> None:
        self._endpoint = endpoint
        self._connector = _Connector(endpoint.context)
        self._certificate = b""
        """The client certificate of a plugin that the connections use."""
        self.session = aiohttp.ClientSession(
            connector=self._connector, headers={"User-Agent": "apiext"}, proxy=endpoint.proxy, middlewares=middlewares
        )
        """Sends the attempts; the owner closes it."""

    async def send(self, attempt: Callable[[Credential], Awaitable[aiohttp.ClientResponse]]) -> aiohttp.ClientResponse:
        """Return the response of an attempt. The time to get a credential is not part of the attempt.

        Raises:
            CredentialError: there is no credential.
            OSError: a file of the credential cannot be read.
            Exception: the attempt raises it.
        """
        credential = await self._credential()
        response = await attempt(credential)
        if response.status == HTTPStatus.UNAUTHORIZED and self._endpoint.reject(credential):
            response.close()
            response = await attempt(await self._credential())
        return response

    async def _credential(self) -> Credential:
        """Return the credential; a new client certificate closes the connections of the old one (client-go exec.go, onRotate)."""
        credential = await self._endpoint.credential()
        if credential.certificate != self._certificate:
            self._endpoint.use_certificate(credential)
            self._certificate = credential.certificate
            await self._connector.reset()
        return credential


def open_session(endpoint: Endpoint) -> aiohttp.ClientSession:
    """Return a session for libraries without credentials of their own; the caller closes it.

    If there is no credential, a request raises aiohttp.ClientError.
    """

    async def authenticate(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        async def attempt(credential: Credential) -> aiohttp.ClientResponse:
            if credential.authorization:
                request.headers["Authorization"] = credential.authorization
            return await handler(request)

        if endpoint.server_name:
            request.server_hostname = endpoint.server_name
        try:
            return await transport.send(attempt)
        except CredentialError as error:
            raise aiohttp.ClientError(f"getting credentials: {error}") from error

    transport = Transport(endpoint, authenticate)
    return transport.session


class _Connector(aiohttp.BaseConnector):
    """A connector that can close all its connections while its session stays open, and then opens new ones."""

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        super().__init__()
        self._tls = tls or trusting_context()
        self._pool = self._new_pool()

    def _new_pool(self) -> aiohttp.TCPConnector:
        # unlimited as in Go: with a limit, `close` would cancel the tasks of requests that wait for a connection
        return aiohttp.TCPConnector(limit=0, ssl=self._tls, socket_factory=_probed_socket)

    async def connect(self, req: aiohttp.ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout) -> Connection:  # noqa: ASYNC109 -- aiohttp's
        return await self._pool.connect(req, traces, timeout)

    async def reset(self) -> None:
        old, self._pool = self._pool, self._new_pool()
        await old.close()

    async def close(self, *, abort_ssl: bool = False) -> None:
        await super().close(abort_ssl=abort_ssl)
        await self._pool.close(abort_ssl=abort_ssl)


def _probed_socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """Return a socket whose connection breaks when the other end is gone without a word: a watch would wait for it."""
    family, kind, protocol, *_ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        (socket.TCP_KEEPIDLE, PROBE_AFTER),
        (socket.TCP_KEEPINTVL, _PROBE_INTERVAL),
        (socket.TCP_KEEPCNT, _PROBES),
        (socket.TCP_USER_TIMEOUT, _UNANSWERED * 1000),
    ):
        made.setsockopt(socket.IPPROTO_TCP, option, value)
    return made

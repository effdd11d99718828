"""Connections through a proxy: a tunnel to a server with TLS, else one to the proxy itself (Go's net/http Transport.dialConn)."""

from __future__ import annotations

import asyncio
import ssl
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, cast

from apiext.base.tls_trust import trusting_context
from apiext.base.webhook.http1.connection import KeptConnection
from apiext.base.webhook.http1.destination import Destination, connect, proxy_authorization
from apiext.base.webhook.http1.failures import DialError, ProxyError

if TYPE_CHECKING:
    from yarl import URL

_MAX_HEAD_BYTES: Final = 64 * 1024
"""Bytes of a proxy's answer to CONNECT."""
_END: Final = b"\r\n\r\n"


async def dial_through(proxy: URL, destination: Destination, limit: int) -> KeptConnection:
    """Return a new connection to a destination through a proxy.

    Raises:
        CallFailedError: there is none.
    """
    loop = asyncio.get_running_loop()
    if proxy.scheme not in {"http", "https"}:
        raise ProxyError(f"unsupported proxy scheme: {proxy.scheme}")
    # reading the system's certificates takes tens of milliseconds
    context = await asyncio.to_thread(trusting_context) if proxy.scheme == "https" else None
    own = Destination(proxy.host or "", proxy.port or 0, context)
    try:
        if destination.context is None:
            return await connect(own, lambda: KeptConnection(loop, limit))
        tunnel = await connect(own, _Tunnel)
    except DialError as error:
        error.is_proxy = True
        raise
    try:
        await tunnel.open(destination, proxy_authorization(proxy))
        return await _secured(tunnel, destination, destination.context, KeptConnection(loop, limit))
    except BaseException:
        tunnel.abort()
        raise


async def _secured(tunnel: _Tunnel, destination: Destination, context: ssl.SSLContext, connection: KeptConnection) -> KeptConnection:
    """Return a connection that uses TLS on a tunnel. Raises DialError."""
    name = destination.name or destination.host.rstrip(".")
    try:
        transport = await asyncio.get_running_loop().start_tls(tunnel.transport, connection, context, server_hostname=name)
    except OSError as error:
        raise DialError(destination.host, destination.port, error) from None
    if transport is None:
        raise DialError(destination.host, destination.port, ConnectionAbortedError())
    connection.connection_made(transport)
    return connection


class _Tunnel(asyncio.Protocol):
    """A connection to a proxy, until the proxy has connected it to a server."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._head = b""
        self._opened: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def open(self, destination: Destination, authorization: str) -> None:
        """Ask the proxy for a tunnel. Raises ProxyError."""
        host = f"[{destination.host}]" if ":" in destination.host else destination.host
        place = f"{host}:{destination.port}"
        self.transport.write(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{authorization}\r\n".encode())
        problem = await self._opened
        if problem:
            raise ProxyError(problem)

    def abort(self) -> None:
        self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._head += data
        if _END in self._head:
            self._finish(_refusal(self._head))
        elif len(self._head) > _MAX_HEAD_BYTES:
            self._finish("the answer of the proxy is too large")

    def connection_lost(self, exc: Exception | None) -> None:
        self._finish("unexpected EOF" if self._head else "EOF")

    def _finish(self, problem: str) -> None:
        if not self._opened.done():
            self._opened.set_result(problem)


def _refusal(head: bytes) -> str:
    """Return why a proxy opens no tunnel, "" if it opens one."""
    version, _, status = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
    code, _, reason = status.partition(" ")
    if not version.startswith("HTTP/1.") or not code.isdecimal():
        return "malformed HTTP response"
    return "" if int(code) == HTTPStatus.OK else reason or "unknown status code"

"""A server's address, and the connection to it: made when it is needed, made again when it was lost."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from typing import TYPE_CHECKING, Final

from apiext.meta.backoff import Backoff
from apiext.storage.etcd.http2 import headers
from apiext.storage.etcd.http2.connection import Connection
from apiext.storage.etcd.http2.grpc_status import UNAVAILABLE, RpcError

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.storage.etcd.http2.streams import Duplex

_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 2.0
_PATIENCE: Final = 5.0
"""Seconds for a connection to be made."""


class Channel:
    """Calls to one server. `context` gives what TLS needs, anew for each connection: certificates are renewed."""

    def __init__(self, host: str, port: int, context: Callable[[], ssl.SSLContext] | None) -> None:
        self._host = host
        self._port = port
        self._context = context
        self._authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._heads: dict[str, bytes] = {}
        self._connection: Connection | None = None
        self._open: set[Connection] = set()
        self._connecting: asyncio.Task[None] | None = None
        self._closed = False
        self.trouble = ""
        """Why there is no connection, or why the last one was lost."""

    def ready(self) -> bool:
        """Whether it is connected; starts to connect where it is not."""
        if self._connection is not None and self._connection.usable:
            return True
        self.connecting()
        return False

    def connecting(self) -> asyncio.Task[None]:
        """Ends when it is connected or closed."""
        if self._connecting is None or (self._connecting.done() and self._connection is None and not self._closed):
            self._connecting = asyncio.ensure_future(self._connect())
        return self._connecting

    async def unary(self, path: str, message: bytes, within: float) -> bytes:
        """Send a message and have one back, within seconds. Raises RpcError."""
        return await self._current().unary(self._head(path), message, within)

    def duplex(self, path: str, metadata: dict[str, str]) -> Duplex:
        """Begin a call with many messages both ways. Raises RpcError."""
        return self._current().duplex(self._request(path, metadata))

    def _current(self) -> Connection:
        if self._connection is None:
            raise RpcError(UNAVAILABLE, "the channel is closed" if self._closed else self.trouble or "not connected")
        return self._connection

    def _head(self, path: str) -> bytes:
        head = self._heads.get(path)
        if head is None:
            head = self._heads[path] = self._request(path, {})
        return head

    def _request(self, path: str, metadata: dict[str, str]) -> bytes:
        return headers.request(path, self._authority, secure=self._context is not None, metadata=metadata)

    async def _connect(self) -> None:
        backoff = Backoff(_PAUSE, _LONGEST_PAUSE)
        while not self._closed:
            try:
                async with asyncio.timeout(_PATIENCE):
                    await self._dial()
            except TimeoutError:
                self.trouble = "no connection in time"
            except (OSError, ssl.SSLError, ValueError) as error:
                self.trouble = _words(error)
            else:
                return
            await backoff.pause()

    async def _dial(self) -> None:
        """Make a connection that the server has answered on. Raises OSError."""
        loop = asyncio.get_running_loop()
        secure = self._context() if self._context is not None else None
        name = self._host if secure is not None else None
        connection = Connection(self._lost)
        try:
            await loop.create_connection(lambda: connection, self._host, self._port, ssl=secure, server_hostname=name)
            await connection.started
        except BaseException:
            connection.close("not connected in time")
            raise
        self._open = {other for other in self._open if not other.gone} | {connection}
        if connection.usable:
            self._connection = connection

    def _lost(self, connection: Connection, reason: str) -> None:
        self.trouble = reason
        if self._connection is connection:
            self._connection = None

    async def close(self) -> None:
        """End all calls and the connection."""
        self._closed = True
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.wait([self._connecting])
        for connection in self._open:
            connection.close("the channel is closed")
        self._connection = None


def _words(error: Exception) -> str:
    """A reason in one line."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the server's certificate cannot be trusted: {error.verify_message}"
    if isinstance(error, OSError) and error.errno and not isinstance(error, ssl.SSLError | socket.gaierror):
        return os.strerror(error.errno)
    return " ".join(str(error).split()) or type(error).__name__

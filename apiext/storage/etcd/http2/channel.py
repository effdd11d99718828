"""A server's address and the connection to it, made on demand and after a loss."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Coroutine
from typing import Any, Final

from apiext.base.scheduling.backoff import Backoff
from apiext.storage.etcd.http2 import headers
from apiext.storage.etcd.http2.connection import Connection
from apiext.storage.etcd.http2.grpc_status import UNAVAILABLE, RpcError, error_text
from apiext.storage.etcd.http2.streams import DuplexStream, download, duplex, unary

_MIN_PAUSE_SECONDS: Final = 0.1
_MAX_PAUSE_SECONDS: Final = 2.0
CONNECT_SECONDS: Final = 5.0
"""Seconds for all addresses of a server to accept a connection and send SETTINGS, in equal parts."""
MIN_ADDRESS_SECONDS: Final = 1.0
"""The least part of it for one address."""
_Address = tuple[int, int, int, Any]
"""Family, type, protocol and socket address."""


class Channel:
    """Calls to one server. `tls_context` returns the context for each new connection; None means plain TCP."""

    def __init__(self, host: str, port: int, tls_context: Callable[[], ssl.SSLContext] | None) -> None:
        self._host = host
        self._port = port
        self._tls_context = tls_context
        self.authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        """Host and port."""
        self._headers: dict[str, bytes] = {}
        self._connection: Connection | None = None
        self._open: set[Connection] = set()
        """Connections with open calls, including those that accept no more calls."""
        self._connect_task: asyncio.Task[None] | None = None
        self._last_address: _Address | None = None
        self._closed = False
        self.last_error = ""
        """Why there is no connection, or why the last one ended."""

    def check_connected(self) -> bool:
        """Return whether the channel is connected. Start to connect if it is not."""
        if self._connection is not None and self._connection.accepts_calls:
            return True
        self.connect()
        return False

    def connect(self) -> asyncio.Task[None]:
        """Start to connect if needed. Return the task, which ends with a connection or with `close`."""
        if self._connect_task is None or (self._connect_task.done() and self._connection is None and not self._closed):
            self._connect_task = asyncio.ensure_future(self._connect())
        return self._connect_task

    def unary(
        self, path: str, message: bytes, seconds: float, connection: Connection | None = None, *, gather: bool = False
    ) -> Coroutine[Any, Any, bytes]:
        """Send a message and return the response within `seconds`. The default `connection` is the newest.

        `gather` sends it together with other such calls, after two turns of the event loop.

        Raises:
            RpcError: the channel is not connected, the call failed, or there was no response in time.
        """
        return unary(connection or self._current(), self._header(path), message, seconds, gather=gather)

    async def duplex(self, path: str, metadata: dict[str, str], seconds: float) -> DuplexStream:
        """Open a call with any number of messages both ways. `seconds` only limits the wait for a free stream.

        Raises:
            RpcError: the channel is not connected, or no stream became free in time.
        """
        return await duplex(self._current(), self._request(path, metadata), seconds)

    async def download(self, path: str, message: bytes, seconds: float) -> DuplexStream:
        """Send one message, and open a call that receives any number. `seconds` only limits the wait for a free stream.

        Raises:
            RpcError: the channel is not connected, or no stream became free in time.
        """
        return await download(self._current(), self._header(path), message, seconds)

    def connections(self) -> list[Connection]:
        """Return all connections that have not ended."""
        return [connection for connection in self._open if not connection.closed]

    def _current(self) -> Connection:
        if self._connection is None:
            reason = "the channel is closed" if self._closed else self.last_error or "not connected"
            raise RpcError(UNAVAILABLE, reason, unprocessed=True)
        return self._connection

    def _header(self, path: str) -> bytes:
        header = self._headers.get(path)
        if header is None:
            header = self._headers[path] = self._request(path, {})
        return header

    def _request(self, path: str, metadata: dict[str, str]) -> bytes:
        return headers.request(path, self.authority, secure=self._tls_context is not None, metadata=metadata)

    async def _connect(self) -> None:
        backoff = Backoff(_MIN_PAUSE_SECONDS, _MAX_PAUSE_SECONDS)
        while not self._closed:
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    addresses = await self._resolve()
            except TimeoutError:
                self.last_error, addresses = f"no address of {self._host} in time", []
            except (OSError, UnicodeError) as error:
                self.last_error, addresses = error_text(error), []
            for address in addresses:
                if await self._try(address, max(CONNECT_SECONDS / len(addresses), MIN_ADDRESS_SECONDS)):
                    return
            await backoff.pause()

    async def _resolve(self) -> list[_Address]:
        """Return all addresses of the server, first the one of the last connection."""
        found = await asyncio.get_running_loop().getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        addresses: list[_Address] = [(family, kind, protocol, address) for family, kind, protocol, _, address in found]
        return sorted(addresses, key=lambda address: address != self._last_address)

    async def _try(self, address: _Address, seconds: float) -> bool:
        """Return whether an address accepted a connection and sent SETTINGS in time; else set `last_error`."""
        try:
            async with asyncio.timeout(seconds):
                await self._dial(address)
        except TimeoutError:
            self.last_error = "no connection in time"
        except (OSError, ssl.SSLError, ValueError) as error:
            self.last_error = error_text(error)
        else:
            self._last_address = address
            return True
        return False

    async def _dial(self, address: _Address) -> None:
        loop = asyncio.get_running_loop()
        tls = self._tls_context() if self._tls_context is not None else None
        connection = Connection(self._retired)
        family, kind, protocol, target = address
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setblocking(False)  # noqa: FBT003 -- the signature of the standard library
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.sock_connect(sock, target)
        except BaseException:
            sock.close()
            raise
        try:
            await loop.create_connection(lambda: connection, sock=sock, ssl=tls, server_hostname=self._host if tls else None)
            await connection.ready
        except BaseException:
            connection.close("no connection in time")
            raise
        self._open = {*self.connections(), connection}
        if connection.accepts_calls:
            self._connection = connection

    def _retired(self, connection: Connection, reason: str) -> None:
        self.last_error = reason
        if self._connection is connection:
            self._connection = None

    async def close(self) -> None:
        """End all calls and connections."""
        self._closed = True
        if self._connect_task is not None:
            self._connect_task.cancel()
            await asyncio.wait([self._connect_task])
        for connection in self._open:
            connection.close("the channel is closed")
        self._connection = None

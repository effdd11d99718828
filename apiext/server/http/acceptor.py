"""Accepts a few connections, and begins one TLS handshake, in each turn of the event loop, more after a turn that took long.

A handshake takes about a millisecond. A turn is long while many lists are sent: with one handshake in each, clients would wait for seconds.
It begins when the client's first message is there as a whole, so that many clients cannot hold back
their last bytes to have all their handshakes computed at once. Of the clients that wait, the last and the first that came are served in
turn: a client that comes after many others, such as a front proxy's request beside hundreds of new watches, is not delayed by all of them.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from apiext.base.meta.log import get_logger

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from apiext.server.http.server import HTTPServer
    from apiext.server.http.unauthenticated import UnauthenticatedConnection

_LOG: Final = get_logger(__name__)
_HANDSHAKE_TIMEOUT: Final = 10.0
"""Seconds for the client's first message, and for the rest of the handshake."""
_ACCEPTED_AT_ONCE: Final = 16
"""Connections accepted in a turn of the event loop: as many as take the time of a handshake."""
HANDSHAKE_INTERVAL: Final = 0.005
"""Seconds of a turn of the event loop for which another handshake begins in the next one."""
_FULL_INTERVAL: Final = 0.01
"""Seconds between looks for room for a new connection."""
_FAILURE_INTERVAL: Final = 1.0
"""Seconds until the next attempt after the system refused a connection, for example for lack of file descriptors."""

_HEADER: Final = 5
"""Bytes of the header of a TLS record: its type, its version, and two bytes for its length."""
_MAX_RECORD: Final = _HEADER + 2**14
"""Bytes of a TLS record that is not encrypted."""
_HANDSHAKE: Final = 0x16
"""The type of the record."""


class ClientHello:
    """Waits until a socket holds the whole record, or data that is none: the handshake refuses that immediately.

    Calls `on_received` then, or `on_missing` if the client disconnects or exceeds the timeout in seconds, with itself.
    """

    def __init__(
        self,
        connection: socket.socket,
        *,
        on_received: Callable[[ClientHello], None],
        on_missing: Callable[[ClientHello], None],
        timeout: float,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._connection = connection
        self._on_received = on_received
        self._on_missing = on_missing
        self._awaited = 1
        """Bytes until which the kernel reports nothing."""
        self._timer = self._loop.call_later(timeout, self.close)
        self._loop.add_reader(connection, self._look)

    def close(self) -> None:
        """End the wait as if the client had disconnected."""
        self._stop()
        self._on_missing(self)

    def _look(self) -> None:
        try:
            received = self._connection.recv(_MAX_RECORD, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            received = b""
        if not received:
            self.close()
            return
        size = _size(received)
        # the kernel reports a client that disconnects earlier
        if len(received) >= size or size == self._awaited:
            self._stop()
            self._on_received(self)
        else:
            self._await(size)

    def _await(self, size: int) -> None:
        self._awaited = size
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)

    def _stop(self) -> None:
        self._timer.cancel()
        self._loop.remove_reader(self._connection)
        if self._awaited > 1:
            self._await(1)


def _size(received: bytes) -> int:
    """Return the number of bytes to wait for."""
    if received[0] != _HANDSHAKE:
        return 1
    if len(received) < _HEADER:
        return _HEADER
    return min(_HEADER + int.from_bytes(received[3:_HEADER]), _MAX_RECORD)


class ConnectionSource(Protocol):
    """Where new connections come from: a listening socket that does not block, or what stands in for one."""

    def fileno(self) -> int:
        """Return the descriptor that is readable when a connection is there."""
        ...

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection and its address. Raises OSError, BlockingIOError if there is none."""
        ...

    def close(self) -> None:
        """Take no more connections."""
        ...


class Acceptor:
    """Accepts the connections of a source for an HTTP server, over TLS if there is a context."""

    def __init__(self, listener: ConnectionSource, http: HTTPServer, context: ssl.SSLContext | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._listener = listener
        self._http = http
        self._context = context
        self._timer: asyncio.TimerHandle | None = None
        self._silent: set[ClientHello] = set()
        self._ready: deque[tuple[socket.socket, UnauthenticatedConnection]] = deque()
        self._last_first = False
        """Whether the last client that came is the next to be served."""
        self._began = 0.0
        """When the last handshakes began, while clients wait for theirs."""
        self._handshakes: set[asyncio.Task[None]] = set()
        self._open()

    def close(self) -> None:
        """Close the listening socket, and the connections whose clients have sent nothing."""
        self._pause()
        self._listener.close()
        for hello in list(self._silent):
            hello.close()

    def _open(self) -> None:
        self._timer = None
        self._loop.add_reader(self._listener, self._accept)

    def _pause(self) -> None:
        """Leave further connections to the kernel."""
        if self._timer is None:
            self._loop.remove_reader(self._listener)
        else:
            self._timer.cancel()

    def _retry_in(self, seconds: float) -> None:
        self._pause()
        self._timer = self._loop.call_later(seconds, self._open)

    def _accept(self) -> None:
        """Accept a connection, for which another one may have to go, and the next ones if there is room."""
        if not self._http.unauthenticated.make_room():
            self._retry_in(_FULL_INTERVAL)
            return
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                accepted, _address = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                _LOG.error("connection not accepted, retrying", error=str(error))
                self._retry_in(_FAILURE_INTERVAL)
                return
            accepted.setblocking(False)  # noqa: FBT003 -- the standard library's signature
            self._await_hello(accepted)
            if not self._http.unauthenticated.has_room:
                return

    def _await_hello(self, accepted: socket.socket) -> None:
        place = self._http.unauthenticated.add(accepted.close)
        if self._context is None:
            self._begin_in_turn(accepted, place)
            return

        def on_received(hello: ClientHello) -> None:
            self._silent.discard(hello)
            self._begin_in_turn(accepted, place)

        def on_missing(hello: ClientHello) -> None:
            self._silent.discard(hello)
            place.leave()
            accepted.close()

        hello = ClientHello(accepted, on_received=on_received, on_missing=on_missing, timeout=_HANDSHAKE_TIMEOUT)
        self._silent.add(hello)
        place.await_client(hello.close)

    def _begin_in_turn(self, accepted: socket.socket, place: UnauthenticatedConnection) -> None:
        place.await_server()
        self._ready.append((accepted, place))
        if len(self._ready) == 1:
            self._began = self._loop.time()
            self._loop.call_soon(self._begin_handshakes)

    def _begin_handshakes(self) -> None:
        now = self._loop.time()
        due, self._began = 1 + int((now - self._began) / HANDSHAKE_INTERVAL), now
        for _ in range(min(due, len(self._ready))):
            self._begin_handshake()
        if self._ready:
            self._loop.call_soon(self._begin_handshakes)

    def _begin_handshake(self) -> None:
        accepted, place = self._ready.pop() if self._last_first else self._ready.popleft()
        self._last_first = not self._last_first
        task = self._loop.create_task(self._shake_hands(accepted, place))
        place.await_client(partial(_cancel, task))
        self._handshakes.add(task)
        task.add_done_callback(self._handshakes.discard)

    async def _shake_hands(self, accepted: socket.socket, place: UnauthenticatedConnection) -> None:
        """Give a connection to the HTTP server after its handshake."""
        timeout = None if self._context is None else _HANDSHAKE_TIMEOUT
        with suppress(OSError):
            await self._loop.connect_accepted_socket(
                partial(self._http.connection, place), accepted, ssl=self._context, ssl_handshake_timeout=timeout
            )
            return
        place.leave()


def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()

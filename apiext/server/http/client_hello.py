"""Waits for the first TLS record of a client, which is its ClientHello, without reading it from the socket."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

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

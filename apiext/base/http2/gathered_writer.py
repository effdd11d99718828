"""Sends the frames of a connection together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio

_WRITE_BYTES: Final = 48 * 1024
"""Bytes of data frames that are written without waiting for more. What TLS makes of them still fits into a core's cache."""


class GatheredWriter:
    """Writes frames to a transport in order, those of two turns of the event loop together.

    Each write is a system call that wakes the server. Calls that arrive together are also cheaper for etcd: it syncs its log once for
    all waiting transactions. An idle event loop takes the two turns at once.
    """

    __slots__ = ("_bytes", "_loop", "_parts", "_transport")

    def __init__(self, loop: asyncio.AbstractEventLoop, transport: asyncio.Transport) -> None:
        self._loop = loop
        self._transport = transport
        self._parts: list[bytes | memoryview] = []
        self._bytes = 0
        """Those of `write_data` among the parts."""

    def write(self, *parts: bytes | memoryview) -> None:
        """Send the parts after the next turn of the event loop."""
        if not self._parts:
            self._loop.call_soon(self._loop.call_soon, self.flush)
        self._parts += parts

    def write_data(self, header: bytes, data: bytes | memoryview) -> None:
        """Send a frame of much data: with others of this turn, as soon as they are many."""
        self.write(header, data)
        self._bytes += len(data)
        if self._bytes >= _WRITE_BYTES:
            self.flush()

    def write_now(self, *parts: bytes | memoryview) -> None:
        """Send the parts at once, after the gathered ones."""
        self._parts += parts
        self.flush()

    def flush(self) -> None:
        """Send the gathered parts at once."""
        if self._parts and not self._transport.is_closing():
            parts, self._parts, self._bytes = self._parts, [], 0
            self._transport.write(b"".join(parts))

    def close(self) -> None:
        """Send the gathered parts, then close the transport."""
        self.flush()
        self._transport.close()

    def drop(self) -> None:
        """Drop the gathered parts: the transport has ended."""
        self._parts, self._bytes = [], 0

    def abort(self) -> None:
        """Close the transport at once."""
        self.drop()
        self._transport.abort()

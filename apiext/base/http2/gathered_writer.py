"""Sends the frames of a connection together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio


class GatheredWriter:
    """Writes frames to a transport in order, those of two turns of the event loop together.

    Each write is a system call that wakes the server. Calls that arrive together are also cheaper for etcd: it syncs its log once for
    all waiting transactions. An idle event loop takes the two turns at once.
    """

    __slots__ = ("_loop", "_parts", "_transport")

    def __init__(self, loop: asyncio.AbstractEventLoop, transport: asyncio.Transport) -> None:
        self._loop = loop
        self._transport = transport
        self._parts: list[bytes | memoryview] = []

    def write(self, *parts: bytes | memoryview) -> None:
        """Send the parts after the next turn of the event loop."""
        if not self._parts:
            self._loop.call_soon(self._loop.call_soon, self.flush)
        self._parts += parts

    def write_now(self, *parts: bytes | memoryview) -> None:
        """Send the parts at once, after the gathered ones."""
        self._parts += parts
        self.flush()

    def flush(self) -> None:
        """Send the gathered parts at once."""
        if self._parts and not self._transport.is_closing():
            parts, self._parts = self._parts, []
            self._transport.write(b"".join(parts))

    def close(self) -> None:
        """Send the gathered parts, then close the transport."""
        self.flush()
        self._transport.close()

    def drop(self) -> None:
        """Drop the gathered parts: the transport has ended."""
        self._parts = []

    def abort(self) -> None:
        """Close the transport at once."""
        self.drop()
        self._transport.abort()

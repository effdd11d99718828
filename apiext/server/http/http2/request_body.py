"""The body of a request as it arrives. It has what aiohttp's requests, and handlers, use of aiohttp's StreamReader."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class RequestBody:
    """Received bytes that wait for their reader. The windows of the connection limit them."""

    __slots__ = ("_error", "_is_complete", "_on_read", "_parts", "_waiter", "received", "unread")

    def __init__(self, on_read: Callable[[int], None]) -> None:
        self._on_read = on_read
        """Called with the number of bytes that were read: the client may send as many again."""
        self._parts: deque[bytes] = deque()
        self._is_complete = False
        self._error: BaseException | None = None
        self._waiter: asyncio.Future[None] | None = None
        self.received = 0
        """All bytes so far."""
        self.unread = 0
        """Bytes that wait."""

    def feed_data(self, data: bytes) -> None:
        """Append received bytes."""
        self._parts.append(data)
        self.received += len(data)
        self.unread += len(data)
        self._wake()

    def feed_eof(self) -> None:
        """End the body."""
        self._is_complete = True
        self._wake()

    def set_exception(self, error: BaseException) -> None:
        """Let reads raise an error from now on."""
        self._error = error
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def set_read_chunk_size(self, size: int) -> None:
        """Do nothing: the windows decide what is received ahead."""

    def is_eof(self) -> bool:
        """Return whether all has been received."""
        return self._is_complete

    def at_eof(self) -> bool:
        """Return whether all has been read."""
        return self._is_complete and not self._parts

    def read_nowait(self) -> bytes:
        """Return what has been received and not read.

        Raises:
            RequestPayloadError: the rest of the body is lost, or another error of `set_exception`.
        """
        if self._error is not None:
            raise self._error
        if not self._parts:
            return b""
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self.unread = 0
        self._on_read(len(data))
        return data

    async def readany(self) -> bytes:
        """Return what has been received, once there is something; b"" at the end."""
        while not (self._parts or self._is_complete or self._error is not None):
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self.read_nowait()

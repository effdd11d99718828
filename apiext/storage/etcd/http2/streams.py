"""The two kinds of call: one message there and one back, and many both ways."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final

from apiext.storage.etcd.http2.frames import NUMBER, ProtocolError
from apiext.storage.etcd.http2.grpc_status import INTERNAL, RpcError

if TYPE_CHECKING:
    from apiext.storage.etcd.http2.connection import Connection

WINDOW: Final = 4 << 20
"""Bytes that a server may send in a stream before they are taken."""
_MANY: Final = 128
"""Messages taken at once: about a millisecond's work."""
_PREFIX: Final = 5
"""A message begins with a flag (compressed) and its length."""


def pack(message: bytes) -> bytes:
    """A message as it is sent."""
    return b"\0" + NUMBER.pack(len(message)) + message


class Stream:
    """What a connection knows of a call under way."""

    __slots__ = ("closing", "id", "unsent", "window")

    def __init__(self, window: int) -> None:
        self.id = 0
        self.window = window
        """Bytes that may be sent now."""
        self.unsent = memoryview(b"")
        self.closing = False
        """Nothing is sent after `unsent`."""

    def receive(self, data: bytes, connection: Connection) -> None:
        """Take a part of the answer. Raises ProtocolError."""
        raise NotImplementedError

    def end(self, error: RpcError | None) -> None:
        """Take the outcome."""
        raise NotImplementedError


class Unary(Stream):
    """One message there, one back."""

    __slots__ = ("_owed", "_parts", "answer")

    def __init__(self, window: int, answer: asyncio.Future[bytes]) -> None:
        super().__init__(window)
        self.answer = answer
        self._parts: list[bytes] = []
        self._owed = 0

    def receive(self, data: bytes, connection: Connection) -> None:
        """See Stream."""
        self._parts.append(data)
        self._owed += len(data)
        if self._owed > WINDOW // 2:
            connection.grant(self, self._owed)
            self._owed = 0

    def end(self, error: RpcError | None) -> None:
        """See Stream."""
        if self.answer.done():
            return
        if error is None:
            parts = self._parts
            data = parts[0] if len(parts) == 1 else b"".join(parts)
            if len(data) >= _PREFIX and data[0] == 0 and NUMBER.unpack_from(data, 1)[0] == len(data) - _PREFIX:
                self.answer.set_result(data[_PREFIX:])
                return
            error = RpcError(INTERNAL, "the answer is not one message")
        self.answer.set_exception(error.again())


class Duplex(Stream):
    """Many messages both ways. What the reader has not taken counts against the window: a slow one holds the server back."""

    __slots__ = ("_ahead", "_buffer", "_connection", "_error", "_messages", "_owed", "_waiter")

    def __init__(self, window: int, connection: Connection) -> None:
        super().__init__(window)
        self._connection = connection
        self._messages: deque[tuple[bytes, int]] = deque()
        self._buffer = bytearray()
        self._ahead = 0
        """Bytes at the beginning of the buffer that have been granted again already: a message may be larger than the window."""
        self._owed = 0
        self._error: RpcError | None = None
        self._waiter: asyncio.Future[None] | None = None

    def send(self, message: bytes) -> None:
        """Send a message; what the other side has no room for waits. Nothing happens once the stream has ended."""
        if self._error is None:
            self._connection.send(self, pack(message), last=False)

    async def take(self) -> list[bytes]:
        """What has arrived: at least one message.

        Raises:
            RpcError: the stream has ended, and all messages have been taken.
        """
        while not self._messages:
            if self._error is not None:
                raise self._error.again()
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        taken: list[bytes] = []
        while self._messages and len(taken) < _MANY:
            message, cost = self._messages.popleft()
            taken.append(message)
            self._owed += cost
        if self._owed > WINDOW // 4:
            self._connection.grant(self, self._owed)
            self._owed = 0
        return taken

    def cancel(self) -> None:
        """End it, if it has not ended."""
        self._connection.abandon(self)
        if self._error is None:
            self.end(RpcError(INTERNAL, "the stream was cancelled"))

    def receive(self, data: bytes, connection: Connection) -> None:
        """See Stream."""
        buffer = self._buffer
        buffer += data
        at, end = 0, len(buffer)
        while end - at >= _PREFIX:
            if buffer[at]:
                raise ProtocolError("a message is compressed")
            stop = at + _PREFIX + NUMBER.unpack_from(buffer, at + 1)[0]
            if stop > end:
                break
            self._messages.append((bytes(buffer[at + _PREFIX : stop]), stop - at - self._ahead))
            self._ahead = 0
            at = stop
        if at:
            del buffer[:at]
            self._wake()
        if len(buffer) - self._ahead > WINDOW // 2:
            connection.grant(self, len(buffer) - self._ahead)
            self._ahead = len(buffer)

    def end(self, error: RpcError | None) -> None:
        """See Stream."""
        if self._error is None:
            self._error = error or RpcError(INTERNAL, "the stream was ended")
            self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

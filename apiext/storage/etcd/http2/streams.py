"""The two kinds of call: unary (one message each way) and duplex (any number of messages both ways)."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final

from apiext.storage.etcd.http2.frames import UINT32, Http2ProtocolError
from apiext.storage.etcd.http2.grpc_status import INTERNAL, RpcError

if TYPE_CHECKING:
    from apiext.storage.etcd.http2.connection import Connection

WINDOW_BYTES: Final = 4 << 20
"""Bytes that the server may send on a stream before the client grants more."""
_MAX_MESSAGES: Final = 128
"""Messages returned by one `take`: about a millisecond's work."""
_PREFIX_BYTES: Final = 5
"""gRPC's message prefix: the flag for compression and the length."""


def pack(message: bytes) -> bytes:
    """Add gRPC's prefix to a message."""
    return b"\0" + UINT32.pack(len(message)) + message


class Http2Stream:
    """The state of one open call in its connection."""

    __slots__ = ("closing", "id", "unsent", "window")

    def __init__(self, window: int) -> None:
        self.id = 0
        self.window = window
        """Bytes that the server allows to send on this stream now; negative after it reduced its initial window."""
        self.unsent = memoryview(b"")
        self.closing = False
        """Whether END_STREAM follows `unsent`."""

    def receive(self, data: bytes, connection: Connection) -> None:
        """Take the content of a DATA frame.

        Raises:
            Http2ProtocolError: a message is compressed.
        """
        raise NotImplementedError

    def end(self, error: RpcError | None) -> None:
        """Take the outcome, None for success. Later outcomes are ignored."""
        raise NotImplementedError


class UnaryStream(Http2Stream):
    """A call with one message each way."""

    __slots__ = ("_received", "_ungranted", "response")

    def __init__(self, window: int, response: asyncio.Future[bytes]) -> None:
        super().__init__(window)
        self.response = response
        self._received: list[bytes] = []
        self._ungranted = 0

    def receive(self, data: bytes, connection: Connection) -> None:
        """See Http2Stream."""
        self._received.append(data)
        self._ungranted += len(data)
        if self._ungranted > WINDOW_BYTES // 2:
            connection.grant(self, self._ungranted)
            self._ungranted = 0

    def end(self, error: RpcError | None) -> None:
        """See Http2Stream."""
        if self.response.done():
            return
        if error is None:
            received = self._received
            data = received[0] if len(received) == 1 else b"".join(received)
            if len(data) >= _PREFIX_BYTES and data[0] == 0 and UINT32.unpack_from(data, 1)[0] == len(data) - _PREFIX_BYTES:
                self.response.set_result(data[_PREFIX_BYTES:])
                return
            error = RpcError(INTERNAL, "the response is not one uncompressed message")
        self.response.set_exception(error.copy())


class DuplexStream(Http2Stream):
    """A call with any number of messages both ways.

    Messages count against the window until `take` returns them: a slow reader blocks the server.
    """

    __slots__ = ("_buffer", "_connection", "_error", "_granted_ahead", "_messages", "_ungranted", "_waiter")

    def __init__(self, window: int, connection: Connection) -> None:
        super().__init__(window)
        self._connection = connection
        self._messages: deque[tuple[bytes, int]] = deque()
        """Complete messages, each with the bytes to grant when it is taken."""
        self._buffer = bytearray()
        self._granted_ahead = 0
        """Leading bytes of the buffer that are granted already, since a message may be larger than the window."""
        self._ungranted = 0
        self._error: RpcError | None = None
        self._waiter: asyncio.Future[None] | None = None

    def send(self, message: bytes) -> None:
        """Send a message as soon as the server's windows allow it. Do nothing once the stream has ended."""
        if self._error is None:
            self._connection.send(self, pack(message), last=False)

    async def take(self) -> list[bytes]:
        """Wait for at least one message. Return all that have arrived, up to a limit.

        Raises:
            RpcError: the stream has ended, and all messages have been returned.
        """
        while not self._messages:
            if self._error is not None:
                raise self._error.copy()
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        taken: list[bytes] = []
        while self._messages and len(taken) < _MAX_MESSAGES:
            message, cost = self._messages.popleft()
            taken.append(message)
            self._ungranted += cost
        if self._ungranted > WINDOW_BYTES // 4:
            self._connection.grant(self, self._ungranted)
            self._ungranted = 0
        return taken

    def cancel(self) -> None:
        """Reset the stream unless it has ended."""
        self._connection.cancel(self)
        if self._error is None:
            self.end(RpcError(INTERNAL, "the stream was cancelled"))

    def receive(self, data: bytes, connection: Connection) -> None:
        """See Http2Stream."""
        buffer = self._buffer
        buffer += data
        at, end = 0, len(buffer)
        while end - at >= _PREFIX_BYTES:
            if buffer[at]:
                raise Http2ProtocolError("a message is compressed")
            stop = at + _PREFIX_BYTES + UINT32.unpack_from(buffer, at + 1)[0]
            if stop > end:
                break
            self._messages.append((bytes(buffer[at + _PREFIX_BYTES : stop]), stop - at - self._granted_ahead))
            self._granted_ahead = 0
            at = stop
        if at:
            del buffer[:at]
            self._wake()
        if len(buffer) - self._granted_ahead > WINDOW_BYTES // 2:
            connection.grant(self, len(buffer) - self._granted_ahead)
            self._granted_ahead = len(buffer)

    def end(self, error: RpcError | None) -> None:
        """See Http2Stream."""
        if self._error is None:
            self._error = error or RpcError(INTERNAL, "the server ended the stream")
            self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

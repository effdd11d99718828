"""The kinds of call: unary (one message each way), duplex (any number both ways) and download (any number from the server)."""

from __future__ import annotations

import asyncio
from collections import deque
from struct import Struct
from typing import Final

from apiext.base.http2.frames import UINT32, Http2ProtocolError
from apiext.storage.etcd.http2 import headers
from apiext.storage.etcd.http2.connection import WINDOW_BYTES, Connection
from apiext.storage.etcd.http2.grpc_status import INTERNAL, RpcError
from apiext.storage.etcd.http2.stream import Http2Stream

_MAX_MESSAGES: Final = 128
"""Messages in one result of `take`: about a millisecond's work."""
_MAX_UNGRANTED_BYTES: Final = WINDOW_BYTES // 2
_PREFIX: Final = Struct(">BI")
"""gRPC's message prefix: the flag for compression and the length."""
_PREFIX_BYTES: Final = _PREFIX.size


async def unary(connection: Connection, header: bytes, message: bytes, seconds: float, *, gather: bool) -> bytes:
    """See `Channel.unary`. `seconds` includes the wait for a free stream."""
    if connection.is_full():
        seconds = await connection.wait_for_slot(seconds)
    loop = connection.loop
    stream = UnaryStream(loop, loop.time() + seconds)
    connection.open(stream, header + headers.timeout(seconds), pack(message), last=True, gather=gather)
    try:
        return await stream.response
    except BaseException:
        connection.cancel(stream)
        raise


async def duplex(connection: Connection, header: bytes, seconds: float) -> DuplexStream:
    """See `Channel.duplex`."""
    await connection.wait_for_slot(seconds)
    stream = DuplexStream(connection)
    connection.open(stream, header, b"", last=False)
    return stream


async def download(connection: Connection, header: bytes, message: bytes, seconds: float) -> DuplexStream:
    """See `Channel.download`."""
    await connection.wait_for_slot(seconds)
    stream = DuplexStream(connection)
    connection.open(stream, header, pack(message), last=True)
    return stream


def pack(message: bytes) -> bytes:
    """Add gRPC's prefix to a message."""
    return _PREFIX.pack(0, len(message)) + message


class UnaryStream(Http2Stream):
    """A call with one message each way."""

    __slots__ = ("_received", "_ungranted", "response")

    def __init__(self, loop: asyncio.AbstractEventLoop, deadline: float) -> None:
        super().__init__(deadline)
        self.response: asyncio.Future[bytes] = loop.create_future()
        self._received: list[bytes] = []
        self._ungranted = 0

    def receive(self, data: bytes) -> int:
        """See Http2Stream."""
        self._received.append(data)
        self._ungranted += len(data)
        if self._ungranted <= _MAX_UNGRANTED_BYTES:
            return 0
        granted, self._ungranted = self._ungranted, 0
        return granted

    def end(self, error: RpcError | None) -> None:
        """See Http2Stream."""
        if self.response.done():
            return
        if error is None:
            data = b"".join(self._received)
            size = len(data) - _PREFIX_BYTES
            if size >= 0 and _PREFIX.unpack_from(data) == (0, size):
                self.response.set_result(data[_PREFIX_BYTES:])
                return
            error = RpcError(INTERNAL, "the response is not one uncompressed message")
        self.response.set_exception(error.copy())


class DuplexStream(Http2Stream):
    """A call with any number of messages both ways.

    Messages count against the window until `take` returns them: a slow reader blocks the server.
    """

    __slots__ = ("_buffer", "_connection", "_error", "_granted_ahead", "_messages", "_succeeded", "_ungranted", "_waiter")

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection
        self._messages: deque[tuple[bytes, int]] = deque()
        """Complete messages, each with the bytes to grant when it is taken."""
        self._buffer = bytearray()
        self._granted_ahead = 0
        """Bytes at the start of the buffer that are granted already: a message may be larger than the window."""
        self._ungranted = 0
        self._error: RpcError | None = None
        self._succeeded = False
        self._waiter: asyncio.Future[None] | None = None

    def send(self, message: bytes) -> None:
        """Send a message as soon as the server's windows allow. Do nothing after the end of the stream."""
        if self._error is None:
            self._connection.send(self, pack(message), last=False)

    async def take(self) -> list[bytes]:
        """Wait for at least one message. Return all arrived ones, up to a limit.

        Raises:
            RpcError: the stream has ended, and no message is left.
        """
        while not self._messages:
            if self._error is not None:
                raise self._error.copy()
            self._waiter = self._connection.loop.create_future()
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

    def receive(self, data: bytes) -> int:
        """See `Http2Stream.receive`."""
        if not self._buffer and len(data) >= _PREFIX_BYTES and _PREFIX.unpack_from(data) == (0, len(data) - _PREFIX_BYTES):
            self._messages.append((data[_PREFIX_BYTES:], len(data)))
            self._wake()
            return 0
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
        ahead = len(buffer) - self._granted_ahead
        if ahead <= _MAX_UNGRANTED_BYTES:
            return 0
        self._granted_ahead = len(buffer)
        return ahead

    @property
    def succeeded(self) -> bool:
        """Return whether the server has ended the stream without an error. Untaken messages may be left."""
        return self._succeeded

    def end(self, error: RpcError | None) -> None:
        """See Http2Stream."""
        if self._error is None:
            self._succeeded = error is None
            self._error = error or RpcError(INTERNAL, "the server ended the stream")
            self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

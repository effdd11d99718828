"""Streams, and the queue of their DATA frames within the server's windows (RFC 9113, section 5.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from apiext.storage.etcd.http2 import frames
from apiext.storage.etcd.http2.deadlines import NO_DEADLINE
from apiext.storage.etcd.http2.frames import FLOW_CONTROL_ERROR, MAX_WINDOW_BYTES, Http2ProtocolError
from apiext.storage.etcd.http2.grpc_status import RpcError

_NOTHING: Final = memoryview(b"")


class Http2Stream:
    """State of one open call in its connection."""

    __slots__ = ("closing", "deadline", "id", "unsent", "window")

    id: int
    """The identifier, set when the stream opens."""
    window: int
    """Bytes that the server currently allows on this stream; negative after it reduced its initial window."""

    def __init__(self, deadline: float = NO_DEADLINE) -> None:
        self.deadline = deadline
        """The time of the event loop at which the call fails."""
        self.unsent = _NOTHING
        self.closing = False
        """Whether END_STREAM follows `unsent`."""

    def receive(self, data: bytes) -> int:
        """Process the content of a DATA frame. Return the bytes that the server may now send in addition.

        Raises:
            Http2ProtocolError: a message is compressed.
        """
        raise NotImplementedError

    def end(self, error: RpcError | None) -> None:
        """Set the outcome, None for success. Ignore later outcomes."""
        raise NotImplementedError


class SendQueue:
    """A connection's windows, and the streams with data that must wait for them. All sizes are in bytes."""

    __slots__ = ("_blocked", "initial_window", "max_frame", "window")

    def __init__(self) -> None:
        self.window = frames.DEFAULT_WINDOW_BYTES
        """Bytes that the server allows to send on the connection now."""
        self.initial_window = frames.DEFAULT_WINDOW_BYTES
        """The window of a new stream."""
        self.max_frame = frames.DEFAULT_FRAME_BYTES
        self._blocked: dict[int, Http2Stream] = {}

    def spend_if_free(self, stream: Http2Stream, size: int) -> bool:
        """Take bytes off both windows if one frame can carry them now, ahead of no other stream. Return whether it can."""
        if size > self.max_frame or size > self.window or size > stream.window or self._blocked:
            return False
        self.window -= size
        stream.window -= size
        return True

    def _spend(self, stream: Http2Stream, size: int) -> None:
        """Take sent bytes off both windows."""
        self.window -= size
        stream.window -= size

    def add(self, stream: Http2Stream, data: bytes, *, last: bool) -> None:
        """Append data to a stream's queue. `last` ends the stream after it."""
        stream.unsent = memoryview(bytes(stream.unsent) + data) if stream.unsent else memoryview(data)
        stream.closing = last
        self._blocked[stream.id] = stream

    def discard(self, stream_id: int) -> None:
        """Drop a stream that has ended."""
        self._blocked.pop(stream_id, None)

    def clear(self) -> None:
        """Drop all streams."""
        self._blocked.clear()

    def flush(self, write: Callable[[bytes], None]) -> None:
        """Write what the windows allow."""
        for stream in tuple(self._blocked.values()):
            while stream.unsent:
                size = min(len(stream.unsent), self.max_frame, self.window, stream.window)
                if size <= 0:
                    break
                part, stream.unsent = stream.unsent[:size], stream.unsent[size:]
                self._spend(stream, size)
                flags = frames.END_STREAM if stream.closing and not stream.unsent else 0
                write(frames.frame(frames.DATA, flags, stream.id, bytes(part)))
            if not stream.unsent:
                del self._blocked[stream.id]

    def widen(self, increment: int) -> None:
        """Add to the connection's window.

        Raises:
            Http2ProtocolError: the increment is 0, or the window exceeds 2^31-1.
        """
        if not increment:
            raise Http2ProtocolError("window increment of 0")
        if self.window + increment > MAX_WINDOW_BYTES:
            raise Http2ProtocolError("connection window above 2^31-1", FLOW_CONTROL_ERROR)
        self.window += increment

    def resize(self, initial_window: int, streams: Iterable[Http2Stream]) -> None:
        """Change the initial window, and the windows of open streams by the difference (RFC 9113, section 6.9.2).

        Raises:
            Http2ProtocolError: the window of a stream exceeds 2^31-1.
        """
        difference = initial_window - self.initial_window
        for stream in streams:
            stream.window += difference
            if stream.window > MAX_WINDOW_BYTES:
                raise Http2ProtocolError("stream window above 2^31-1", FLOW_CONTROL_ERROR)
        self.initial_window = initial_window

"""The data of streams that waits for the receiver's windows (RFC 9113, section 5.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from apiext.base.http2 import frames
from apiext.base.http2.frames import FLOW_CONTROL_ERROR, MAX_WINDOW_BYTES, Http2ProtocolError

WriteData = Callable[[bytes, memoryview], None]
"""Writes the header of a frame, and its data."""
_NOTHING: Final = memoryview(b"")


class SendStream:
    """The sending side of a stream."""

    __slots__ = ("closing", "id", "unsent", "window")

    id: int
    """The identifier, set when the stream opens."""
    window: int
    """Bytes that the receiver currently allows on this stream; negative after it reduced its initial window."""
    unsent: memoryview
    closing: bool
    """Whether END_STREAM follows `unsent`."""

    def begin(self) -> None:
        """Set the state of a stream that has nothing to send."""
        self.unsent = _NOTHING
        self.closing = False

    def on_sent(self) -> None:
        """Do something once all data that had to wait is sent."""


class SendQueue:
    """A connection's windows, and the streams with data that must wait for them. All sizes are in bytes."""

    __slots__ = ("_blocked", "initial_window", "max_frame", "window")

    def __init__(self) -> None:
        self.window = frames.DEFAULT_WINDOW_BYTES
        """Bytes that the receiver allows to send on the connection now."""
        self.initial_window = frames.DEFAULT_WINDOW_BYTES
        """The window of a new stream."""
        self.max_frame = frames.DEFAULT_FRAME_BYTES
        self._blocked: dict[int, SendStream] = {}

    def spend_if_free(self, stream: SendStream, size: int) -> bool:
        """Take bytes off both windows if one frame can carry them now, ahead of no other stream. Return whether it can."""
        return not self._blocked and self.spend_if_fits(stream, size)

    def spend_if_fits(self, stream: SendStream, size: int) -> bool:
        """Take bytes off both windows if one frame can carry them now, after those of its own stream. Return whether it can."""
        if size > self.max_frame or size > self.window or size > stream.window or stream.unsent:
            return False
        self._spend(stream, size)
        return True

    def _spend(self, stream: SendStream, size: int) -> None:
        """Take sent bytes off both windows."""
        self.window -= size
        stream.window -= size

    def add(self, stream: SendStream, data: bytes | memoryview, *, last: bool) -> None:
        """Append data to a stream's queue. `last` ends the stream after it."""
        stream.unsent = memoryview(bytes(stream.unsent) + bytes(data)) if stream.unsent else memoryview(data)
        stream.closing = last
        self._blocked[stream.id] = stream

    def discard(self, stream_id: int) -> None:
        """Drop a stream that has ended."""
        self._blocked.pop(stream_id, None)

    def clear(self) -> None:
        """Drop all streams."""
        self._blocked.clear()

    def flush(self, write: WriteData) -> None:
        """Write what the windows allow of all streams, as headers of frames and their data."""
        for stream_id in tuple(self._blocked):
            self.flush_stream(stream_id, write)

    def flush_stream(self, stream_id: int, write: WriteData) -> None:
        """Write what the windows allow of one stream."""
        stream = self._blocked.get(stream_id)
        if stream is None:
            return
        while stream.unsent:
            size = min(len(stream.unsent), self.max_frame, self.window, stream.window)
            if size <= 0:
                return
            part, stream.unsent = stream.unsent[:size], stream.unsent[size:]
            self._spend(stream, size)
            flags = frames.END_STREAM if stream.closing and not stream.unsent else 0
            write(frames.pack_header(size << 8 | frames.DATA, flags, stream.id), part)
        del self._blocked[stream_id]
        stream.on_sent()

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

    def resize(self, initial_window: int, streams: Iterable[SendStream]) -> None:
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

"""One HTTP/2 connection to a server, and the calls open on it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, cast

from apiext.base.http2 import frames
from apiext.base.http2.frames import (
    DATA,
    END_STREAM,
    ENHANCE_YOUR_CALM,
    HEADER_BYTES,
    HEADERS,
    PADDED,
    UINT31_MASK,
    Http2ProtocolError,
)
from apiext.base.http2.gathered_writer import GatheredWriter
from apiext.base.http2.send_queue import SendQueue
from apiext.storage.etcd.http2.deadlines import NO_DEADLINE, Deadlines
from apiext.storage.etcd.http2.grpc_status import DEADLINE_EXCEEDED, INTERNAL, UNAVAILABLE, RpcError, error_text
from apiext.storage.etcd.http2.headers import HeaderBlock, HeaderReader
from apiext.storage.etcd.http2.stream import Http2Stream

WINDOW_BYTES: Final = 4 << 20
"""Bytes that the server may send on a stream before the client grants more."""
_CONNECTION_WINDOW_BYTES: Final = 1 << 30
"""Bytes that the server may send on all streams before the client grants more. In practice the streams' windows are the limit."""
_MAX_UNGRANTED_BYTES: Final = _CONNECTION_WINDOW_BYTES // 2
_TOO_LONG: Final = (frames.DEFAULT_FRAME_BYTES + 1) << 8
"""The smallest `HEADER` number of a frame above the allowed length, of any type."""
_UNLIMITED_STREAMS: Final = 1 << 30
_GOAWAY_SECONDS: Final = 1.0
"""Seconds for sending GOAWAY before a connection closes."""
_SETTINGS: Final = {frames.HEADER_TABLE_SIZE: 0, frames.ENABLE_PUSH: 0, frames.INITIAL_WINDOW_SIZE: WINDOW_BYTES}

INTERVAL_SECONDS: Final = 10.0
"""Seconds of silence before a ping. etcd allows one ping in 5 s, and none without an open call."""
_ACK_DELAY_SECONDS: Final = 0.2
"""Seconds until an acknowledgement. etcd sends a ping with the first request after each acknowledgement, to measure bandwidth: an
immediate one would cause a ping after nearly every write, with a wake-up and a system call on both sides."""
_MAX_ACK_BYTES: Final = 1024
_PAYLOAD: Final = b"apiext.."


class Keepalive:
    """Pings of one connection. `has_calls` reports open calls. Calls `on_timeout` if the server answers no ping."""

    def __init__(self, write: Callable[[bytes], None], has_calls: Callable[[], bool], on_timeout: Callable[[], None]) -> None:
        self._write = write
        self._has_calls = has_calls
        self._on_timeout = on_timeout
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._ack_timer: asyncio.TimerHandle | None = None
        self._acks = b""
        self._pinged = False
        self.heard = False
        """Whether anything has arrived in this interval; the connection sets it."""

    def start(self) -> None:
        """Start the timer."""
        self._timer = self._loop.call_later(INTERVAL_SECONDS, self._tick)

    def stop(self) -> None:
        """Stop all timers."""
        for timer in (self._timer, self._ack_timer):
            if timer is not None:
                timer.cancel()

    def acknowledge(self, payload: bytes) -> None:
        """Acknowledge a ping a little later, together with later ones.

        Raises:
            Http2ProtocolError: the length is wrong, or too many pings await an acknowledgement.
        """
        if len(payload) != frames.PING_BYTES:
            raise Http2ProtocolError("PING frame of a wrong length", frames.FRAME_SIZE_ERROR)
        if self._ack_timer is None:
            self._ack_timer = self._loop.call_later(_ACK_DELAY_SECONDS, self._send_acks)
        self._acks += frames.frame(frames.PING, frames.ACK, 0, payload)
        if len(self._acks) > _MAX_ACK_BYTES:
            raise Http2ProtocolError("too many pings", ENHANCE_YOUR_CALM)

    def _send_acks(self) -> None:
        self._ack_timer = None
        acks, self._acks = self._acks, b""
        self._write(acks)

    def _tick(self) -> None:
        if self._pinged and not self.heard:
            self._on_timeout()
            return
        self._pinged = not self.heard and self._has_calls()
        if self._pinged:
            self._write(frames.frame(frames.PING, 0, 0, _PAYLOAD))
        self.heard = False
        self.start()


class Connection(asyncio.Protocol):
    """The client's side of a connection. Calls `on_retired` once, with the reason, when it accepts no more calls."""

    def __init__(self, on_retired: Callable[[Connection, str], None]) -> None:
        self.loop = asyncio.get_running_loop()
        """The event loop. Getting the current one would be a system call each time."""
        self._on_retired = on_retired
        self._writer: GatheredWriter | None = None
        """None before the connection is made, and after it is closed."""
        self._buffer = b""
        """The start of an incomplete frame."""
        self._header_reader = HeaderReader()
        self._keepalive = Keepalive(self._write, lambda: bool(self._streams), lambda: self.close("the server does not answer"))
        self._deadlines = Deadlines(self.loop, self._expire)
        self._send_queue = SendQueue()
        self._streams: dict[int, Http2Stream] = {}
        self._slot_waiters: deque[asyncio.Future[None]] = deque()
        """Calls that wait for a free stream."""
        self._next_id = 1
        self._max_streams = _UNLIMITED_STREAMS
        self._ungranted = 0
        self._reason = ""
        self.ready: asyncio.Future[None] = self.loop.create_future()
        """Done after the server's SETTINGS. Fails with ConnectionError if the connection ends before."""
        self.accepts_calls = False

    @property
    def closed(self) -> bool:
        """Return whether the connection and all its calls have ended."""
        return self._writer is None

    # --- calls ------------------------------------------------------------------------------------------------------

    def send(self, stream: Http2Stream, data: bytes, *, last: bool) -> None:
        """Send data of a stream as soon as the windows allow."""
        self._send_queue.add(stream, data, last=last)
        self._flush()
        if self._writer is not None:
            self._writer.flush()

    def grant(self, stream: Http2Stream, size: int) -> None:
        """Allow the server to send `size` more bytes on a stream."""
        if size and stream.id in self._streams:
            self._write(frames.window_update(stream.id, size))

    def cancel(self, stream: Http2Stream, code: int = frames.CANCEL) -> None:
        """Reset a stream unless it has ended."""
        if stream.id in self._streams:
            self._write(frames.reset(stream.id, code))
            self._remove(stream.id)

    def open(self, stream: Http2Stream, header: bytes, data: bytes, *, last: bool, gather: bool = False) -> None:
        """Open a stream and send its first data. `last` ends its direction; `gather` lets small data wait for others.

        The stream fails at its deadline.

        Raises:
            RpcError: the connection accepts no call.
        """
        if not self.accepts_calls or self._writer is None:
            raise RpcError(UNAVAILABLE, self._reason or "the connection is closed", unprocessed=True)
        stream_id, stream.window = self._next_id, self._send_queue.initial_window
        stream.id = stream_id
        self._next_id += 2
        self._streams[stream_id] = stream
        self._deadlines.add(stream.deadline)
        size = len(data)
        opening = frames.pack_header(len(header) << 8 | HEADERS, frames.END_HEADERS, stream_id) + header
        if last and self._send_queue.spend_if_free(stream, size):
            data_header = frames.pack_header(size << 8 | DATA, END_STREAM, stream_id)
            (self._writer.write if gather else self._writer.write_now)(opening, data_header, data)
        else:
            self._writer.write(opening)
            if data:
                self.send(stream, data, last=last)
        if self._next_id > frames.MAX_STREAM_ID:
            self._retire("all stream identifiers of the connection are used")

    def is_full(self) -> bool:
        """Return whether a call must wait for a free stream (`wait_for_slot`)."""
        return len(self._streams) >= self._max_streams

    async def wait_for_slot(self, seconds: float) -> float:
        """Wait for a free stream, at most `seconds`. Return the seconds left.

        Raises:
            RpcError: no stream became free in time.
        """
        if not self.is_full():
            return seconds
        end = self.loop.time() + seconds
        try:
            async with asyncio.timeout_at(end):
                while self.accepts_calls and self.is_full():
                    waiter: asyncio.Future[None] = self.loop.create_future()
                    self._slot_waiters.append(waiter)
                    try:
                        await waiter
                    except asyncio.CancelledError:
                        if not waiter.cancelled():  # woken and cancelled together: pass the slot on
                            self._wake_waiter()
                        raise
        except TimeoutError as error:
            raise RpcError(DEADLINE_EXCEEDED, "too many open calls", unprocessed=True) from error
        return end - self.loop.time()

    def _wake_waiter(self) -> None:
        while self._slot_waiters:
            waiter = self._slot_waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _expire(self, now: float) -> float:
        """End the calls whose deadline has passed. Return the earliest deadline of the others."""
        for stream in [stream for stream in self._streams.values() if stream.deadline <= now]:
            self.cancel(stream)
            stream.end(RpcError(DEADLINE_EXCEEDED, "no answer in time"))
        return min((stream.deadline for stream in self._streams.values()), default=NO_DEADLINE)

    def _remove(self, stream_id: int) -> None:
        self._streams.pop(stream_id, None)
        self._send_queue.discard(stream_id)
        if self._slot_waiters:
            self._wake_waiter()
        if not self._streams and not self.accepts_calls and self._writer is not None:
            self._writer.close()

    def _write(self, data: bytes) -> None:
        if self._writer is not None:
            self._writer.write(data)

    def _flush(self) -> None:
        if self._writer is not None:
            self._send_queue.flush(self._writer.write_data)

    # --- lifecycle --------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        # uvloop's transports are no subclasses of asyncio.Transport
        writer = self._writer = GatheredWriter(self.loop, cast("asyncio.Transport", transport))
        writer.write(frames.PREFACE, frames.settings(_SETTINGS), frames.window_update(0, _CONNECTION_WINDOW_BYTES))
        self._keepalive.start()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        if self._writer is not None:
            self._writer.drop()
            self._writer = None
        self._keepalive.stop()
        self._deadlines.stop()
        self._retire(f"error reading from server: {error_text(exc).lower() if exc else 'EOF'}")
        if not self.ready.done():
            self.ready.set_exception(ConnectionError(self._reason))
            self.ready.exception()  # marks the exception as retrieved: the caller may have been cancelled
        streams, self._streams = self._streams, {}
        self._send_queue.clear()
        for stream in streams.values():
            # The server cannot have processed a unary call before its message was sent completely.
            stream.end(RpcError(UNAVAILABLE, self._reason, unprocessed=bool(stream.unsent)))

    def close(self, reason: str, code: int | None = None) -> None:
        """End the connection and all its calls at once. With an error code, send GOAWAY."""
        self._reason = self._reason or reason
        if self._writer is None:
            return
        writer = self._writer
        self.connection_lost(None)
        if code is None:
            writer.abort()
        else:
            writer.write(frames.goaway(code))
            writer.close()
            self.loop.call_later(_GOAWAY_SECONDS, writer.abort)

    def _retire(self, reason: str) -> None:
        """Accept no new calls; open ones continue."""
        self._reason = self._reason or reason
        if self.accepts_calls:
            self.accepts_calls = False
            self._on_retired(self, self._reason)
        for waiter in self._slot_waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._slot_waiters.clear()
        if not self._streams and self._writer is not None:
            self._writer.close()

    # --- received frames --------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        if self._writer is None:  # closed with GOAWAY
            return
        self._keepalive.heard = True
        if self._buffer:
            data = self._buffer + data
        at, end, reader = 0, len(data), self._header_reader
        try:
            while (start := at + HEADER_BYTES) <= end:
                size_and_kind, flags, stream_id = frames.unpack_header(data, at)
                if size_and_kind >= _TOO_LONG:
                    raise Http2ProtocolError("a frame is too long: is this an HTTP/2 server?", frames.FRAME_SIZE_ERROR)
                stop = start + (size_and_kind >> 8)
                if stop > end:
                    break
                at, kind, stream_id = stop, size_and_kind & 0xFF, stream_id & UINT31_MASK
                payload = data[start:stop]
                if kind == DATA and not reader.inside_block:
                    self._data_received(flags, stream_id, payload)
                elif kind == HEADERS and not reader.inside_block:
                    self._block_received(stream_id, reader.known.get((flags, payload)) or reader.receive(kind, flags, stream_id, payload))
                else:
                    self._frame_received(kind, flags, stream_id, payload)
        except Http2ProtocolError as error:
            self.close(str(error), error.code)
            return
        self._buffer = data[at:] if at < end else b""

    def _frame_received(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        """Process a frame other than DATA and HEADERS, or one within a header block."""
        if self._header_reader.inside_block or kind == frames.CONTINUATION:
            self._block_received(stream_id, self._header_reader.receive(kind, flags, stream_id, payload))
        elif kind == frames.WINDOW_UPDATE:
            self._window_update_received(stream_id, frames.read_uint32(payload) & UINT31_MASK)
        elif kind == frames.RST_STREAM:
            self._reset_received(stream_id, frames.read_uint32(payload))
        elif kind == frames.PUSH_PROMISE:
            raise Http2ProtocolError("push is disabled")
        elif kind in (frames.PING, frames.SETTINGS, frames.GOAWAY):
            if stream_id:
                raise Http2ProtocolError("frame of the connection on a stream")
            if kind == frames.GOAWAY:
                self._goaway_received(payload)
            elif not flags & frames.ACK:
                (self._keepalive.acknowledge if kind == frames.PING else self._settings_received)(payload)

    def _stream(self, stream_id: int) -> Http2Stream | None:
        """Return an open stream, None if it has ended. Raise Http2ProtocolError if the client never opened it."""
        stream = self._streams.get(stream_id)
        if stream is None:
            self._check_opened(stream_id)
        return stream

    def _check_opened(self, stream_id: int) -> None:
        if stream_id >= self._next_id or not stream_id & 1:
            raise Http2ProtocolError(f"frame on stream {stream_id}, which is not open")

    def _data_received(self, flags: int, stream_id: int, payload: bytes) -> None:
        self._ungranted += len(payload)
        if self._ungranted > _MAX_UNGRANTED_BYTES:
            self._write(frames.window_update(0, self._ungranted))
            self._ungranted = 0
        stream = self._streams.get(stream_id)
        if stream is None:
            self._check_opened(stream_id)
            return
        if flags & PADDED:
            content = frames.content(PADDED, payload)
            self.grant(stream, len(payload) - len(content))  # the stream decides on the content
            payload = content
        size = stream.receive(payload)
        if size:
            self.grant(stream, size)
        if flags & END_STREAM:
            self._end(stream, RpcError(INTERNAL, "response without a gRPC status"))

    def _block_received(self, stream_id: int, block: HeaderBlock | None) -> None:
        """Process a header block; None for an incomplete one."""
        stream = self._streams.get(stream_id)
        if stream is None:
            self._check_opened(stream_id)
            return
        if block is None:
            return
        ends, is_refused, error = block
        if ends:
            self._end(stream, error)
        elif is_refused:
            self.cancel(stream)
            stream.end(error)

    def _reset_received(self, stream_id: int, code: int) -> None:
        stream = self._stream(stream_id)
        if stream is not None:
            refused = code == frames.REFUSED_STREAM
            text = f"the server reset the stream ({code})"
            self._end(stream, RpcError(UNAVAILABLE if refused else INTERNAL, text, unprocessed=refused))

    def _end(self, stream: Http2Stream, error: RpcError | None) -> None:
        """End a stream after the server has ended it."""
        if stream.unsent:
            self.cancel(stream)
        else:
            self._remove(stream.id)
        stream.end(error)

    def _window_update_received(self, stream_id: int, increment: int) -> None:
        if not stream_id:
            self._send_queue.widen(increment)
        elif (stream := self._stream(stream_id)) is not None:
            if 0 < increment <= frames.MAX_WINDOW_BYTES - stream.window:
                stream.window += increment
            else:
                self.cancel(stream, frames.FLOW_CONTROL_ERROR if increment else frames.PROTOCOL_ERROR)
                stream.end(RpcError(INTERNAL, f"window increment {increment} is out of range"))
        self._flush()

    def _settings_received(self, payload: bytes) -> None:
        for name, value in frames.read_settings(payload):
            if name == frames.INITIAL_WINDOW_SIZE:
                self._send_queue.resize(value, self._streams.values())
            elif name == frames.MAX_CONCURRENT_STREAMS:
                self._max_streams = value
            elif name == frames.MAX_FRAME_SIZE:
                self._send_queue.max_frame = value
        self._write(frames.frame(frames.SETTINGS, frames.ACK, 0))
        if not self.ready.done():
            self.accepts_calls = True
            self.ready.set_result(None)
        for _ in tuple(self._slot_waiters):
            self._wake_waiter()
        self._flush()

    def _goaway_received(self, payload: bytes) -> None:
        last, code, text = frames.read_goaway(payload)
        self._retire(f"the server closes the connection: {text or code}")
        for stream_id in [stream_id for stream_id in self._streams if stream_id > last]:
            self._end(self._streams[stream_id], RpcError(UNAVAILABLE, self._reason, unprocessed=True))

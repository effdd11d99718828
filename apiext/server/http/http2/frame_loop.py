"""The frames of a connection: what is received in turn with other connections, what is sent within the client's windows."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections import deque
from typing import TYPE_CHECKING, Final, cast

from apiext.api.endpoints.responsewriters.response import has_begun
from apiext.base.http2 import frames
from apiext.base.http2.frames import END_STREAM, HEADER_BYTES, PRIORITY_BYTES, Http2ProtocolError
from apiext.base.http2.gathered_writer import GatheredWriter
from apiext.base.http2.send_queue import SendQueue
from apiext.base.meta.limits import MAX_LINES_PART_BYTES
from apiext.server.http.http2.flood_guard import FloodGuard
from apiext.server.http.http2.request_body import RequestBody
from apiext.server.http.request_parser import HEAD_TIMEOUT
from apiext.server.http.transports import LINGER_SECONDS, ProgressWatch

if TYPE_CHECKING:
    from apiext.base.scheduling.parse_turns import ParseTurns
    from apiext.server.http.http2.stream import RequestStream

STREAM_WINDOW: Final = frames.DEFAULT_WINDOW_BYTES
"""Bytes of a body that are received ahead of their reader."""
PROXIED_STREAM_WINDOW: Final = 256 * 1024
"""Those of a request of a front proxy."""
WINDOW: Final = 1 << 20
"""Bytes of all bodies of a connection that are received ahead of their readers."""
TRUSTED_WINDOW: Final = 1 << 26
"""Those of a client that has authenticated."""
_GRANT_BYTES: Final = 32 * 1024
"""Bytes that are read before the client gets credit for them."""
_FRAMES_AT_ONCE: Final = 256
"""Frames that are processed before other connections have their turn. 32 bytes of a header block count as a frame."""
_HEAD_BYTES_PER_FRAME: Final = 32
_MAX_CONTINUATIONS: Final = 128
_KEPT_CUT: Final = 128


class _Block:
    """A header block that is not complete."""

    __slots__ = ("continuations", "data", "ends", "stream_id")

    def __init__(self, stream_id: int, data: bytes, *, ends: bool) -> None:
        self.stream_id = stream_id
        self.data = data
        self.ends = ends
        self.continuations = 0


class FrameLoop(asyncio.Protocol):
    """A connection that processes frames. A subclass answers the requests."""

    def __init__(self, turns: ParseTurns, max_streams: int, max_block_bytes: int) -> None:
        self._turns = turns
        self.loop = asyncio.get_running_loop()
        self.transport: asyncio.Transport | None = None
        self._writer: GatheredWriter | None = None
        """None before the connection is made, and after it is lost."""
        self.streams: dict[int, RequestStream] = {}
        """The open streams."""
        self.last_id = 0
        """The latest stream of the client."""
        self.cut: deque[int] = deque(maxlen=_KEPT_CUT)
        """Streams that ended before their bodies: the client may not know it when it sends more of them."""
        self.guard = FloodGuard(max_streams)
        self.max_block_bytes = max_block_bytes
        self._is_paused = False
        self._is_held = False
        self._progress = ProgressWatch()
        self.send_queue = SendQueue()
        self._buffer = b""
        """Received data that is not processed."""
        self._has_turn = False
        self._has_failed = False
        """Whether the client has violated the protocol: nothing is processed any more."""
        self._is_greeted = False
        """Whether the client's preface has come."""
        self.is_set = False
        """Whether the client's first SETTINGS have come."""
        self._block: _Block | None = None
        self.stream_window, self.window = STREAM_WINDOW, WINDOW
        self._credit = WINDOW
        """Bytes that the client may still send on all streams."""
        self._ungranted = 0
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the client's settings."""
        # uvloop's transports are no subclasses of asyncio.Transport
        self.transport = cast("asyncio.Transport", transport)
        self._writer = GatheredWriter(self.loop, self.transport)
        self._start_head_timer()

    def connection_lost(self, exc: BaseException | None) -> None:
        """End all requests, and drop what refers to the connection."""
        self._progress.stop()
        self._stop_head_timer()
        if self._writer is not None:
            self._writer.drop()
            self._writer = None
        self.transport = None
        self._buffer = b""
        self.send_queue.clear()
        self.abandon_all()

    @abstractmethod
    def block_received(self, stream_id: int, block: bytes, *, ends: bool) -> None:
        """Process a header block, which may end the client's direction of its stream.

        Raises:
            Http2ProtocolError: the client violates the protocol.
        """

    @abstractmethod
    def close_after_answer(self) -> None:
        """Take no new streams soon."""

    @abstractmethod
    def on_removed(self) -> None:
        """Do something after a stream has ended."""

    @property
    def is_between_frames(self) -> bool:
        """Return whether all received data is processed."""
        return not self._buffer and self._block is None

    def announce(self, max_streams: int, max_head_bytes: int) -> None:
        """Send the server's settings."""
        settings = {
            frames.MAX_CONCURRENT_STREAMS: max_streams,
            frames.INITIAL_WINDOW_SIZE: self.stream_window,
            frames.MAX_HEADER_LIST_SIZE: max_head_bytes,
        }
        self.write(frames.settings(settings) + frames.window_update(0, self.window - frames.DEFAULT_WINDOW_BYTES))

    def trust(self) -> None:
        """Let the client send more ahead."""
        grown, self.window = TRUSTED_WINDOW - self.window, TRUSTED_WINDOW
        self._credit += grown
        if self.is_set and grown:
            self.write(frames.window_update(0, grown))

    def force_close(self) -> None:
        """Close the connection once what was written is sent."""
        if self._writer is not None and self.transport is not None and not self.transport.is_closing():
            if not self._has_failed:
                self._writer.write(frames.goaway(frames.NO_ERROR, self.last_id))
            self._writer.close()

    def _fail(self, error: Http2ProtocolError) -> None:
        """Close the connection of a client that violates the protocol. Wait: closing it while the client sends would lose the reason."""
        self._has_failed = True
        self._buffer = b""
        self.abandon_all()
        if self._is_paused and self.transport is not None:
            self.transport.abort()
            return
        self.write(frames.goaway(error.code, self.last_id, str(error)))
        self.loop.call_later(LINGER_SECONDS, self.force_close)

    def abandon_all(self) -> None:
        """End all requests without an answer."""
        streams, self.streams = self.streams, {}
        for stream in streams.values():
            stream.abandon()

    def _start_head_timer(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_TIMEOUT, self.force_close)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    # --- sending ----------------------------------------------------------------------------------------------------

    def pause_writing(self) -> None:
        """Leave data in the streams until the client has received more, and watch its progress."""
        self._is_paused = True
        if self.transport is not None:
            self._progress.start(self.transport)

    def resume_writing(self) -> None:
        """Send what waits."""
        self._is_paused = False
        self._progress.stop()
        self.guard.on_sent()
        self._flush()

    def hold_data(self) -> None:
        """Leave data in the streams until `release_data`."""
        self._is_held = True

    def release_data(self) -> None:
        """Send the data that was held."""
        self._is_held = False
        self._flush()

    def write(self, data: bytes) -> None:
        """Send frames, together with those of this turn of the event loop."""
        if self._writer is not None:
            self._writer.write(data)

    def _control(self, data: bytes) -> None:
        """Answer a frame of control."""
        if self._is_paused:
            self.guard.on_unsent_control()
        self.write(data)

    def _flush(self) -> None:
        if self._writer is not None and not (self._is_paused or self._is_held):
            self.send_queue.flush(self._writer.write_data)

    def send_block(self, stream: RequestStream, block: bytes, *, ends: bool) -> None:
        """Send a header block, which may end the stream.

        Raises:
            ConnectionResetError: the connection is closed.
        """
        if self._writer is None:
            raise ConnectionResetError("the connection is closed")
        flags = END_STREAM if ends else 0
        most = self.send_queue.max_frame
        if len(block) <= most:
            flags |= frames.END_HEADERS
            self._writer.write(frames.pack_header(len(block) << 8 | frames.HEADERS, flags, stream.id), block)
            return
        parts = [block[at : at + most] for at in range(0, len(block), most)]
        for place, part in enumerate(parts):
            kind = frames.CONTINUATION if place else frames.HEADERS
            end = frames.END_HEADERS if place == len(parts) - 1 else 0
            self._writer.write(frames.frame(kind, end | (0 if place else flags), stream.id, part))

    def send_data(self, stream: RequestStream, data: bytes | memoryview, *, last: bool) -> bool:
        """Send data as far as the windows allow. Return whether some of it waits.

        Raises:
            ConnectionResetError: the connection is closed.
        """
        if self._writer is None:
            raise ConnectionResetError("the connection is closed")
        size, queue = len(data), self.send_queue
        waits = self._is_paused or self._is_held
        if not waits and (queue.spend_if_fits(stream, size) or not (size or stream.unsent)):
            header = frames.pack_header(size << 8 | frames.DATA, END_STREAM if last else 0, stream.id)
            self._writer.write(header, data)
            return False
        if not size and not stream.unsent:
            self.write(frames.frame(frames.DATA, END_STREAM if last else 0, stream.id))
            return False
        queue.add(stream, data, last=last)
        if not waits:
            queue.flush_stream(stream.id, self._writer.write_data)
        return bool(stream.unsent)

    def reset(self, stream: RequestStream, code: int) -> None:
        """End a stream, and the handler of its request."""
        self.write(frames.reset(stream.id, code))
        self.remove(stream)
        stream.abandon()

    def remove(self, stream: RequestStream) -> None:
        """Forget a stream that has ended."""
        if self.streams.pop(stream.id, None) is None:
            return
        self.send_queue.discard(stream.id)
        if not stream.body.is_eof():
            self.cut.append(stream.id)
        if isinstance(stream.body, RequestBody):
            self._grant(stream.body.unread)
        self.on_removed()

    # --- receiving --------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Process frames; after other connections if they have received much, and a part at a time if there are many."""
        if self._has_failed or self.transport is None or self.transport.is_closing():
            return
        self._buffer = self._buffer + data if self._buffer else data
        if self._has_turn:
            return
        if len(data) <= MAX_LINES_PART_BYTES or self._turns.has_room(len(data)):
            self._process()
        else:
            self._take_turn()

    def _take_turn(self) -> None:
        self._has_turn = True
        if self.transport is not None and not self.transport.is_closing():
            self.transport.pause_reading()
        self._turns.take(self._process_part)

    def _process_part(self) -> None:
        self._has_turn = False
        if self._has_failed or self.transport is None or self.transport.is_closing():
            return
        self._process()
        transport: asyncio.Transport | None = self.transport
        if not self._has_turn and transport is not None and not transport.is_closing():
            transport.resume_reading()

    def _process(self) -> None:
        """Process the complete frames that have been received, or some of many."""
        try:
            self._process_frames()
        except Http2ProtocolError as error:
            self._fail(error)

    def _process_frames(self) -> None:
        data, budget = self._buffer, _FRAMES_AT_ONCE
        at = 0 if self._is_greeted else self._read_preface(data)
        end = len(data)
        while end - at >= HEADER_BYTES:
            number, flags, stream_id = frames.unpack_header(data, at)
            size, kind = number >> 8, number & 0xFF
            if size > frames.DEFAULT_FRAME_BYTES:
                raise Http2ProtocolError("frame too large", frames.FRAME_SIZE_ERROR)
            following = at + HEADER_BYTES + size
            if following > end:
                break
            if budget <= 0:
                self._buffer = data[at:]
                self._take_turn()
                return
            payload, at = data[at + HEADER_BYTES : following], following
            budget -= 1 + (size // _HEAD_BYTES_PER_FRAME if kind in (frames.HEADERS, frames.CONTINUATION) else 0)
            self._frame_received(kind, flags, stream_id & frames.UINT31_MASK, payload)
        self._buffer = data[at:] if at < end else b""

    def _read_preface(self, data: bytes) -> int:
        """Return where the frames begin."""
        preface = frames.PREFACE
        if not preface.startswith(data[: len(preface)]):
            raise Http2ProtocolError("the connection does not begin with the preface of HTTP/2")
        if len(data) < len(preface):
            return 0
        self._is_greeted = True
        return len(preface)

    def _frame_received(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        block = self._block
        if block is not None and (kind != frames.CONTINUATION or stream_id != block.stream_id):
            raise Http2ProtocolError("frame inside of a header block")
        if not self.is_set and kind != frames.SETTINGS:
            raise Http2ProtocolError("the first frame is not SETTINGS")
        if kind == frames.HEADERS:
            self._headers_received(flags, stream_id, payload)
        elif kind == frames.DATA:
            self._data_received(flags, stream_id, payload)
        elif kind == frames.WINDOW_UPDATE:
            self._window_update_received(stream_id, frames.read_uint32(payload) & frames.UINT31_MASK)
        elif kind == frames.RST_STREAM:
            self._reset_received(stream_id, payload)
        elif kind == frames.CONTINUATION:
            self._continuation_received(flags, payload)
        elif kind == frames.PRIORITY_FRAME:
            _check_priority(stream_id, payload)
        elif kind == frames.PUSH_PROMISE:
            raise Http2ProtocolError("a client must not push")
        elif kind in (frames.SETTINGS, frames.PING, frames.GOAWAY):
            self._connection_frame_received(kind, flags, stream_id, payload)

    def _connection_frame_received(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id:
            raise Http2ProtocolError("frame of the connection on a stream")
        if kind == frames.SETTINGS:
            self._settings_received(flags, payload)
        elif kind == frames.GOAWAY:
            frames.read_goaway(payload)
            self.close_after_answer()
        elif len(payload) != frames.PING_BYTES:
            raise Http2ProtocolError("PING frame of a wrong length", frames.FRAME_SIZE_ERROR)
        elif not flags & frames.ACK:
            self._control(frames.frame(frames.PING, frames.ACK, 0, payload))

    def _settings_received(self, flags: int, payload: bytes) -> None:
        if flags & frames.ACK:
            if payload:
                raise Http2ProtocolError("SETTINGS frame of a wrong length", frames.FRAME_SIZE_ERROR)
            return
        for name, value in frames.read_settings(payload, of_server=False):
            if name == frames.INITIAL_WINDOW_SIZE:
                self.send_queue.resize(value, self.streams.values())
            elif name == frames.MAX_FRAME_SIZE:
                self.send_queue.max_frame = value
        if not self.is_set:
            self.is_set = True
            self._stop_head_timer()
        self._control(frames.frame(frames.SETTINGS, frames.ACK, 0))
        self._flush()

    def _window_update_received(self, stream_id: int, increment: int) -> None:
        if not stream_id:
            self.send_queue.widen(increment)
            self._flush()
            return
        stream = self._stream(stream_id)
        if stream is None:
            return
        if not 0 < increment <= frames.MAX_WINDOW_BYTES - stream.window:
            self.reset(stream, frames.FLOW_CONTROL_ERROR if increment else frames.PROTOCOL_ERROR)
            return
        stream.window += increment
        if self._writer is not None and not self._is_paused:
            self.send_queue.flush_stream(stream_id, self._writer.write_data)

    def _reset_received(self, stream_id: int, payload: bytes) -> None:
        frames.read_uint32(payload)
        stream = self._stream(stream_id)
        if stream is not None:
            if stream.request is None or not has_begun(stream.request):
                self.guard.on_reset()
            self.remove(stream)
            stream.abandon()

    def _stream(self, stream_id: int) -> RequestStream | None:
        """Return an open stream, None if it has ended. Raise Http2ProtocolError if the client never opened it."""
        if stream_id > self.last_id or not stream_id & 1:
            raise Http2ProtocolError(f"frame on stream {stream_id}, which is not open")
        return self.streams.get(stream_id)

    def refuse(self, stream_id: int, code: int) -> None:
        """Reset a stream that is not open."""
        self._control(frames.reset(stream_id, code))

    # --- header blocks ------------------------------------------------------------------------------------------------

    def _headers_received(self, flags: int, stream_id: int, payload: bytes) -> None:
        if not stream_id & 1:
            raise Http2ProtocolError("a client's stream has an odd identifier")
        block = frames.content(flags, payload)
        if flags & frames.PRIORITY:
            start = 1 if flags & frames.PADDED else 0
            _check_priority(stream_id, payload[start : start + PRIORITY_BYTES])
        ends = bool(flags & END_STREAM)
        if flags & frames.END_HEADERS:
            self.block_received(stream_id, block, ends=ends)
        else:
            self._block = _Block(stream_id, block, ends=ends)
            self._start_head_timer()

    def _continuation_received(self, flags: int, payload: bytes) -> None:
        block = self._block
        if block is None:
            raise Http2ProtocolError("CONTINUATION frame without HEADERS")
        block.data += payload
        block.continuations += 1
        if len(block.data) > self.max_block_bytes or block.continuations > _MAX_CONTINUATIONS:
            raise Http2ProtocolError("header block too large", frames.ENHANCE_YOUR_CALM)
        if flags & frames.END_HEADERS:
            self._block = None
            self._stop_head_timer()
            self.block_received(block.stream_id, block.data, ends=block.ends)

    # --- bodies -----------------------------------------------------------------------------------------------------

    def _data_received(self, flags: int, stream_id: int, payload: bytes) -> None:
        size = len(payload)
        self._credit -= size
        if self._credit < 0:
            raise Http2ProtocolError("more data than the connection's window allows", frames.FLOW_CONTROL_ERROR)
        stream = self._stream(stream_id)
        if stream is None or stream.body.is_eof():
            self._grant(size)
            self.refuse(stream_id, frames.STREAM_CLOSED)
            if stream is not None:
                self.remove(stream)
                stream.abandon()
            return
        stream.credit -= size
        if stream.credit < 0:
            self._grant(size)
            self.reset(stream, frames.FLOW_CONTROL_ERROR)
            return
        content = frames.content(flags & frames.PADDED, payload)
        if len(content) < size:
            self.body_read(stream, size - len(content))
        if content:
            stream.body.feed_data(content)
        elif not flags & END_STREAM:
            self.guard.on_empty_data()
        if flags & END_STREAM:
            self.end_body(stream)
        elif stream.length is not None and _received(stream) > stream.length:
            self.reset(stream, frames.PROTOCOL_ERROR)

    def end_body(self, stream: RequestStream) -> None:
        """End a body, which must have the declared length."""
        if stream.length is not None and _received(stream) != stream.length:
            self.reset(stream, frames.PROTOCOL_ERROR)
        else:
            stream.body.feed_eof()

    def body_read(self, stream: RequestStream, size: int) -> None:
        """Let the client send more, on the stream and on the connection."""
        if stream.is_over:
            # the connection has its credit since the stream ended
            return
        self._grant(size)
        if stream.body.is_eof():
            return
        stream.ungranted += size
        if stream.ungranted >= _GRANT_BYTES:
            self.write(frames.window_update(stream.id, stream.ungranted))
            stream.credit += stream.ungranted
            stream.ungranted = 0

    def _grant(self, size: int) -> None:
        """Let the client send more on the connection."""
        self._ungranted += size
        if self._ungranted >= _GRANT_BYTES:
            self.write(frames.window_update(0, self._ungranted))
            self._credit += self._ungranted
            self._ungranted = 0


def _received(stream: RequestStream) -> int:
    """Return the received bytes of a body."""
    return cast("RequestBody", stream.body).received


def _check_priority(stream_id: int, payload: bytes) -> None:
    """Check a priority, which is not used."""
    if not stream_id:
        raise Http2ProtocolError("PRIORITY frame of the connection")
    if len(payload) != PRIORITY_BYTES:
        raise Http2ProtocolError("PRIORITY frame of a wrong length", frames.FRAME_SIZE_ERROR)
    if frames.read_uint32(payload[: frames.UINT32.size]) & frames.UINT31_MASK == stream_id:
        raise Http2ProtocolError("a stream depends on itself")

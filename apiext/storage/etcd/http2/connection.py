"""One connection to a server, and the calls that it carries."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final, cast

from apiext.storage.etcd.http2 import frames, headers
from apiext.storage.etcd.http2.frames import HEAD, HEAD_SIZE, ProtocolError
from apiext.storage.etcd.http2.grpc_status import DEADLINE_EXCEEDED, INTERNAL, UNAVAILABLE, RpcError
from apiext.storage.etcd.http2.streams import WINDOW, Duplex, Stream, Unary, pack

if TYPE_CHECKING:
    from collections.abc import Callable

_KEEPALIVE: Final = 10.0
"""Seconds of silence after which to ask; etcd allows a ping in 5 seconds, and none while no call is under way."""
_ANSWER_WITHIN: Final = 0.02
_MOST_ANSWERS: Final = 1024
_PING: Final = b"apiext.."
_MOST: Final = 1 << 30
_SETTINGS: Final = {frames.HEADER_TABLE_SIZE: 0, frames.ENABLE_PUSH: 0, frames.INITIAL_WINDOW_SIZE: WINDOW}


class Connection(asyncio.Protocol):
    """Speaks HTTP/2 as a client. `lost` is called once, with the reason, when it takes no more calls."""

    def __init__(self, lost: Callable[[Connection, str], None]) -> None:
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._lost = lost
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._reader = headers.Reader()
        self._block: tuple[int, int, bytes] | None = None
        """A header block that is still coming: its stream, its flags, what has come."""
        self._streams: dict[int, Stream] = {}
        self._blocked: dict[int, Stream] = {}
        """Streams with something to send for which there is no room."""
        self._queue: deque[asyncio.Future[None]] = deque()
        """Calls for which the server allows no stream yet."""
        self._next = 1
        self._most = _MOST
        self._frame = frames.DEFAULT_FRAME
        self._initial = frames.DEFAULT_WINDOW
        self._window = frames.DEFAULT_WINDOW
        self._owed = 0
        self._answers = b""
        """Acknowledgements of pings, on their way with whatever is sent next."""
        self._answering = False
        self._heard = False
        self._pinged = False
        self._timer: asyncio.TimerHandle | None = None
        self._reason = ""
        self.started: asyncio.Future[None] = loop.create_future()
        """Done when the server has begun to speak; fails with ConnectionError when it ends before."""
        self.usable = False
        """Whether calls may begin."""

    @property
    def gone(self) -> bool:
        """Whether it has ended, with all its calls."""
        return self._transport is None

    # --- calls ------------------------------------------------------------------------------------------------------

    async def unary(self, head: bytes, message: bytes, within: float) -> bytes:
        """Send a message and have one back, within seconds. Raises RpcError."""
        if len(self._streams) >= self._most:
            end = self._loop.time() + within
            await self._room(within)
            within = end - self._loop.time()
        answer: asyncio.Future[bytes] = self._loop.create_future()
        stream = Unary(self._initial, answer)
        self._open(stream, head + headers.timeout(within), pack(message), last=True)
        timer = self._loop.call_later(within, self._expire, stream)
        try:
            return await answer
        finally:
            timer.cancel()
            if stream.id in self._streams:
                self.abandon(stream)

    def duplex(self, head: bytes) -> Duplex:
        """Begin a call with many messages both ways. Raises RpcError."""
        stream = Duplex(self._initial, self)
        self._open(stream, head, b"", last=False)
        return stream

    def _open(self, stream: Stream, head: bytes, data: bytes, *, last: bool) -> None:
        if not self.usable or self._transport is None:
            raise RpcError(UNAVAILABLE, self._reason or "the connection is closed")
        identity = stream.id = self._next
        self._next += 2
        self._streams[identity] = stream
        size, length = len(data), len(head)
        opening = self._answers + HEAD.pack(0, length, frames.HEADERS, frames.END_HEADERS, identity) + head
        self._answers = b""
        if last and size <= self._frame and size <= self._window and size <= stream.window and not self._blocked:
            self._window -= size
            self._transport.write(b"".join((opening, HEAD.pack(size >> 16, size & 0xFFFF, frames.DATA, frames.END_STREAM, identity), data)))
        else:
            self._transport.write(opening)
            if data:
                self.send(stream, data, last=last)
        if self._next > frames.LARGEST_STREAM:
            self._retire("the connection has carried all the calls it can")

    def send(self, stream: Stream, data: bytes, *, last: bool) -> None:
        """Send some bytes of a stream when there is room."""
        stream.unsent = memoryview(bytes(stream.unsent) + data) if stream.unsent else memoryview(data)
        stream.closing = last
        self._blocked[stream.id] = stream
        self._send_blocked()

    def _send_blocked(self) -> None:
        if self._transport is None:
            return
        for stream in tuple(self._blocked.values()):
            while stream.unsent:
                size = min(len(stream.unsent), self._frame, self._window, stream.window)
                if size <= 0:
                    break
                part, stream.unsent = stream.unsent[:size], stream.unsent[size:]
                self._window -= size
                stream.window -= size
                flags = frames.END_STREAM if stream.closing and not stream.unsent else 0
                self._transport.write(frames.frame(frames.DATA, flags, stream.id, bytes(part)))
            if not stream.unsent:
                del self._blocked[stream.id]

    def grant(self, stream: Stream, size: int) -> None:
        """Let the server send more of a stream."""
        if size and stream.id in self._streams and self._transport is not None:
            self._transport.write(frames.window_update(stream.id, size))

    def abandon(self, stream: Stream) -> None:
        """Let the server know that nobody waits for an answer."""
        if stream.id in self._streams:
            if self._transport is not None:
                self._transport.write(frames.reset(stream.id, frames.CANCEL))
            self._forget(stream.id)

    def _expire(self, stream: Unary) -> None:
        if stream.id in self._streams:
            self.abandon(stream)
            stream.end(RpcError(DEADLINE_EXCEEDED, "no answer in time"))

    async def _room(self, within: float) -> None:
        """Wait until the server allows another stream."""
        try:
            async with asyncio.timeout(within):
                while self.usable and len(self._streams) >= self._most:
                    waiter: asyncio.Future[None] = self._loop.create_future()
                    self._queue.append(waiter)
                    await waiter
        except TimeoutError as error:
            raise RpcError(DEADLINE_EXCEEDED, "too many calls are under way") from error

    def _forget(self, identity: int) -> Stream | None:
        stream = self._streams.pop(identity, None)
        if self._blocked:
            self._blocked.pop(identity, None)
        if self._queue:
            self._admit()
        if not self._streams and not self.usable and self._transport is not None:
            self._transport.close()
        return stream

    def _admit(self) -> None:
        """Wake the first who waits for a stream; one who has gone must not keep the turn."""
        while self._queue:
            waiter = self._queue.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    # --- the connection ---------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        # uvloop's transports are no subclasses
        transport = self._transport = cast("asyncio.Transport", transport)
        opening = (frames.PREFACE, frames.settings(_SETTINGS), frames.window_update(0, _MOST))
        transport.write(b"".join(opening))
        self._timer = self._loop.call_later(_KEEPALIVE, self._tick)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()
        self._retire(f"error reading from server: {_words(exc).lower() or 'EOF'}")
        if not self.started.done():
            self.started.set_exception(ConnectionError(self._reason))
            self.started.exception()  # whoever waited may have gone
        streams, self._streams = self._streams, {}
        self._blocked.clear()
        for stream in streams.values():
            stream.end(RpcError(UNAVAILABLE, self._reason))

    def close(self, reason: str) -> None:
        """End it at once, with all its calls."""
        self._reason = self._reason or reason
        if self._transport is not None:
            transport = self._transport
            self.connection_lost(None)
            transport.abort()

    def _retire(self, reason: str) -> None:
        """Take no new calls; those under way go on."""
        self._reason = self._reason or reason
        if self.usable:
            self.usable = False
            self._lost(self, self._reason)
        for waiter in self._queue:
            if not waiter.done():
                waiter.set_result(None)
        self._queue.clear()
        if not self._streams and self._transport is not None:
            self._transport.close()

    def _tick(self) -> None:
        """Ask a server that has said nothing for a while whether it is there."""
        if self._pinged and not self._heard:
            self.close("the server does not answer")
            return
        self._pinged = False
        if not self._heard and self._streams and self._transport is not None:
            self._transport.write(frames.frame(frames.PING, 0, 0, _PING))
            self._pinged = True
        self._heard = False
        self._timer = self._loop.call_later(_KEEPALIVE, self._tick)

    # --- what comes -------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        self._heard = True
        if self._buffer:
            data = self._buffer + data
        at, end = 0, len(data)
        try:
            while end - at >= HEAD_SIZE:
                high, low, kind, flags, identity = HEAD.unpack_from(data, at)
                stop = at + HEAD_SIZE + (high << 16) + low
                if high or low > frames.DEFAULT_FRAME:
                    # the largest frame that is allowed has exactly the default's size
                    raise ProtocolError("a frame is too long: is this an HTTP/2 server?")
                if stop > end:
                    break
                payload = data[at + HEAD_SIZE : stop]
                at = stop
                if kind == frames.DATA:
                    self._data(flags, identity, payload)
                else:
                    self._other(kind, flags, identity, payload)
        except ProtocolError as error:
            self.close(str(error))
            return
        self._buffer = data[at:] if at < end else b""

    def _data(self, flags: int, identity: int, payload: bytes) -> None:
        self._owed += len(payload)
        if self._owed > _MOST // 2 and self._transport is not None:
            self._transport.write(frames.window_update(0, self._owed))
            self._owed = 0
        stream = self._streams.get(identity)
        if stream is None:  # abandoned
            return
        if flags & frames.PADDED:
            self.grant(stream, len(payload))
            payload = frames.content(flags & frames.PADDED, payload)
        stream.receive(payload, self)
        if flags & frames.END_STREAM:
            self._end(identity, RpcError(INTERNAL, "the answer ended without a status"))

    def _other(self, kind: int, flags: int, identity: int, payload: bytes) -> None:
        if self._block is not None or kind in (frames.HEADERS, frames.CONTINUATION):
            self._headers(kind, flags, identity, payload)
        elif kind == frames.WINDOW_UPDATE:
            self._widen(identity, frames.number(payload) & frames.LARGEST_WINDOW)
        elif kind == frames.PING:
            if not flags & frames.ACK:
                self._acknowledge(payload)
        elif kind == frames.RST_STREAM:
            code = frames.number(payload)
            refused = code == frames.REFUSED_STREAM
            self._end(identity, RpcError(UNAVAILABLE if refused else INTERNAL, f"the server reset the stream ({code})"))
        elif kind == frames.SETTINGS:
            if not flags & frames.ACK:
                self._settle(payload)
        elif kind == frames.GOAWAY:
            self._go_away(payload)

    def _acknowledge(self, payload: bytes) -> None:
        """Answer a ping, with the next call if there is one soon: etcd sends one for each call, to measure the bandwidth."""
        if not self._answering:
            self._answering = True
            self._loop.call_later(_ANSWER_WITHIN, self._send_answers)
        self._answers += frames.frame(frames.PING, frames.ACK, 0, payload)
        if len(self._answers) > _MOST_ANSWERS:
            raise ProtocolError("too many pings")

    def _send_answers(self) -> None:
        self._answering = False
        answers, self._answers = self._answers, b""
        if answers and self._transport is not None:
            self._transport.write(answers)

    def _headers(self, kind: int, flags: int, identity: int, payload: bytes) -> None:
        if self._block is None:
            if kind != frames.HEADERS:
                raise ProtocolError("headers go on that have not begun")
            block, first = frames.content(flags, payload), flags
        else:
            begun, first, block = self._block
            if kind != frames.CONTINUATION or identity != begun or len(block) > 1 << 20:
                raise ProtocolError("headers do not end")
            block += payload
        if not flags & frames.END_HEADERS:
            self._block = (identity, first, block)
            return
        self._block = None
        head = self._reader.read(block)
        if first & frames.END_STREAM or head.status is not None:
            self._end(identity, head.error)
        elif head.http != "200":
            stream = self._streams.get(identity)
            if stream is not None:
                self.abandon(stream)
                stream.end(head.error)

    def _end(self, identity: int, error: RpcError | None) -> None:
        """The server has ended a stream; what has not been sent it does not want."""
        stream = self._streams.get(identity)
        if stream is None:
            return
        if stream.unsent:
            self.abandon(stream)
        else:
            self._forget(identity)
        stream.end(error)

    def _widen(self, identity: int, size: int) -> None:
        if identity == 0:
            self._window += size
        elif identity in self._streams:
            self._streams[identity].window += size
        if self._blocked:
            self._send_blocked()

    def _settle(self, payload: bytes) -> None:
        for name, value in frames.read_settings(payload):
            if name == frames.INITIAL_WINDOW_SIZE:
                for stream in self._streams.values():
                    stream.window += value - self._initial
                self._initial = value
            elif name == frames.MAX_CONCURRENT_STREAMS:
                self._most = value
            elif name == frames.MAX_FRAME_SIZE:
                self._frame = value
        if self._transport is not None:
            self._transport.write(frames.frame(frames.SETTINGS, frames.ACK, 0))
        if not self.started.done():
            self.usable = True
            self.started.set_result(None)
        for _ in tuple(self._queue):
            self._admit()
        self._send_blocked()

    def _go_away(self, payload: bytes) -> None:
        last, code, text = frames.read_goaway(payload)
        self._retire(f"the server goes away: {text or code}")
        for identity in [identity for identity in self._streams if identity > last]:
            self._end(identity, RpcError(UNAVAILABLE, self._reason))


def _words(error: Exception | None) -> str:
    """A reason in one line."""
    if error is None:
        return ""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())

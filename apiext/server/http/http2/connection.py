"""A connection of HTTP/2: answers its requests, each in a task of its own, and has the state that graceful shutdown needs."""

from __future__ import annotations

import asyncio
import random
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from aiohttp.streams import EMPTY_PAYLOAD, StreamReader

from apiext.api.endpoints.responsewriters.response import Reply, has_begun
from apiext.base.http2 import frames
from apiext.base.http2.frames import Http2ProtocolError
from apiext.base.meta.log import get_logger
from apiext.server.http.http2.flood_guard import FloodGuard
from apiext.server.http.http2.frame_loop import PROXIED_STREAM_WINDOW, FrameLoop
from apiext.server.http.http2.header_decoder import HeaderDecoder, LargeHeadError
from apiext.server.http.http2.request_body import RequestBody
from apiext.server.http.http2.request_head import MalformedError, RequestHead, check_trailers, read_head
from apiext.server.http.http2.stream import RequestStream
from apiext.server.http.request_parser import CLIENT, FRONT_PROXY, HeadTooLargeError, refusal_text
from apiext.server.http.transports import IdleWatch, has_unread
from apiext.server.http.unauthenticated import is_authenticated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aiohttp import web
    from aiohttp.http_parser import RawRequestMessage

    from apiext.api.audit.event import Client
    from apiext.base.scheduling.parse_turns import ParseTurns
    from apiext.server.http.http2.header_decoder import HeaderField
    from apiext.server.http.request_parser import HeadLimits
    from apiext.server.http.unauthenticated import UnauthenticatedConnection
    from apiext.server.options.options import Http2Options

_LOG: Final = get_logger(__name__)

MAX_STREAMS: Final = 100
"""Requests that a client may have at a time on a connection. As kube-apiserver."""
MAX_PROXIED_STREAMS: Final = 1000
"""Those of a front proxy, on whose connection the watches of all its clients are. As the reference recommends for aggregated servers."""
_MAX_KNOWN_HEADS: Final = 64
_LEAVE_SECONDS: Final = 1.0
"""Seconds from the end of the last stream of a connection that takes no more to its end. Requests may be on their way."""
QUIET_SECONDS: Final = 0.05
"""Seconds without a new request, answers being held, after which the client is taken to wait for them."""
_MAX_QUIET_LOOKS: Final = 5
_MORE_HEAD_BYTES: Final = 320
"""What Go adds to the limit of heads that it announces: ten fields."""


class Http2Connection(FrameLoop):
    """The server's side of a connection."""

    def __init__(self, server: web.Server, place: UnauthenticatedConnection, turns: ParseTurns, settings: Http2Options) -> None:
        self._max_streams = settings.max_streams or MAX_STREAMS
        super().__init__(turns, self._max_streams, CLIENT.bytes)
        self._server = server
        self._place = place
        self._settings = settings
        self._limits: HeadLimits = CLIENT
        self._decoder = HeaderDecoder(CLIENT)
        self._heads: dict[bytes, RequestHead] = {}
        """Decoded heads by their blocks, as long as the decoder's table stays as it is."""
        # what aiohttp's requests ask of their connection
        self.ssl_context: Any = None
        self.peername: Any = None
        self.sockname: Any = None
        self.audit_client: tuple[str, Client] | None = None
        """The last User-Agent, and the client in audit events if no proxy names others (api/filters/auditing.py)."""
        self.closes_after_answer = False
        """Whether the client has been asked to send no more requests."""
        self._is_authenticated = False
        self._running = 0
        """Handlers that have not ended, those of abandoned requests included."""
        self._idle = IdleWatch()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Announce the settings, and count the time until the client authenticates a request."""
        super().connection_made(transport)
        self.ssl_context, self.peername, self.sockname = map(transport.get_extra_info, ("sslcontext", "peername", "sockname"))
        self._place.await_client(self._close_unless_authenticated)
        self._server.connection_made(cast("Any", self), cast("asyncio.Transport", transport))
        self.announce(self._max_streams, self._limits.bytes + _MORE_HEAD_BYTES)
        self._idle.start(self.loop, self)

    def connection_lost(self, exc: BaseException | None) -> None:
        """End all handlers, and drop what refers to the connection."""
        self._place.leave()
        self._idle.stop()
        self._heads.clear()
        super().connection_lost(exc)
        self._server.connection_lost(cast("Any", self), exc)

    def become_front_proxy(self) -> None:
        """Apply the limits of front proxies. Call it while the connection is made: the client's certificate is known by then."""
        self._limits = FRONT_PROXY
        self._max_streams = self._settings.max_streams or MAX_PROXIED_STREAMS
        self._decoder = HeaderDecoder(FRONT_PROXY)
        self.guard = FloodGuard(self._max_streams)
        self.max_block_bytes, self.stream_window = FRONT_PROXY.bytes, PROXIED_STREAM_WINDOW
        self.become_authenticated()

    def become_authenticated(self) -> None:
        """Stop counting the connection among those that have not authenticated a request, and let it send more ahead."""
        self._is_authenticated = True
        self._place.leave()
        self.trust()

    def renew_place(self) -> None:
        """Count the client's waiting time from now on: of the connections without authentication, this one is the last to make room."""
        if not self._is_authenticated:
            self._place.await_client(self._close_unless_authenticated)

    def _close_unless_authenticated(self) -> None:
        if any(stream.request is not None and is_authenticated(stream.request) for stream in self.streams.values()):
            self.become_authenticated()
        elif self.transport is not None:
            self.transport.abort()

    def close_after_answer(self) -> None:
        """Ask the client to send its next requests over another connection, and close this one after its last answer.

        A front proxy of Go fails a request with a body that has chosen the connection but not reached it when GOAWAY comes ("cannot
        rewind body"). So answers are held until no new request comes: the proxy's clients wait for them then.
        """
        if self.closes_after_answer:
            return
        self.closes_after_answer = True
        self.hold_data()
        self.loop.call_later(QUIET_SECONDS, self._announce_end, self.last_id, _MAX_QUIET_LOOKS)

    def _announce_end(self, last_id: int, looks: int) -> None:
        if self.last_id != last_id and looks > 1:
            self.loop.call_later(QUIET_SECONDS, self._announce_end, self.last_id, looks - 1)
            return
        self.write(frames.goaway(frames.NO_ERROR, frames.MAX_STREAM_ID))
        self.release_data()
        if not self.streams:
            self.loop.call_later(_LEAVE_SECONDS, self._leave)

    def _leave(self) -> None:
        if not self.streams:
            self.force_close()

    def end(self) -> None:
        """Close the connection after the answers to its current requests, or immediately without any."""
        self.close_after_answer()
        if self.is_idle():
            self.force_close()

    @property
    def awaits_request(self) -> bool:
        """Return whether every request is answered."""
        return not self.streams

    def is_idle(self) -> bool:
        """Return whether every received byte has been answered, those in the kernel's buffer included."""
        return not self.streams and self.is_between_frames and not has_unread(self.transport)

    async def shutdown(self, timeout: float | None) -> None:  # noqa: ASYNC109 -- aiohttp's signature
        """Wait for the handlers, `timeout` seconds at most, and close the connection."""
        tasks = [stream.task for stream in self.streams.values() if stream.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=timeout)
        self.abandon_all()
        self.force_close()

    def on_removed(self) -> None:
        """Wait for requests, or for the end of the connection, after the last stream."""
        if self.streams or self.transport is None:
            return
        if self.closes_after_answer:
            self.loop.call_later(_LEAVE_SECONDS, self._leave)
        else:
            self._idle.start(self.loop, self)

    # --- requests ---------------------------------------------------------------------------------------------------

    def block_received(self, stream_id: int, block: bytes, *, ends: bool) -> None:
        """See FrameLoop.block_received: begin a request, or end the body of one."""
        if stream_id <= self.last_id:
            self._trailers_received(stream_id, block, ends=ends)
            return
        self.last_id = stream_id
        head = self._heads.get(block)
        if head is None:
            known = self._decoder.changes
            try:
                head = read_head(self._fields(block))
            except MalformedError:
                self.refuse(stream_id, frames.PROTOCOL_ERROR)
                return
            except LargeHeadError:
                head = RequestHead(None, None, HeadTooLargeError())
            if self._decoder.changes == known and len(self._heads) < _MAX_KNOWN_HEADS:
                self._heads[block] = head
        if self._running >= self._max_streams:
            self.guard.on_reset()
            self.refuse(stream_id, frames.REFUSED_STREAM)
        elif ends and head.length:
            self.refuse(stream_id, frames.PROTOCOL_ERROR)
        else:
            self._request_received(stream_id, head, ends=ends)

    def _fields(self, block: bytes) -> Sequence[HeaderField]:
        known = self._decoder.changes
        try:
            return self._decoder.decode(block)
        finally:
            if self._decoder.changes != known:
                self._heads.clear()

    def _trailers_received(self, stream_id: int, block: bytes, *, ends: bool) -> None:
        """End a body with the fields after it, which nothing needs."""
        stream = self.streams.get(stream_id)
        try:
            check_trailers(self._fields(block))
            is_good = ends
        except (MalformedError, LargeHeadError):
            is_good = False
        if stream is None:
            if stream_id not in self.cut:
                code = frames.STREAM_CLOSED if stream_id == self.last_id else frames.PROTOCOL_ERROR
                raise Http2ProtocolError(f"a request on stream {stream_id}, which is closed", code)
            self.refuse(stream_id, frames.STREAM_CLOSED)
        elif stream.body.is_eof():
            self.reset(stream, frames.STREAM_CLOSED)
        elif is_good:
            self.end_body(stream)
        else:
            self.reset(stream, frames.PROTOCOL_ERROR)

    def _request_received(self, stream_id: int, head: RequestHead, *, ends: bool) -> None:
        stream = RequestStream(self, stream_id, EMPTY_PAYLOAD, head.length)
        if not ends:
            stream.body = RequestBody(partial(self.body_read, stream))
        stream.window, stream.credit = self.send_queue.initial_window, self.stream_window
        self.streams[stream_id] = stream
        self._running += 1
        stream.task = self.loop.create_task(self._answer(stream, head))
        if self._settings.goaway_chance and random.random() < self._settings.goaway_chance:  # noqa: S311 not for secrets
            self.close_after_answer()

    async def _answer(self, stream: RequestStream, head: RequestHead) -> None:
        """Answer a request."""
        try:
            if head.message is not None:
                await self._handle(stream, head.message)
            elif head.refusal is not None:
                _answer_plainly(stream, *refusal_text(head.refusal))
        except ConnectionError:
            if not stream.is_over:
                # the client must notice that the response is incomplete
                self.reset(stream, frames.INTERNAL_ERROR)
        finally:
            self._running -= 1
            self._end_answer(stream)

    async def _handle(self, stream: RequestStream, message: RawRequestMessage) -> None:
        server = self._server
        server.requests_count += 1
        # without its task, which refers to it, its memory is free at once
        no_task = cast("asyncio.Task[None]", None)
        request = stream.request = server.request_factory(message, cast("StreamReader", stream.body), cast("Any", self), stream, no_task)
        try:
            response: web.StreamResponse = await server.request_handler(request)
            if not self._is_authenticated and is_authenticated(request):
                self.become_authenticated()
            await response.prepare(request)
            await response.write_eof()
        except ConnectionError:
            raise
        except Exception as error:
            _LOG.exception("request failed", method=request.method, uri=str(request.rel_url))
            if has_begun(request):
                raise ConnectionResetError("the response is incomplete") from error
            await Reply(b"500 Internal Server Error", status=500, content_type="text/plain; charset=utf-8").prepare(request)

    def _end_answer(self, stream: RequestStream) -> None:
        """End a stream whose handler has ended."""
        if not stream.is_over:
            if not stream.is_answered:
                self.write(frames.reset(stream.id, frames.INTERNAL_ERROR))
            elif not stream.body.is_eof():
                self.write(frames.reset(stream.id, frames.NO_ERROR))
            self.guard.on_answer()
            # what goes on after the answer finds no connection
            stream.is_over = True
        self.remove(stream)
        # they refer to the stream: its memory is free at once
        stream.request = stream.task = None
        stream.body = EMPTY_PAYLOAD


def _answer_plainly(stream: RequestStream, status: int, text: str) -> None:
    """Answer a request that no handler sees."""
    body = text.encode()
    fields = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))]
    stream.begin_response(status, fields, has_body=bool(body))
    if body:
        stream.send(body, last=True)

"""A connection of the HTTP server: its limits, the answers to malformed requests, and the state that graceful shutdown needs."""

from __future__ import annotations

import asyncio
import math
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, cast

from aiohttp import hdrs, web

from apiext.api.endpoints.responsewriters.response import has_begun
from apiext.base.meta.limits import MAX_BODY_BYTES, MAX_DRAINED_BYTES, MAX_LINES_AT_ONCE, MAX_LINES_PART_BYTES
from apiext.base.scheduling.tracebacks import without_frames
from apiext.server.http.request_loop import BODY_BUFFER, RequestLoop
from apiext.server.http.request_parser import CLIENT, FRONT_PROXY, RequestParser, refusal_text
from apiext.server.http.transports import LINGER_SECONDS, ProgressWatch, has_unread
from apiext.server.http.unauthenticated import is_authenticated

if TYPE_CHECKING:
    from aiohttp.abc import AbstractStreamWriter
    from aiohttp.http_exceptions import HttpProcessingError
    from aiohttp.http_parser import RawRequestMessage
    from aiohttp.http_writer import HttpVersion
    from aiohttp.streams import StreamReader
    from aiohttp.typedefs import RawHeaders
    from aiohttp.web_protocol import RequestHandler
    from multidict import CIMultiDictProxy
    from yarl import URL

    from apiext.api.audit.event import Client
    from apiext.base.scheduling.parse_turns import ParseTurns
    from apiext.server.http.request_parser import HeadLimits
    from apiext.server.http.unauthenticated import UnauthenticatedConnection

_SEARCHED: Final = 32 * 1024
"""Bytes in which lines are counted, and which are parsed at a time if these are few."""


class HTTPConnection(RequestLoop):
    """A connection whose requests pass RequestParser, and which can end after the current answer."""

    def __init__(self, server: web.Server, place: UnauthenticatedConnection, turns: ParseTurns, *, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(server, loop)
        self.requests = self._new_parser(CLIENT)
        self._place = place
        self._is_authenticated = False
        self._unparsed = b""
        """Received data that waits for its turn, the part before `_parsed` excepted."""
        self._parsed = 0
        self._turns = turns
        self._has_turn = False
        self._ignores_input = False
        self._progress = ProgressWatch()
        self.audit_client: tuple[str, Client] | None = None
        """The last User-Agent, and the client in audit events if no proxy names others (api/filters/auditing.py)."""
        self.closes_after_answer = False
        """Whether the next answer carries `Connection: close` and ends the connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the time until the client authenticates a request."""
        self._place.await_client(self._close_unless_authenticated)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Stop the timers, and drop what is not parsed and what refers to the connection: without cycles its memory is free at once."""
        self._place.leave()
        self.requests.close()
        del self.requests
        self._unparsed = b""
        self._progress.stop()
        super().connection_lost(exc)

    def _new_parser(self, limits: HeadLimits) -> RequestParser:
        on_timeout, on_broken_body = self._on_head_timeout, self.close_after_answer
        return RequestParser(
            self, self._clock, on_timeout=on_timeout, on_broken_body=on_broken_body, buffer_size=BODY_BUFFER, limits=limits
        )

    def become_front_proxy(self) -> None:
        """Apply the limits of front proxies. Call it before the first request: the client's certificate is known after the handshake."""
        self.requests = self._new_parser(FRONT_PROXY)
        self.become_authenticated()

    def become_authenticated(self) -> None:
        """Stop counting the connection among those that have not authenticated a request."""
        self._is_authenticated = True
        self._place.leave()

    def renew_place(self) -> None:
        """Count the client's waiting time from now on: of the connections without authentication, this one is the last to make room."""
        if not self._is_authenticated:
            self._place.await_client(self._close_unless_authenticated)

    def data_received(self, data: bytes) -> None:
        """Parse data; after other connections if they have received much, and a part at a time if it has many lines."""
        if self._ignores_input:
            return
        if data and self._unparsed:
            self._unparsed, self._parsed = self._unparsed[self._parsed :] + data, 0
        elif len(data) <= MAX_LINES_PART_BYTES or (self._turns.has_room(len(data)) and not self._is_dense(data)):
            self.parse(data)
        else:
            self._unparsed, self._parsed = data, 0
            self.pause_transport()
            self._take_turn()

    def pause_writing(self) -> None:
        """Watch the progress of a client that receives slower than the server sends."""
        super().pause_writing()
        if self.transport is not None:
            self._progress.start(self.transport)

    def resume_writing(self) -> None:
        """Continue to send."""
        self._progress.stop()
        super().resume_writing()

    def before_answer(self, request: web.BaseRequest) -> None:
        """Note that the client has authenticated a request."""
        if not self._is_authenticated and is_authenticated(request):
            self.become_authenticated()

    async def after_early_answer(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        """Leave the rest of the body unparsed if the answer ends the connection."""
        if not response.keep_alive:
            self._ignores_input = True
            self._unparsed = b""
            request.content.feed_eof()
            self.resume_transport()
            await asyncio.sleep(LINGER_SECONDS)

    async def refuse(self, error: HttpProcessingError) -> None:
        """Answer a malformed request. Wait: closing the connection while the client still sends would lose the answer."""
        if self.transport is not None:
            self.transport.write(_refusal(error))
            await asyncio.sleep(LINGER_SECONDS)

    def close_after_answer(self) -> None:
        """End the connection with the next answer."""
        self.closes_after_answer = True

    def is_idle(self) -> bool:
        """Return whether every received byte has been answered, those in the kernel's buffer included."""
        return self.awaits_request and not self._unparsed and self.requests.between_requests and not has_unread(self.transport)

    def end(self) -> None:
        """Close the connection after the answer to the current request, or immediately without one."""
        self.closes_after_answer = True
        request = self.current
        if self.is_idle():
            self.force_close()
        elif request is None or has_begun(request) or request.content.is_eof():
            self.close()

    def _on_head_timeout(self) -> None:
        if self.awaits_request:
            self.force_close()
        else:
            self.close()

    def _close_unless_authenticated(self) -> None:
        if self.current is not None and is_authenticated(self.current):
            self.become_authenticated()
        elif self.transport is not None:
            self.transport.abort()

    def _is_dense(self, data: bytes, start: int = 0, end: int | None = None) -> bool:
        """Return whether a part of data has so many lines that parsing it takes long."""
        return not self.requests.in_sized_body and data.count(b"\n", start, end) > MAX_LINES_AT_ONCE

    def _part_end(self, data: bytes, start: int) -> int:
        """Return the end of the data that is parsed at once: all of a body of declared length, else less if there are many lines."""
        if self.requests.in_sized_body:
            return len(data)
        return start + (MAX_LINES_PART_BYTES if self._is_dense(data, start, start + _SEARCHED) else _SEARCHED)

    def _parse_part(self) -> None:
        """Parse a part of the data that waits."""
        self._has_turn = False
        data, start = self._unparsed, self._parsed
        if not data or self.is_held:
            return
        self._parsed = end = self._part_end(data, start)
        if end >= len(data):
            self._unparsed = b""
        self.parse(data[start:end])
        if self._unparsed:
            self._take_turn()
        elif not self.is_held:
            super().resume_transport()

    def parse(self, data: bytes) -> None:
        """Parse data, unless the connection takes no further request."""
        super().parse(data)
        if self.requests.in_chunked_body and not self.is_held:
            # aiohttp's parser keeps what follows a chunk at whose end it was paused, although its reader has caught up
            super().parse(b"")
        failure = self.requests.failure
        if failure is not None:
            # its frames refer to the connection, and would keep its memory until a collection
            without_frames(failure)

    def _take_turn(self) -> None:
        if not self._has_turn:
            self._has_turn = True
            self._turns.take(self._parse_part)

    def resume_transport(self) -> None:
        """Receive data again, after what waits is parsed."""
        if self._unparsed:
            self._take_turn()
        else:
            super().resume_transport()


class Request(web.BaseRequest):
    """A request whose answer ends the connection if the server drains, or if much of the body is not received."""

    # aiohttp computes these at their first use, through a cache, which costs more than all of them here
    __slots__ = ("_asks_to_close", "_attached", "content", "headers", "method", "raw_headers", "raw_path", "rel_url", "version", "writer")
    _attached: dict[Any, Any]
    content: StreamReader
    headers: CIMultiDictProxy[str]
    method: str
    raw_headers: RawHeaders
    raw_path: str
    rel_url: URL
    version: HttpVersion
    writer: AbstractStreamWriter

    def __init__(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        payload_writer: AbstractStreamWriter,
        task: asyncio.Task[None],
        loop: asyncio.AbstractEventLoop,
        *,
        state: dict[Any, Any] | None = None,
    ) -> None:
        state = {} if state is None else state
        super().__init__(message, payload, protocol, payload_writer, task, loop, client_max_size=MAX_BODY_BYTES, state=state)
        self._attached = state
        self.get = state.get  # type: ignore[method-assign]
        self._asks_to_close = message.should_close
        self.content = payload
        self.headers = message.headers
        self.method = message.method
        self.raw_headers = message.raw_headers
        is_absolute = message.url.absolute
        self.raw_path = super().raw_path if is_absolute else message.path
        self.rel_url = super().rel_url if is_absolute else message.url
        self.version = message.version
        self.writer = payload_writer

    # aiohttp checks each key, and inherits the others from Mapping, which raises and catches an exception for each absent key.

    def __setitem__(self, key: Any, value: Any) -> None:
        """Attach a value under a key."""
        self._attached[key] = value

    def __contains__(self, key: object) -> bool:
        """Return whether a value is attached under a key."""
        return key in self._attached

    @property
    def keep_alive(self) -> bool:
        """Return whether the connection stays open after the answer."""
        if cast("HTTPConnection", self.protocol).closes_after_answer or self._asks_to_close:
            return False
        return self.content.is_eof() or (hdrs.EXPECT not in self.headers and (self.content_length or math.inf) <= MAX_DRAINED_BYTES)


def _refusal(error: HttpProcessingError) -> bytes:
    """Return the answer to a malformed request in the form of Go's net/http."""
    status, text = refusal_text(error)
    kind = "Content-Type: text/plain; charset=utf-8\r\n" if text else ""
    phrase = HTTPStatus(status).phrase
    return f"HTTP/1.1 {status} {phrase}\r\n{kind}Content-Length: {len(text.encode())}\r\nConnection: close\r\n\r\n{text}".encode()

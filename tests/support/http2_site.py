"""An HTTP/2 server on a plain socket, and clients made with `h2`: an implementation that shares nothing with the server."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from aiohttp import web
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    DataReceived,
    InformationalResponseReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
)

from apiext.api.endpoints.request import USER
from apiext.api.endpoints.responsewriters.response import AbortedResponse, Piece, Reply, ResponseStream
from apiext.base.http2 import frames
from apiext.base.meta.request import AUTHENTICATED, UserInfo
from apiext.base.scheduling.parse_turns import parse_turns
from apiext.server.http.acceptor import Acceptor
from apiext.server.http.http2.connection import Http2Connection
from apiext.server.http.server import HTTPServer, listen
from apiext.server.http.unauthenticated import UnauthenticatedConnection
from apiext.server.options.options import Http2Options

TIMEOUT = 30.0
"""Seconds of patience."""


@dataclass
class Answer:
    """What a client has received on a stream."""

    status: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    continued: bool = False
    is_complete: bool = False
    reset: int | None = None


class Goaway(NamedTuple):
    """A GOAWAY frame."""

    last_stream_id: int
    error_code: int
    text: str


class Client:
    """A client's side of a connection. It grants what it receives, except on the streams in `held`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.h2 = H2Connection(H2Configuration(header_encoding="utf-8", validate_outbound_headers=False, normalize_outbound_headers=False))
        self.answers: dict[int, Answer] = {}
        self.held: set[int] = set()
        self.goaway: Goaway | None = None
        self._partial = b""
        self.is_closed = False
        self.h2.initiate_connection()
        self.flush()

    def flush(self) -> None:
        """Send what the library has to send."""
        self._writer.write(self.h2.data_to_send())

    async def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._writer.write(data)
        await self._writer.drain()

    def request(self, path: str, method: str = "GET", *fields: tuple[str, str], ends: bool = True) -> int:
        """Begin a request. Return its stream."""
        head = [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path), *fields]
        return self.begin(head, ends=ends)

    def begin(self, head: list[tuple[str, str]], *, ends: bool = True) -> int:
        """Send a head as it is. Return its stream."""
        stream_id = self.h2.get_next_available_stream_id()
        self.answers[stream_id] = Answer()
        self.h2.send_headers(stream_id, head, end_stream=ends)
        self.flush()
        return stream_id

    async def upload(self, stream_id: int, body: bytes, *, ends: bool = True) -> None:
        """Send a body within the server's windows."""
        while body:
            window = min(self.h2.local_flow_control_window(stream_id), self.h2.max_outbound_frame_size)
            if window <= 0:
                await self.receive()
                continue
            part, body = body[:window], body[window:]
            self.h2.send_data(stream_id, part)
            self.flush()
        if ends:
            self.h2.end_stream(stream_id)
            self.flush()

    async def receive(self) -> None:
        """Process what the server sends next."""
        try:
            async with asyncio.timeout(TIMEOUT):
                data = await self._reader.read(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            self.is_closed = True
            return
        for event in self.h2.receive_data(self._without_goaway(data)):
            stream_id = getattr(event, "stream_id", None)
            answer = self.answers.get(stream_id) if stream_id else None
            if answer is not None and stream_id is not None:
                self._note(answer, stream_id, event)
        self.flush()

    def _without_goaway(self, data: bytes) -> bytes:
        """Return complete frames without GOAWAY, after which the library would take the connection for closed."""
        self._partial += data
        kept = b""
        while len(self._partial) >= frames.HEADER_BYTES:
            number = frames.unpack_header(self._partial)[0]
            end = frames.HEADER_BYTES + (number >> 8)
            if len(self._partial) < end:
                break
            frame, self._partial = self._partial[:end], self._partial[end:]
            if number & 0xFF == frames.GOAWAY:
                self.goaway = Goaway(*frames.read_goaway(frame[frames.HEADER_BYTES :]))
            else:
                kept += frame
        return kept

    def _note(self, answer: Answer, stream_id: int, event: object) -> None:
        match event:
            case ResponseReceived(headers=headers):
                answer.headers = dict(cast("list[tuple[str, str]]", headers))
                answer.status = answer.headers.pop(":status")
            case InformationalResponseReceived():
                answer.continued = True
            case DataReceived(data=data, flow_controlled_length=size):
                answer.body += data or b""
                if stream_id not in self.held:
                    self.h2.acknowledge_received_data(size or 0, stream_id)
            case StreamEnded():
                answer.is_complete = True
            case StreamReset(error_code=code):
                answer.reset = int(code or 0)

    async def answer(self, stream_id: int) -> Answer:
        """Return the answer on a stream, once it is complete or reset."""
        answer = self.answers[stream_id]
        while not (answer.is_complete or answer.reset is not None):
            assert not self.is_closed, "the server has closed the connection"
            await self.receive()
        return answer

    async def end(self) -> Goaway | None:
        """Return the last GOAWAY, once the server has closed the connection."""
        while not self.is_closed:
            await self.receive()
        return self.goaway

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()


@dataclass
class Site:
    """An HTTP/2 server whose handler answers with the request's method, path and body."""

    server: "PlainHttp2"
    listener: socket.socket
    seen: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    """What requests for /wait wait for."""
    large: bytes = b""
    """The body of answers to /large."""
    clients: list[Client] = field(default_factory=list)

    async def connect(self) -> Client:
        """Open a connection."""
        host, port = self.listener.getsockname()[:2]
        self.clients.append(Client(*await asyncio.open_connection(host, port)))
        return self.clients[-1]

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request."""
        self.seen.append(request.path)
        try:
            return await self._answer(request)
        except asyncio.CancelledError:
            self.cancelled.append(request.path)
            raise

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/fails":
            raise ZeroDivisionError("a secret of the server")
        if request.path == "/aborted":
            return AbortedResponse()
        if request.path.startswith("/ann"):
            request[USER] = UserInfo("ann", groups=(AUTHENTICATED,))
        if request.path == "/refused":
            return Reply(b"refused", status=403)
        if request.path == "/large":
            return Reply(self.large)
        if request.path == "/plain":
            return web.Response(text="aiohttp's")
        if request.path == "/stream":
            return await self._stream(request)
        body = await request.read()
        if "/wait" in request.path:
            await self.gate.wait()
        return Reply(f"{request.method} {request.rel_url.raw_path} ".encode() + body, headers={"X-Host": request.headers["host"]})

    async def _stream(self, request: web.BaseRequest) -> web.StreamResponse:
        stream = ResponseStream()
        await stream.prepare(request)
        await stream.write(b"one ")
        await stream.write_shared(Piece(b"two "))
        await self.gate.wait()
        await stream.write(b"three")
        return stream


class PlainHttp2(HTTPServer):
    """Takes each connection for one of HTTP/2."""

    options = Http2Options()

    def connection(self, place: UnauthenticatedConnection) -> asyncio.Protocol:
        """See HTTPServer."""
        return Http2Connection(self, place, parse_turns(asyncio.get_running_loop()), self.options)


@asynccontextmanager
async def open_site() -> AsyncIterator[Site]:
    """Yield a running server."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        return await site.handle(request)

    site = Site(PlainHttp2(handle, None), listen("127.0.0.1", 0))
    acceptor = Acceptor(site.listener, site.server, None)
    yield site
    for client in site.clients:
        client.close()
    acceptor.close()
    await site.server.shutdown(1)

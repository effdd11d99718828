"""The HTTP server: aiohttp's low-level one, with what a connection's client certificate says."""

from __future__ import annotations

import asyncio
import select
from typing import TYPE_CHECKING, Any, Final, cast

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import HttpRequestParser
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler

from apiext.endpoints.request import PEER, Handler
from apiext.endpoints.responsewriters.response import Refusal, has_begun
from apiext.server.http.requesthead import RefusedError
from apiext.server.http.requestparser import RequestParser, UnansweredError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aiohttp.abc import AbstractStreamWriter
    from aiohttp.http_parser import RawRequestMessage

    from apiext.meta.request import Peer
    from apiext.server.tls.dynamic_tls import Entrance

MAX_BODY: Final = 3 * 1024 * 1024
"""As the reference's limit of a request's body."""
_MAX_HEADER: Final = 1024 * 1024
"""As Go's DefaultMaxHeaderBytes, for a line and for a field."""
_MAX_HEADERS: Final = 1000
"""What is above goes the way of odd requests."""
_LINGER: Final = 2.0
"""Seconds to go on reading a body that was refused, so that the client gets to see the answer."""
_KEEP_ALIVE: Final = 180.0
"""Seconds after which a silent connection is closed; the reference waits three minutes, too."""
_LATE: Final = 1.0
"""Seconds that a connection is kept that began while the server goes away: a handshake for each request would cost too much."""


class _Connection(RequestHandler):
    """A connection that takes the requests that the reference takes, and refuses others in its words."""

    def __init__(self, manager: web.Server, *, loop: asyncio.AbstractEventLoop, **settings: Any) -> None:
        super().__init__(manager, loop=loop, **settings)
        self._requests = RequestParser(self._make_parser, self._make_reader)
        self._parser = cast("Any", self._requests)
        self.is_last = False
        """Whether the next answer ends the connection, and says so."""

    def _make_parser(self) -> Any:
        return HttpRequestParser(
            self,
            self._loop,
            self._read_bufsize,
            max_line_size=_MAX_HEADER,
            max_field_size=_MAX_HEADER,
            max_headers=_MAX_HEADERS,
            payload_exception=web.RequestPayloadError,
            auto_decompress=False,
        )

    def _make_reader(self) -> StreamReader:
        return StreamReader(self, self._read_bufsize, loop=self._loop)

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """The answer to what never reached a handler; the connection ends with it."""
        if isinstance(exc, HttpProcessingError):
            return Refusal(exc.refusal.answer if isinstance(exc, UnansweredError) else RefusedError().answer)
        return super().handle_error(request, status, exc, message)

    def make_last(self) -> None:
        """Have the next answer end the connection."""
        self.is_last = True

    def is_idle(self) -> bool:
        """Whether nothing of a request has come that has not been answered, not even to the kernel."""
        waits = self._waiter is not None and not self._waiter.done() and not self._messages and self._requests.between
        return waits and not _has_unread(self.transport)

    def end(self) -> None:
        """Close the connection; a request that it is at is answered before."""
        self.is_last = True
        request = self._current_request
        if self.is_idle():
            self.force_close()
        elif request is None or has_begun(request) or request.content.is_eof():
            self.close()


class _Request(web.BaseRequest):
    """A request that knows when its connection is to end."""

    _protocol: _Connection

    @property
    def keep_alive(self) -> bool:
        """Whether the connection goes on after the answer."""
        return not (self._message.should_close or self._protocol.is_last)


class HTTPServer(web.Server):
    """Serves a handler; each request carries what is known of its connection's peer.

    A request whose client goes away is cancelled.
    """

    def __init__(self, handler: Handler, entrance: Entrance) -> None:
        super().__init__(
            handler,
            request_factory=self._request,
            handler_cancellation=True,
            access_log=None,
            auto_decompress=False,
            keepalive_timeout=_KEEP_ALIVE,
            lingering_time=_LINGER,
            max_line_size=_MAX_HEADER,
            max_field_size=_MAX_HEADER,
            max_headers=_MAX_HEADERS,
        )
        self._entrance = entrance
        entrance.subscribe(self._trust_changed)
        self._running_loop = asyncio.get_running_loop()
        self._peers: dict[RequestHandler, Peer] = {}
        self._leaving = False
        self._judging: set[asyncio.Task[None]] = set()

    def __call__(self) -> RequestHandler:
        """A new connection."""
        return _Connection(self, loop=self._running_loop, **self._kwargs)

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        """Read the client certificate once for all requests of the connection."""
        super().connection_made(handler, transport)
        if self._leaving:
            self._running_loop.call_later(_LATE, cast("_Connection", handler).make_last)
        certificate, der = _shown(transport)
        if not certificate:
            return
        identification = self._entrance.identification
        peer = identification.identify(certificate, der)
        if self._entrance.is_current(transport) or identification.keeps(peer, certificate, der):
            self._peers[handler] = peer
        else:
            transport.close()

    def connection_lost(self, handler: RequestHandler, exc: BaseException | None = None) -> None:
        """Forget the connection."""
        self._peers.pop(handler, None)
        super().connection_lost(handler, exc)

    def leave(self) -> None:
        """Have each connection end with its next answer, from now on; one that begins now has a moment more.

        A client that has been answered like that knows that the connection ends, and sends nothing into its end.
        """
        self._leaving = True
        for handler in self.connections:
            cast("_Connection", handler).make_last()

    def close_idle(self) -> int:
        """Close the connections on which nothing is asked for. Returns how many go on."""
        busy = [handler for handler, transport in self._connections.items() if not transport.is_closing()]
        idle = [handler for handler in busy if cast("_Connection", handler).is_idle()]
        for handler in idle:
            handler.force_close()
        return len(busy) - len(idle)

    def has_unsent(self) -> bool:
        """Whether a part of an answer is still on its way to the kernel."""
        return any(transport.get_write_buffer_size() for transport in self._connections.values())

    def _trust_changed(self) -> None:
        task = self._running_loop.create_task(self._judge_anew())
        self._judging.add(task)
        task.add_done_callback(self._judging.discard)

    async def _judge_anew(self) -> None:
        """End the connections whose certificates are not worth any more what they were; their clients may come again."""
        open_now = [(handler, peer, _shown(handler.transport)) for handler, peer in self._peers.items()]
        keeps = self._entrance.identification.keeps
        lost = await asyncio.to_thread(lambda: [handler for handler, peer, (said, der) in open_now if der and not keeps(peer, said, der)])
        for handler in lost:
            if isinstance(handler, _Connection):
                handler.end()

    def _request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        peer = self._peers.get(protocol)
        return _Request(
            message,
            payload,
            protocol,
            writer,
            task,
            self._running_loop,
            client_max_size=MAX_BODY,
            state={} if peer is None else {PEER: peer},
        )


def _has_unread(transport: asyncio.BaseTransport | None) -> bool:
    """Whether the kernel has something of the peer's that nobody has taken."""
    if transport is None or transport.is_closing():
        return False
    poll = select.poll()
    poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
    return bool(poll.poll(0))


def _shown(transport: asyncio.BaseTransport | None) -> tuple[Mapping[str, Any], bytes]:
    """The client certificate of a connection, and its bytes; both are empty where there is none."""
    tls = transport.get_extra_info("ssl_object") if transport is not None else None
    if tls is None or not (certificate := tls.getpeercert()):
        return {}, b""
    return certificate, tls.getpeercert(binary_form=True)

"""Answers the requests of a connection in the connection's own task.

aiohttp parses requests, frames WebSockets and formats some responses. Its own request loop starts a task for each request, which takes 6 %
of the time of a small one, and shares its state only through private attributes. This loop has its own state, and uses public names only.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, cast

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader
from aiohttp.web_protocol import RequestHandler

from apiext.api.endpoints.responsewriters.response import ResponseWriter
from apiext.base.meta.limits import MAX_PIPELINED_REQUESTS
from apiext.server.http.transports import IdleWatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiohttp.http_parser import RawRequestMessage
    from aiohttp.http_websocket import WebSocketReader

    from apiext.server.http.request_parser import RequestParser

BODY_BUFFER: Final = 64 * 1024
"""Bytes of a body, or after a request for another protocol, that are received ahead of their reader."""
_DRAIN_TIMEOUT: Final = 2.0
"""Seconds to receive the rest of a small refused body, so that the connection can be used again."""
_ANSWERED: Final = web.PayloadAccessError("the request is answered")


class RequestLoop(RequestHandler):
    """A connection that answers one request after the other. A subclass decides when received data is parsed."""

    requests: RequestParser

    def __init__(self, server: web.Server, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(server, loop=loop, access_log=cast("Any", None), keepalive_timeout=0)
        self._server = server
        self._clock = loop
        self._queue: deque[tuple[RawRequestMessage | HttpProcessingError, StreamReader]] = deque()
        """What is parsed and not yet answered; the error of a malformed request is the last one."""
        self._arrival: asyncio.Future[None] | None = None
        """What the loop waits for while there is no request."""
        self.current: web.BaseRequest | None = None
        """The request whose handler runs."""
        self.is_ending = False
        """Whether the connection takes no further request."""
        self._is_gone = False
        self._is_body_full = False
        self._is_queue_full = False
        self._asks_to_switch = False
        """Whether the last request in the queue, or the current one, asks for another protocol. Data after it waits in `_rest`."""
        self._is_switched = False
        """Whether aiohttp reads another protocol."""
        self._rest = b""
        self._idle = IdleWatch()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the loop."""
        super().connection_made(transport)
        self._idle.start(self._clock, self)

    def connection_lost(self, exc: BaseException | None) -> None:
        """End the loop, and the handler of a request with it."""
        self._idle.stop()
        super().connection_lost(exc)

    def close(self) -> None:
        """Take no further request, and close the connection when the current one is answered."""
        self.is_ending = True
        super().close()
        self._wake()

    def force_close(self) -> None:
        """Close the connection."""
        self._is_gone = True
        super().force_close()
        self._wake()

    @property
    def awaits_request(self) -> bool:
        """Return whether every parsed request is answered, and the rest of its body received."""
        return self._arrival is not None and not self._arrival.done() and not self._queue

    @property
    def is_held(self) -> bool:
        """Return whether the reader of a body or a handler is behind."""
        return self._is_body_full or self._is_queue_full

    def before_answer(self, request: web.BaseRequest) -> None:
        """Do something with a handled request before its answer is sent."""

    async def after_early_answer(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        """Do something after an answer that was sent before the body was received."""

    async def refuse(self, error: HttpProcessingError) -> None:
        """Answer a malformed request, after which the connection is closed."""

    def data_received(self, data: bytes) -> None:
        """Parse data at once."""
        self.parse(data)

    def parse(self, data: bytes) -> None:
        """Parse data, unless the connection takes no further request."""
        if self._is_gone or self.is_ending:
            return
        if self._is_switched:
            super().data_received(data)
        elif self._asks_to_switch:
            self._rest += data
            if len(self._rest) >= BODY_BUFFER:
                self._is_queue_full = True
                self.pause_transport()
        else:
            self._enqueue(data)

    def _enqueue(self, data: bytes) -> None:
        try:
            messages, self._asks_to_switch, self._rest = self.requests.feed_data(data)
        except HttpProcessingError as error:
            self._queue.append((error, EMPTY_PAYLOAD))
        else:
            if not messages:
                return
            self._queue.extend(messages)
        self._wake()
        if len(self._queue) >= MAX_PIPELINED_REQUESTS and not self._is_queue_full:
            self._is_queue_full = True
            self.pause_transport()

    def set_parser(self, parser: WebSocketReader, data_received_cb: Callable[[], None] | None = None) -> None:
        """Let aiohttp read another protocol from now on."""
        super().set_parser(parser, data_received_cb)
        self._is_switched, self._asks_to_switch = True, False
        rest, self._rest = self._rest, b""
        super().data_received(rest)
        self._go_on()

    def pause_reading(self) -> None:
        """Receive no more of a body until its reader catches up."""
        if self._is_switched:
            super().pause_reading()
            return
        self._is_body_full = True
        self.requests.pause_reading()
        self.pause_transport()

    def resume_reading(self, resume_parser: bool = True) -> None:  # noqa: FBT001, FBT002 -- aiohttp's signature
        """Continue to receive a body after its reader caught up. aiohttp calls this for each chunk, paused or not."""
        if self._is_switched:
            super().resume_reading(resume_parser)
        elif self._is_body_full:
            self._is_body_full = False
            if resume_parser:
                self.data_received(b"")
            if not self.is_held:
                self.resume_transport()

    def pause_transport(self) -> None:
        """Leave further data to the kernel."""
        if self.transport is not None:
            with suppress(RuntimeError):
                # it is closing
                self.transport.pause_reading()

    def resume_transport(self) -> None:
        """Receive data again."""
        if self.transport is not None:
            with suppress(RuntimeError):
                self.transport.resume_reading()

    async def start(self) -> None:
        """Answer requests until the connection ends."""
        while not self._is_gone:
            if not self._queue:
                # wait until there is a request, or the connection is closed
                self._arrival = self._clock.create_future()
                try:
                    await self._arrival
                finally:
                    self._arrival = None
                if not self._queue:
                    break
            message, payload = self._queue.popleft()
            self._take_message()
            try:
                if not await self._answer(message, payload):
                    break
            except Exception as error:  # noqa: BLE001
                self.log_exception("Unhandled exception", exc_info=error)
                self.force_close()
            except BaseException:
                self.force_close()
                raise
            if self.is_ending or self._is_gone:
                break
            self._idle.start(self._clock, self)
        if self.transport is not None:
            self.transport.close()

    def _wake(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)

    def _take_message(self) -> None:
        """Let the parser continue if it has waited for room in the queue."""
        self.requests.message_consumed()
        if self._is_queue_full and not self._asks_to_switch:
            self.data_received(b"")
            if len(self._queue) < MAX_PIPELINED_REQUESTS:
                self._go_on()

    def _go_on(self) -> None:
        """Receive data again if only the queue was full."""
        if self._is_queue_full:
            self._is_queue_full = False
            if not self._is_body_full:
                self.resume_transport()

    async def _answer(self, message: RawRequestMessage | HttpProcessingError, payload: StreamReader) -> bool:
        """Answer a request, and receive the rest of its body. Return whether the connection can be used again."""
        self._server.requests_count += 1
        if isinstance(message, HttpProcessingError):
            await self.refuse(message)
            return False
        # without its task, which refers to it, its memory is free at once
        no_task = cast("asyncio.Task[None]", None)
        request = self._server.request_factory(message, payload, self, ResponseWriter(self, self._clock), no_task)
        self.current = request
        try:
            try:
                response = await self._server.request_handler(request)
            except Exception as error:  # noqa: BLE001
                response = self.handle_error(request, 500, error)
            finally:
                self.current = None
            self.before_answer(request)
            await response.prepare(request)
            await response.write_eof()
            if not payload.is_eof():
                await self.after_early_answer(request, response)
        except ConnectionError:
            return False
        if not payload.is_eof():
            await self._receive_rest(payload)
        payload.set_exception(_ANSWERED)
        if self._asks_to_switch and not self._queue:
            self._stay()
        return bool(response.keep_alive)

    def _stay(self) -> None:
        """Parse what follows a request whose handler did not switch to another protocol."""
        self.requests.set_upgraded(False)
        self._asks_to_switch = False
        rest, self._rest = self._rest, b""
        self.parse(rest)
        if len(self._queue) < MAX_PIPELINED_REQUESTS:
            self._go_on()

    async def _receive_rest(self, payload: StreamReader) -> None:
        """Ignore the rest of a body, so that the connection can be used again; close it if the rest takes too long."""
        try:
            async with asyncio.timeout(_DRAIN_TIMEOUT):
                while not payload.is_eof() and not self._is_gone:
                    await payload.readany()
        except TimeoutError:
            self.close()

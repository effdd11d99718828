"""Answers the requests of a connection in the connection's own task."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from aiohttp.web_protocol import _PAYLOAD_ACCESS_ERROR, ERROR, RequestHandler, _ErrInfo

from apiext.server.http.response_writer import ResponseWriter

if TYPE_CHECKING:
    from aiohttp import web
    from aiohttp.http_parser import RawRequestMessage
    from aiohttp.streams import StreamReader

    from apiext.endpoints.request import Handler


class RequestLoop(RequestHandler):
    """A connection that answers one request after the other.

    aiohttp's own loop starts a task for each request, which takes a twentieth of the time of a small one. Its other methods are used as
    they are.
    """

    async def start(self) -> None:
        """Answer requests until the connection ends."""
        while not self._force_close:
            if not self._messages:
                await self._next_message()
            message, payload = self._messages.popleft()
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
            if not self._keepalive or self._close or self._force_close:
                break
            self._wait_idly()
        if not self._force_close:
            self._task_handler = None
            if self.transport is not None:
                self.transport.close()

    def before_answer(self, request: web.BaseRequest) -> None:
        """Do something with a handled request before its answer is sent."""

    async def after_early_answer(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        """Do something after an answer that was sent before the body was received."""

    async def _next_message(self) -> None:
        """Wait until there is a message. Raise CancelledError if the connection is closed before."""
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _take_message(self) -> None:
        """Let the parser continue if it has waited for room among the parsed messages."""
        if self._parser is not None:
            self._parser.message_consumed()
        if self._buffer_paused and len(self._messages) <= self._msg_queue_resume_size:
            self._resume_reading_if_drained()

    def _wait_idly(self) -> None:
        """Start the timer of a connection without requests; it looks again if there were some since."""
        self._next_keepalive_close_time = close_time = self._loop.time() + self._keepalive_timeout
        if self._keepalive_handle is None:
            self._keepalive_handle = self._loop.call_at(close_time, self._process_keepalive)

    async def _answer(self, message: RawRequestMessage | _ErrInfo, payload: StreamReader) -> bool:
        """Answer a request, and receive the rest of its body. Return False if the client is gone."""
        request, handler = self._begin(message, payload)
        self._request_in_progress, self._current_request = True, request
        try:
            try:
                response = await handler(request)
            except Exception as error:  # noqa: BLE001
                response = self.handle_error(request, 500, error)
            finally:
                self._current_request = None
            self.before_answer(request)
            if self._upgraded:
                _, is_lost = await self.finish_response(request, response, None)
                if is_lost:
                    return False
            else:
                await response.prepare(request)
                await response.write_eof()
            if not payload.is_eof():
                await self.after_early_answer(request, response)
        except ConnectionError:
            return False
        finally:
            cast("Any", request)._task = None  # noqa: SLF001  # without cycles its memory is free at once
            self._request_in_progress = False
            if self._handler_waiter is not None:
                self._handler_waiter.set_result(None)
        self._keepalive = bool(response.keep_alive)
        if not payload.is_eof():
            await self._receive_rest(payload)
        payload.set_exception(_PAYLOAD_ACCESS_ERROR)
        return True

    def _begin(self, message: RawRequestMessage | _ErrInfo, payload: StreamReader) -> tuple[web.BaseRequest, Handler]:
        """Return a request and its handler."""
        handler, make = cast("Handler", self._request_handler), cast("Any", self._request_factory)
        cast("web.Server", self._manager).requests_count += 1
        if isinstance(message, _ErrInfo):
            handler, message = self._make_error_handler(message), ERROR
        return make(message, payload, self, ResponseWriter(self, self._loop), self._task_handler), handler

    async def _receive_rest(self, payload: StreamReader) -> None:
        """Ignore the rest of a body, so that the connection can be used again; close it if the rest takes too long."""
        try:
            async with asyncio.timeout(self._lingering_time):
                while not payload.is_eof() and not self._force_close:
                    await payload.readany()
        except TimeoutError:
            self.close()

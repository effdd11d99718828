"""A connection of the HTTP server: the answers to malformed requests, and the state that graceful shutdown needs."""

from __future__ import annotations

import asyncio
import select
from typing import Any, Final, cast

from aiohttp import web
from aiohttp.http_exceptions import BadHttpMessage, HttpProcessingError, LineTooLong
from aiohttp.http_parser import HttpRequestParser
from aiohttp.web_protocol import RequestHandler

from apiext.endpoints.responsewriters.response import RawResponse, has_begun
from apiext.server.http.request_parser import MAX_HEAD, MAX_LINE, ExpectationError, HeadTooLargeError, RequestParser, summary

_LINGER: Final = 2.0
"""Seconds to read the rest of a refused body, so that the client receives the answer."""
_REFUSAL_LINGER: Final = 0.5
"""Seconds until the connection of a malformed request is closed; Go's rstAvoidanceDelay."""
_IDLE_TIMEOUT: Final = 180.0
"""Seconds after which an idle connection is closed; as kube-apiserver. Clients close theirs earlier, which loses no request."""


class HTTPConnection(RequestHandler):
    """A connection whose requests pass RequestParser, and which can end after the current answer."""

    def __init__(self, server: web.Server, *, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(
            server,
            loop=loop,
            access_log=cast("Any", None),
            auto_decompress=False,
            keepalive_timeout=_IDLE_TIMEOUT,
            lingering_time=_LINGER,
            max_line_size=MAX_LINE,
            max_field_size=MAX_LINE,
            max_headers=MAX_HEAD,
        )
        parser = RequestParser(
            cast("HttpRequestParser", self._parser), on_timeout=self._on_head_timeout, on_broken_body=self.close_after_answer
        )
        self._requests = parser
        self._parser = cast("Any", parser)
        self.closes_after_answer = False
        """Whether the next answer carries `Connection: close` and ends the connection."""

    def connection_lost(self, exc: BaseException | None) -> None:
        """Stop the timer of an unfinished head."""
        self._requests.close()
        super().connection_lost(exc)

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Return the answer to a request that reached no handler; it ends the connection."""
        if isinstance(exc, HttpProcessingError):
            return _LingeringRefusal(_refusal(exc))
        return super().handle_error(request, status, exc, message)

    def close_after_answer(self) -> None:
        """End the connection with the next answer."""
        self.closes_after_answer = True

    def is_idle(self) -> bool:
        """Return whether every received byte has been answered, those in the kernel's buffer included."""
        return self._awaits_request() and self._requests.between_requests and not _has_unread(self.transport)

    def end(self) -> None:
        """Close the connection after the answer to the current request, or immediately without one."""
        self.closes_after_answer = True
        request = self._current_request
        if self.is_idle():
            self.force_close()
        elif request is None or has_begun(request) or request.content.is_eof():
            self.close()

    def _on_head_timeout(self) -> None:
        if self._awaits_request():
            self.force_close()
        else:
            self.close()

    def _awaits_request(self) -> bool:
        """Return whether aiohttp's task waits for the next complete head."""
        return self._waiter is not None and not self._waiter.done() and not self._messages


class Request(web.BaseRequest):
    """A request that takes `close_after_answer` of its connection into account."""

    @property
    def keep_alive(self) -> bool:
        """Return whether the connection stays open after the answer."""
        return super().keep_alive and not cast("HTTPConnection", self.protocol).closes_after_answer


class _LingeringRefusal(RawResponse):
    """A RawResponse after which the connection stays open for a moment: closing it while the client still sends would lose the answer."""

    async def write_eof(self, data: bytes = b"") -> None:
        """Wait. The client's disconnection cancels this; later data is ignored."""
        await asyncio.sleep(_REFUSAL_LINGER)


def _refusal(error: HttpProcessingError) -> bytes:
    """Return the answer to a malformed request in the form of Go's net/http."""
    if isinstance(error, ExpectationError):
        return b"HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    status, reason = "400 Bad Request", summary(error)
    if isinstance(error, LineTooLong | HeadTooLargeError):
        status, reason = "431 Request Header Fields Too Large", ""
    elif not isinstance(error, BadHttpMessage):
        reason = ""
    text = f"{status}: {reason}" if reason else status
    body = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


def _has_unread(transport: asyncio.BaseTransport | None) -> bool:
    """Return whether the kernel holds received bytes that the event loop has not read."""
    if transport is None or transport.is_closing():
        return False
    poll = select.poll()
    poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
    return bool(poll.poll(0))

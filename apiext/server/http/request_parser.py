"""Limits for request heads, around aiohttp's request parser.

aiohttp limits a line. It limits neither the size of a whole head nor the time that a client takes to send it, and Go's net/http does
(MaxHeaderBytes, ReadHeaderTimeout).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Final, NamedTuple

from aiohttp import hdrs, web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_exceptions import BadHttpMessage, HttpProcessingError, LineTooLong
from aiohttp.http_parser import HttpRequestParser, RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader

from apiext.base.meta.limits import (
    MAX_HEAD_BYTES,
    MAX_HEAD_FIELDS,
    MAX_LINE_BYTES,
    MAX_PIPELINED_REQUESTS,
    MAX_PROXIED_HEAD_BYTES,
    MAX_PROXIED_HEAD_FIELDS,
)

HEAD_TIMEOUT: Final = 32.0
"""Seconds from the first byte of a head to its last; kube-apiserver's ReadHeaderTimeout."""

_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_NEWLINES: Final = b"\r\n"
_TOO_MANY_FIELDS: Final = "Too many headers received"
"""aiohttp's message."""
_Message = tuple[RawRequestMessage, StreamReader]
_Fed = tuple[Sequence[_Message], bool, bytes]
_NOTHING: Final[_Fed] = ((), False, b"")


class HeadTooLargeError(HttpProcessingError):
    """A head exceeds its HeadLimits."""

    code = 431
    message = "Request Header Fields Too Large"


class ExpectationError(HttpProcessingError):
    """An Expect header asks for something other than 100-continue."""

    code = 417
    message = "Expectation Failed"


class HeadLimits(NamedTuple):
    """Maxima of a head."""

    bytes: int
    fields: int


CLIENT: Final = HeadLimits(MAX_HEAD_BYTES, MAX_HEAD_FIELDS)
"""The limits of clients."""
FRONT_PROXY: Final = HeadLimits(MAX_PROXIED_HEAD_BYTES, MAX_PROXIED_HEAD_FIELDS)
"""The limits of front proxies, which send the groups of users."""


class RequestParser:
    """aiohttp's request parser with limits for the size and the duration of a head.

    Calls `on_timeout` when a head is not complete within HEAD_TIMEOUT, and `on_broken_body` when a body cannot be completed.
    """

    def __init__(
        self,
        connection: BaseProtocol,
        loop: asyncio.AbstractEventLoop,
        *,
        on_timeout: Callable[[], None],
        on_broken_body: Callable[[], None],
        buffer_size: int,
        limits: HeadLimits = CLIENT,
    ) -> None:
        parser = self._parser = HttpRequestParser(
            connection,
            loop,
            buffer_size,
            max_line_size=MAX_LINE_BYTES,
            max_field_size=MAX_LINE_BYTES,
            max_headers=limits.fields,
            payload_exception=web.RequestPayloadError,
            auto_decompress=False,
            max_msg_queue_size=MAX_PIPELINED_REQUESTS,
        )
        self._limits = limits
        self._on_timeout = on_timeout
        self._on_broken_body = on_broken_body
        self._body: StreamReader = EMPTY_PAYLOAD
        """The body of the latest request."""
        self._is_chunked = False
        """Whether this body is chunked."""
        self._size = 0
        """Bytes of a head that is not complete."""
        self._timer: asyncio.TimerHandle | None = None
        self.failure: HttpProcessingError | None = None
        """The error after which all data is ignored."""
        self.set_upgraded = parser.set_upgraded
        self.message_consumed = parser.message_consumed
        self.pause_reading = parser.pause_reading

    @property
    def between_requests(self) -> bool:
        """Return whether all bytes received so far belong to complete requests.

        The beginning of a head that arrives together with the end of another request does not count.
        """
        return not self._size and self.failure is None and self._body.is_eof()

    @property
    def in_sized_body(self) -> bool:
        """Return whether the next bytes belong to a body of a declared length."""
        return not self._is_chunked and not self._body.is_eof()

    @property
    def in_chunked_body(self) -> bool:
        """Return whether the next bytes belong to a body in chunks."""
        return self._is_chunked and not self._body.is_eof()

    def feed_data(self, data: bytes) -> _Fed:
        """Return the completed heads, whether the protocol changes, and the bytes after the change.

        Raises:
            HttpProcessingError: the data is malformed or exceeds a limit. All later data is ignored.
        """
        if self.failure is not None:
            return _NOTHING
        in_head = self._body.is_eof()
        try:
            fed: _Fed = self._parser.feed_data(data)
            if fed[0]:
                self._complete(fed[0], self._size + len(data) if in_head else 0)
            elif in_head and (self._size or data.strip(_NEWLINES)):
                self._begin(len(data))
        except HttpProcessingError as error:
            failure = HeadTooLargeError() if error.message == _TOO_MANY_FIELDS else error
            self._fail(failure)
            raise failure from None
        return fed

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _complete(self, messages: Sequence[_Message], received: int) -> None:
        latest, self._body = messages[-1]
        self._is_chunked, self._size = latest.chunked, 0
        self.close()
        for message, _ in messages:
            check_head(message)
        most = self._limits.bytes
        if received > most and any(_size(message) > most for message, _ in messages):
            raise HeadTooLargeError

    def _begin(self, received: int) -> None:
        self._size += received
        if self._size > self._limits.bytes:
            raise HeadTooLargeError
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(HEAD_TIMEOUT, self._on_timeout)

    def _fail(self, error: HttpProcessingError) -> None:
        self.failure = error
        self.close()
        if not self._body.is_eof():
            # aiohttp leaves the reader of the body waiting
            self._body.set_exception(web.RequestPayloadError(summary(error)))
            self._on_broken_body()


def summary(error: HttpProcessingError) -> str:
    """Return the first line of a parser's error; the others quote the request."""
    return error.message.partition("\n")[0].rstrip(":")


def refusal_text(error: HttpProcessingError) -> tuple[int, str]:
    """Return the status and the text of the answer to a malformed request, as Go's net/http has them."""
    if isinstance(error, ExpectationError):
        return HTTPStatus.EXPECTATION_FAILED, ""
    status, reason = HTTPStatus.BAD_REQUEST, summary(error)
    if isinstance(error, LineTooLong | HeadTooLargeError):
        status, reason = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, ""
    elif not isinstance(error, BadHttpMessage):
        reason = ""
    text = f"{status} {status.phrase}"
    return status, f"{text}: {reason}" if reason else text


def check_head(message: RawRequestMessage) -> None:
    """Refuse what Go's net/http refuses before any handler, and clients like curl can send.

    Raises:
        HttpProcessingError: the head is refused.
    """
    if "%" in message.path and _BAD_ESCAPE.search(message.path.partition("?")[0]):
        raise BadHttpMessage("")
    if message.method == hdrs.METH_CONNECT:
        raise BadHttpMessage("CONNECT is not supported")
    headers = message.headers
    if hdrs.EXPECT in headers and headers[hdrs.EXPECT].lower() != "100-continue":
        raise ExpectationError


def _size(message: RawRequestMessage) -> int:
    """Return the bytes of a head; blanks around values do not count."""
    line = len(message.method) + len(message.path) + len("  HTTP/1.1\r\n")
    return line + sum(len(name) + len(value) + len(": \r\n") for name, value in message.raw_headers) + len(_NEWLINES)

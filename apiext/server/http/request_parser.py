"""Limits for request heads, around aiohttp's request parser.

aiohttp limits a line. It limits neither the size of a whole head nor the time that a client takes to send it, and Go's net/http does
(MaxHeaderBytes, ReadHeaderTimeout).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import Final

from aiohttp import hdrs, web
from aiohttp.http_exceptions import BadHttpMessage, HttpProcessingError
from aiohttp.http_parser import HttpRequestParser, RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader

MAX_LINE: Final = 64 * 1024
"""Bytes of a line of a head. aiohttp enforces this limit."""
MAX_HEAD: Final = 256 * 1024
"""Bytes of a head."""
MAX_FIELDS: Final = 1000
"""Header fields of a request. The front proxy of a cluster sends one X-Remote-Group for each group."""
HEAD_TIMEOUT: Final = 32.0
"""Seconds from the first byte of a head to its last; kube-apiserver's ReadHeaderTimeout."""

_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_NEWLINES: Final = b"\r\n"
_Message = tuple[RawRequestMessage, StreamReader]
_Fed = tuple[Sequence[_Message], bool, bytes]
_NOTHING: Final[_Fed] = ((), False, b"")


class HeadTooLargeError(HttpProcessingError):
    """A head exceeds MAX_HEAD or MAX_FIELDS."""

    code = 431
    message = "Request Header Fields Too Large"


class ExpectationError(HttpProcessingError):
    """An Expect header asks for something other than 100-continue."""

    code = 417
    message = "Expectation Failed"


class RequestParser:
    """aiohttp's request parser with limits for the size and the duration of a head.

    Calls `on_timeout` when a head is not complete within HEAD_TIMEOUT, and `on_broken_body` when a body cannot be completed.
    """

    def __init__(self, parser: HttpRequestParser, *, on_timeout: Callable[[], None], on_broken_body: Callable[[], None]) -> None:
        self._parser = parser
        self._on_timeout = on_timeout
        self._on_broken_body = on_broken_body
        self._body: StreamReader = EMPTY_PAYLOAD
        """The body of the latest request."""
        self._size = 0
        """Bytes of a head that is not complete."""
        self._timer: asyncio.TimerHandle | None = None
        self._failed = False
        self.set_upgraded = parser.set_upgraded
        self.message_consumed = parser.message_consumed
        self.pause_reading = parser.pause_reading

    @property
    def between_requests(self) -> bool:
        """Return whether all bytes received so far belong to complete requests.

        The beginning of a head that arrives together with the end of another request does not count.
        """
        return not self._size and not self._failed and self._body.is_eof()

    def feed_data(self, data: bytes) -> _Fed:
        """Return the completed heads, whether the protocol changes, and the bytes after the change.

        Raises:
            HttpProcessingError: the data is malformed or exceeds a limit. All later data is ignored.
        """
        if self._failed:
            return _NOTHING
        in_head = self._body.is_eof()
        try:
            fed: _Fed = self._parser.feed_data(data)
            if fed[0]:
                self._complete(fed[0], self._size + len(data) if in_head else 0)
            elif in_head and (self._size or data.strip(_NEWLINES)):
                self._begin(len(data))
        except HttpProcessingError as error:
            self._fail(error)
            raise
        return fed

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _complete(self, messages: Sequence[_Message], received: int) -> None:
        self._body, self._size = messages[-1][1], 0
        self.close()
        for message, _ in messages:
            _check(message)
        if received > MAX_HEAD and any(_size(message) > MAX_HEAD for message, _ in messages):
            raise HeadTooLargeError

    def _begin(self, received: int) -> None:
        self._size += received
        if self._size > MAX_HEAD:
            raise HeadTooLargeError
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(HEAD_TIMEOUT, self._on_timeout)

    def _fail(self, error: HttpProcessingError) -> None:
        self._failed = True
        self.close()
        if not self._body.is_eof():
            # aiohttp leaves the reader of the body waiting
            self._body.set_exception(web.RequestPayloadError(summary(error)))
            self._on_broken_body()


def summary(error: HttpProcessingError) -> str:
    """Return the first line of a parser's error; the others quote the request."""
    return error.message.partition("\n")[0].rstrip(":")


def _check(message: RawRequestMessage) -> None:
    """Raise HttpProcessingError for what Go's net/http refuses before any handler, and clients like curl can send."""
    if "%" in message.path and _BAD_ESCAPE.search(message.path.partition("?")[0]):
        raise BadHttpMessage("")
    if message.method == hdrs.METH_CONNECT:
        raise BadHttpMessage("CONNECT is not supported")
    headers = message.headers
    if len(headers) > MAX_FIELDS:
        raise HeadTooLargeError
    if hdrs.EXPECT in headers and headers[hdrs.EXPECT].lower() != "100-continue":
        raise ExpectationError


def _size(message: RawRequestMessage) -> int:
    """Return the bytes of a head; blanks around values do not count."""
    line = len(message.method) + len(message.path) + len("  HTTP/1.1\r\n")
    return line + sum(len(name) + len(value) + len(": \r\n") for name, value in message.raw_headers) + len(_NEWLINES)

"""Requests from bytes: aiohttp's parser, and the reference's rules for what that does not take.

aiohttp knows a fixed set of methods and is strict where Go's net/http is not; a client must not notice. Its parser sees heads only, each
by itself: so where a request ends is decided here alone, and what is wrong with one does not touch those before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from aiohttp import hdrs, web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader
from aiohttp.web_protocol import _ErrInfo
from multidict import CIMultiDictProxy

from apiext.server.http.requestbody import Body, BrokenBodyError, ChunkedBody, SizedBody
from apiext.server.http.requesthead import (
    Head,
    RefusedError,
    check_handled,
    check_host,
    check_unfinished,
    end_of_head,
    read_head,
    request_url,
)

_Message = tuple[RawRequestMessage | _ErrInfo, StreamReader]
_Fed = tuple[Sequence[_Message], bool, bytes]
_Parsed = tuple[Sequence[tuple[RawRequestMessage, StreamReader]], bool, bytes]
_NOTHING: Final[_Parsed] = ((), False, b"")
_END: Final = b"\r\n\r\n"
_VERSION: Final = b" HTTP/1.1\r\n"
_NEWLINES: Final = b"\r\n"
_LAST_CONTROL: Final = 0x20
_FORGIVEN: Final = 4
"""Bytes of line ends that may stand between a POST and the next request."""
_LONGEST_LENGTH: Final = 18
"""Digits of a body's length that all parsers understand alike."""
_LONGEST_USUAL: Final = 4096
_AT_ONCE: Final = 32
"""Requests that are given out together; aiohttp asks for more when it has answered most of them."""


class Parser(Protocol):
    """What is needed of a parser of heads (aiohttp.http_parser.HttpRequestParser)."""

    def feed_data(self, data: bytes) -> Any:
        """Requests that end or begin in the data, whether the protocol changes, and what is left then."""
        ...

    def set_upgraded(self, val: bool) -> None:  # noqa: FBT001 -- aiohttp's signature
        """The change of protocol was declined."""
        ...


class UnansweredError(HttpProcessingError):
    """A request that is refused before any handler sees it."""

    def __init__(self, refusal: RefusedError) -> None:
        super().__init__(code=int(refusal.status[:3]), message=refusal.body)
        self.refusal = refusal


class RequestParser:
    """Takes what the reference takes, as aiohttp's connections want it.

    `make` makes a parser for one head after the other, `make_reader` what a body is read from.
    """

    def __init__(self, make: Callable[[], Parser], make_reader: Callable[[], StreamReader]) -> None:
        self._make = make
        self._make_reader = make_reader
        self._parser = make()
        self._between = True
        self._begun = bytearray()
        """A head that is not complete."""
        self._held = b""
        """What comes after as many requests as can be given out together."""
        self._body: Body | None = None
        self._forgiven = 0
        self._ended = False
        """Whether nothing more is read of the connection."""
        self._usual = b""
        """All but method and path of a head that was looked at closely; on one connection a client sends the same again and again."""

    @property
    def between(self) -> bool:
        """Whether nothing of a request is there that has not been given out."""
        return self._between

    def feed_data(self, data: bytes) -> _Fed:
        """Requests that begin in the data; one that is refused is the last. Whether the protocol changes, and what is left then."""
        # nearly every request comes in one piece of its own, and has no body
        if not (self._between and data.endswith(_END) and data.find(_END) + 4 == len(data) and data[0] > _LAST_CONTROL):
            return self._feed(data)
        try:
            fed: _Parsed = self._parser.feed_data(data)
        except HttpProcessingError:
            self._parser = self._make()
            return self._feed(data)
        for message, _ in fed[0]:
            if data[len(message.method) + len(message.path) + 1 :] == self._usual and _is_plain(message.path) and not fed[1]:
                self._forgiven = _FORGIVEN if message.method == hdrs.METH_POST else 0
                return fed
        found: list[_Message] = []
        upgraded = self._give(found, data, fed)
        self._between = self._body is None and not self._ended
        return found, upgraded, b""

    def feed_eof(self) -> None:
        """Nothing follows."""

    def message_consumed(self) -> None:
        """A request has been taken from the queue."""

    def pause_reading(self) -> None:
        """The body's reader is behind; it keeps what has been read of the connection until then."""

    def set_upgraded(self, val: bool) -> None:  # noqa: FBT001 -- aiohttp's signature
        """The change of protocol was declined."""
        self._parser.set_upgraded(val)

    def _feed(self, data: bytes) -> _Fed:
        data, self._held = self._held + data, b""
        found: list[_Message] = []
        at, upgraded = 0, False
        while at < len(data) and not self._ended and not upgraded:
            if self._body is not None:
                at = self._feed_body(self._body, data, at)
            elif len(found) == _AT_ONCE:
                self._held, at = data[at:], len(data)
            else:
                at, upgraded = self._feed_head(data, at, found)
        self._between = self._body is None and not (self._held or self._begun or self._ended)
        return found, upgraded, data[at:] if upgraded else b""

    def _feed_body(self, body: Body, data: bytes, at: int) -> int:
        try:
            at = body.feed(data, at)
        except BrokenBodyError as error:
            # whoever reads it is told, and nothing after it can be told from it
            self._ended = True
            body.reader.set_exception(web.RequestPayloadError(str(error)))
            body.reader.feed_eof()
        if body.ended:
            self._body = None
        return at

    def _feed_head(self, data: bytes, at: int, found: list[_Message]) -> tuple[int, bool]:
        """Where the rest starts, and whether that is of another protocol."""
        if not self._begun:
            while self._forgiven and at < len(data) and data[at] in _NEWLINES:
                at, self._forgiven = at + 1, self._forgiven - 1
            end = end_of_head(data, at)
            if end >= 0:
                return end, self._give(found, data[at:end])
        had = len(self._begun)
        self._begun += data[at:]
        end = end_of_head(self._begun, max(0, had - 3))
        if end < 0:
            self._give_nothing(found)
            return len(data), False
        head, self._begun = bytes(self._begun[:end]), bytearray()
        return at + end - had, self._give(found, head)

    def _give_nothing(self, found: list[_Message]) -> None:
        """See whether a head that is not complete can become one."""
        try:
            check_unfinished(self._begun)
        except RefusedError as refusal:
            self._refuse(found, refusal)

    def _give(self, found: list[_Message], head: bytes, fed: _Parsed | None = None) -> bool:
        """Give out the request of a head that aiohttp may have parsed, or its refusal; whether another protocol follows."""
        try:
            message, reader, upgraded = self._read(head, self._parsed(head) if fed is None else fed)
        except RefusedError as refusal:
            self._refuse(found, refusal)
            return False
        self._forgiven = _FORGIVEN if message.method == hdrs.METH_POST else 0
        found.append((message, reader))
        return upgraded

    def _refuse(self, found: list[_Message], refusal: RefusedError) -> None:
        self._ended, self._begun = True, bytearray()
        error = UnansweredError(refusal)
        found.append((_ErrInfo(status=error.code, exc=error, message=error.message), EMPTY_PAYLOAD))

    def _parsed(self, head: bytes) -> _Parsed:
        """What aiohttp makes of a head."""
        try:
            parsed: _Parsed = self._parser.feed_data(head) if head[0] > _LAST_CONTROL else _NOTHING
        except HttpProcessingError:
            return _NOTHING
        return parsed

    def _read(self, head: bytes, fed: _Parsed) -> tuple[RawRequestMessage, StreamReader, bool]:
        """The request of a head. Raises RefusedError."""
        if not fed[0] or _is_other(message := fed[0][0][0], head):
            return self._other(head)
        headers, reader = message.headers, fed[0][0][1]
        if not _is_plain(message.path):
            message = message._replace(url=request_url(message.path))
        check_host(headers.get(hdrs.HOST, ""))
        check_handled(message.method, message.path, headers.get(hdrs.EXPECT))
        if length := int(headers.get(hdrs.CONTENT_LENGTH, "0")):
            # the next head is one for a parser that does not wait for this body
            self._parser = self._make()
            self._body = SizedBody(reader, length)
        elif len(head) <= _LONGEST_USUAL and hdrs.EXPECT not in headers:
            self._usual = head[len(message.method) + len(message.path) + 1 :]
        return message, reader, fed[1]

    def _other(self, head: bytes) -> tuple[RawRequestMessage, StreamReader, bool]:
        """A request as only the reference reads it."""
        self._parser = self._make()
        read = read_head(head)
        if not read.chunked and not read.length:
            return _message(read), EMPTY_PAYLOAD, False
        reader = self._make_reader()
        self._body = ChunkedBody(reader) if read.chunked else SizedBody(reader, read.length)
        return _message(read), reader, False


def _is_plain(target: str) -> bool:
    """Whether other parsers read the target of a request as the reference does."""
    return target[0] == "/" and "#" not in target and ("%" not in target or 0 < target.find("?") < target.find("%"))


def _is_other(message: RawRequestMessage, head: bytes) -> bool:
    """Whether other parsers read it, or know where it ends, in another way than the reference."""
    return (
        hdrs.TRANSFER_ENCODING in message.headers
        or not head.startswith(_VERSION, len(message.method) + len(message.path) + 1)
        or message.method == hdrs.METH_CONNECT
        or len(message.headers.get(hdrs.CONTENT_LENGTH, "")) > _LONGEST_LENGTH
    )


def _message(head: Head) -> RawRequestMessage:
    raw = tuple((name.encode("utf-8", "surrogateescape"), text.encode("utf-8", "surrogateescape")) for name, text in head.headers.items())
    return RawRequestMessage(
        method=head.method,
        path=head.target,
        version=head.version,
        headers=CIMultiDictProxy(head.headers),
        raw_headers=raw,
        should_close=head.closes,
        compression=None,
        upgrade=False,
        chunked=head.chunked,
        url=head.url,
    )

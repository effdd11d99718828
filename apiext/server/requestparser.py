"""Requests from bytes: aiohttp's parser, and the reference's rules for what that does not take.

aiohttp knows a fixed set of methods and is strict where Go's net/http is not; a client must not notice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from aiohttp import HttpVersion11, hdrs, web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader
from multidict import CIMultiDictProxy

from apiext.server.requesthead import MAX_HEAD, Head, RefusedError, check_host, check_version, cut_head, read_head, request_url

if TYPE_CHECKING:
    from aiohttp.http_parser import RawRequestMessage

_Message = tuple["RawRequestMessage", StreamReader]
_Fed = tuple[Sequence[_Message], bool, bytes]
_NOTHING: Final[_Fed] = ((), False, b"")
_LAST_CHUNK: Final = re.compile(rb"(?:^|\r\n)0+[ \t]*(?:;[^\r\n]*)?\r\n(?:[^\r\n]+\r\n)*\r\n")
_BROKEN_CHUNK: Final = "invalid byte in chunk length"


class Parser(Protocol):
    """What a connection needs of a parser (aiohttp.http_parser.HttpRequestParser)."""

    def feed_data(self, data: bytes) -> Any:
        """Requests that end or begin in the data, whether the protocol changes, and what is left then."""
        ...

    def feed_eof(self) -> object:
        """Nothing follows."""
        ...

    def message_consumed(self) -> None:
        """A request has been taken from the queue."""
        ...

    def pause_reading(self) -> None:
        """The body's reader is behind."""
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
    """Takes what the reference takes; `make` makes a parser for ordinary requests, of which there is one at a time."""

    def __init__(self, make: Callable[[], Parser]) -> None:
        self._make = make
        self._parser = make()
        self._payload: StreamReader = EMPTY_PAYLOAD
        self._chunked = False
        """Whether that comes in chunks."""
        self._begun = b""
        """A head that is not complete."""
        self._odd = False
        """Whether that head is one for the reference's rules."""
        self._broken = False
        self._host: str | None = None
        """What the last request called the server."""
        self.message_consumed = self._parser.message_consumed
        self.pause_reading = self._parser.pause_reading

    def feed_data(self, data: bytes) -> _Fed:
        """See Parser. Raises UnansweredError."""
        if self._odd or self._broken:
            return _NOTHING if self._broken else self._feed_odd(data)
        in_body, had = not self._payload.is_eof(), self._payload.total_bytes
        try:
            fed: _Fed = self._parser.feed_data(data)
        except HttpProcessingError:
            if not self._payload.is_eof():
                return self._break_body()
            return self._feed_odd(self._after_body(data, had) if in_body else data)
        messages = fed[0]
        if messages:
            self._begun = b""
            self._chunked, self._payload = messages[-1][0].chunked, messages[-1][1]
            for message, _ in messages:
                # on one connection a client calls the server the same again and again
                host = message.headers.get(hdrs.HOST)
                if host != self._host or _is_odd(message):
                    self._host = host
                    return [(_checked(each), payload) for each, payload in messages], fed[1], fed[2]
        elif in_body:
            self._begun = self._after_body(data, had) if self._payload.is_eof() else b""
        else:
            self._begun += data
            if len(self._begun) > MAX_HEAD:
                return self._feed_odd(b"")
        return fed

    def feed_eof(self) -> object:
        """See Parser."""
        return self._parser.feed_eof()

    def set_upgraded(self, val: bool) -> None:  # noqa: FBT001 -- aiohttp's signature
        """See Parser."""
        self._parser.set_upgraded(val)

    def _feed_odd(self, data: bytes) -> _Fed:
        """Read the head as the reference does, and leave the body to a new parser."""
        self._begun += data
        self._odd = True
        try:
            cut = cut_head(self._begun)
            if cut is None:
                return _NOTHING
            head = read_head(cut[0])
        except RefusedError as refusal:
            self._broken = True
            raise UnansweredError(refusal) from refusal
        self._odd, self._begun = False, b""
        self._parser = self._make()
        self.message_consumed, self.pause_reading = self._parser.message_consumed, self._parser.pause_reading
        framed, payload = self._parser.feed_data(head.framing)[0][0]
        self._chunked, self._payload = head.chunked, payload
        more, upgraded, tail = self.feed_data(cut[1]) if cut[1] else _NOTHING
        return [(_message(head, framed), payload), *more], upgraded, tail

    def _after_body(self, data: bytes, had: int) -> bytes:
        """What follows the end of a body in data that had it; of the body there were so many bytes before."""
        if not self._chunked:
            return data[self._payload.total_bytes - had :]
        last = _LAST_CHUNK.search(data)
        return data[last.end() :] if last else data

    def _break_body(self) -> _Fed:
        """Tell whoever reads the body that it goes no further."""
        self._broken = True
        self._payload.set_exception(web.RequestPayloadError(_BROKEN_CHUNK))
        self._payload.feed_eof()
        return _NOTHING


def _is_odd(message: RawRequestMessage) -> bool:
    """Whether the reference has something to say about a request that other parsers have nothing to say about."""
    path = message.path
    return (
        path[0] != "/"
        or "%" in path
        or "#" in path
        or message.version is not HttpVersion11
        or hdrs.EXPECT in message.headers
        or message.method == hdrs.METH_CONNECT
    )


def _checked(message: RawRequestMessage) -> RawRequestMessage:
    try:
        check_version(message.version)
        check_host(message.headers.get(hdrs.HOST, ""))
        url = request_url(message.path)
        if message.method == hdrs.METH_OPTIONS and message.path == "*":
            raise RefusedError("200 OK", "")
        if message.headers.get(hdrs.EXPECT, "100-continue").lower() != "100-continue":
            raise RefusedError("417 Expectation Failed", "")
    except RefusedError as refusal:
        raise UnansweredError(refusal) from refusal
    return message._replace(url=url)


def _message(head: Head, framed: RawRequestMessage) -> RawRequestMessage:
    raw = tuple((name.encode("utf-8", "surrogateescape"), text.encode("utf-8", "surrogateescape")) for name, text in head.headers.items())
    return framed._replace(
        method=head.method,
        path=head.target,
        url=head.url,
        version=head.version,
        headers=CIMultiDictProxy(head.headers),
        raw_headers=raw,
    )

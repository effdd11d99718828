"""Requests of all kinds on one connection, in pieces of all sizes."""

import asyncio
from collections.abc import Iterator

import pytest
from aiohttp import web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_parser import HttpRequestParser, RawRequestMessage
from aiohttp.streams import StreamReader

from apiext.server.requestparser import RequestParser, UnansweredError

_PLAIN = b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
_ODD = b"FOO /b HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody"


@pytest.fixture
async def parser() -> RequestParser:
    """A parser of a connection without a transport."""
    loop = asyncio.get_running_loop()
    protocol = BaseProtocol(loop, None)
    return RequestParser(lambda: HttpRequestParser(protocol, loop, 2**16, max_msg_queue_size=1000))


def _feed(parser: RequestParser, data: bytes, size: int) -> Iterator[tuple[RawRequestMessage, StreamReader]]:
    for start in range(0, len(data), size):
        yield from parser.feed_data(data[start : start + size])[0]


@pytest.mark.parametrize("size", [1, 7, 30, 1000])
async def test_ordinary_and_odd_requests_follow_each_other(parser: RequestParser, size: int) -> None:
    """Both are read, with their bodies, however the bytes arrive."""
    found = [each for data in (_PLAIN, _ODD, _PLAIN, _ODD) for each in _feed(parser, data, size)]

    assert [(message.method, message.path) for message, _ in found] == [("GET", "/a"), ("FOO", "/b")] * 2
    assert [await payload.read() for _, payload in found] == [b"", b"body"] * 2


async def test_odd_ones_can_be_pipelined(parser: RequestParser) -> None:
    """What follows an odd request in the same piece is a request of its own."""
    found = list(_feed(parser, _ODD + _PLAIN, 1000))

    assert [message.method for message, _ in found] == ["FOO", "GET"]


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    "framing,body", [("Content-Length: 4", b"body"), ("Transfer-Encoding: chunked", b"4\r\nbody\r\n0\r\n\r\n")], ids=["length", "chunks"]
)
async def test_an_odd_one_may_come_with_the_end_of_a_body(parser: RequestParser, framing: str, body: bytes, size: int) -> None:
    """Whoever was answered before the body had been read may send the next request right behind it."""
    ((_, payload),) = parser.feed_data(f"POST /a HTTP/1.1\r\nHost: h\r\n{framing}\r\n\r\n".encode())[0]
    found = list(_feed(parser, body + _PLAIN + _ODD, size))

    assert await payload.read() == b"body"
    assert [message.method for message, _ in found] == ["GET", "FOO"]
    assert await found[1][1].read() == b"body"


async def test_chunks_after_an_odd_head(parser: RequestParser) -> None:
    """The body may have chunks."""
    data = b"PUT /a HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n3\r\nabc\r\n0\r\n\r\n"

    ((message, payload),) = _feed(parser, data, 1000)

    assert (message.method, message.chunked, await payload.read()) == ("PUT", True, b"abc")


async def test_a_broken_body_is_told_to_its_reader(parser: RequestParser) -> None:
    """Nobody waits for what cannot come, and nothing else is read from the connection."""
    head = b"PUT /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    ((_, payload),) = parser.feed_data(head)[0]
    parser.feed_data(b"zz\r\n")

    with pytest.raises(web.RequestPayloadError, match="invalid byte in chunk length"):
        await payload.read()
    assert not parser.feed_data(_PLAIN)[0]


@pytest.mark.parametrize(
    "data,status",
    [
        (b"GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", "400 Bad Request"),
        (b"GET / HTTP/2.0\r\nHost: h\r\n\r\n", "505 HTTP Version Not Supported: unsupported protocol version"),
        (b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "400 Bad Request: malformed Host header"),
        (b"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", "200 OK"),
        (b"GET / HTTP/1.1\r\nHost: h\r\nExpect: x\r\n\r\n", "417 Expectation Failed"),
        (b"\x16\x03\x01\r\n", "400 Bad Request"),
    ],
)
async def test_some_are_answered_here(parser: RequestParser, data: bytes, status: str) -> None:
    """No handler sees what the reference's HTTP server answers itself."""
    with pytest.raises(UnansweredError) as unanswered:
        parser.feed_data(data)

    assert unanswered.value.refusal.status == status


async def test_paths_of_what_other_parsers_take(parser: RequestParser) -> None:
    """A fragment belongs to the path, and so does the target of CONNECT."""
    data = b"GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n", b"CONNECT /c HTTP/1.1\r\nHost: h\r\n\r\n"

    found = [message for each in data for message, _ in _feed(parser, each, 1000)]

    assert [message.url.path for message in found] == ["/a#b", "/c"]


async def test_heads_are_bounded(parser: RequestParser) -> None:
    """All fields together, however many there are."""
    field = b"X: %b\r\n" % (b"a" * 100_000)
    parser.feed_data(b"GET / HTTP/1.1\r\n")
    for _ in range(10):
        assert not parser.feed_data(field)[0]

    with pytest.raises(UnansweredError) as unanswered:
        parser.feed_data(field)

    assert unanswered.value.refusal.status == "431 Request Header Fields Too Large"

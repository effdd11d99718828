"""Requests of all kinds on one connection, in pieces of all sizes."""

import asyncio
from collections.abc import Iterator
from typing import Final

import pytest
from aiohttp import web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_parser import HttpRequestParser, RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import _ErrInfo

from apiext.server.http.requestparser import RequestParser, UnansweredError

_SIZES: Final = [1, 7, 30, 100_000]
_PLAIN = b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
_ODD = b"FOO /b HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody"


@pytest.fixture
async def parser() -> RequestParser:
    """A parser of a connection without a transport."""
    loop = asyncio.get_running_loop()
    protocol = BaseProtocol(loop, None)
    return RequestParser(lambda: HttpRequestParser(protocol, loop, 2**16), lambda: StreamReader(protocol, 2**16, loop=loop))


def _fed(parser: RequestParser, data: bytes, size: int) -> Iterator[tuple[RawRequestMessage | _ErrInfo, StreamReader]]:
    for start in range(0, len(data), size):
        yield from parser.feed_data(data[start : start + size])[0]


def _feed(parser: RequestParser, data: bytes, size: int) -> Iterator[tuple[RawRequestMessage, StreamReader]]:
    for message, reader in _fed(parser, data, size):
        assert isinstance(message, RawRequestMessage)
        yield message, reader


def _told(parser: RequestParser, data: bytes, size: int = 100_000) -> list[str]:
    """The methods of requests, and the status of the one that is refused."""
    told: list[str] = []
    for message, _ in _fed(parser, data, size):
        if isinstance(message, RawRequestMessage):
            told.append(message.method)
        else:
            assert isinstance(message.exc, UnansweredError)
            told.append(message.exc.refusal.status)
    return told


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
    ((_, payload),) = _feed(parser, f"POST /a HTTP/1.1\r\nHost: h\r\n{framing}\r\n\r\n".encode(), 1000)
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
        (b"OPTIONS * HTTP/1.0\r\n\r\n", "200 OK"),
        (b"FOO / HTTP/1.1\r\nHost: h\r\nExpect: x\r\n\r\n", "417 Expectation Failed"),
        (b"GET  / HTTP/1.1\r\nHost: h\r\n\r\n", "400 Bad Request"),
        (b"\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", "400 Bad Request"),
        (b"GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\r\n\r\n", "501 Not Implemented"),
        (b"GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "501 Not Implemented"),
        (b"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551615\r\n\r\n", "400 Bad Request"),
        (b"GET / HTTP/1.1\r\nHost: h\r\nExpect: x\r\n\r\n", "417 Expectation Failed"),
        (b"\x16\x03\x01\r\n", "400 Bad Request"),
    ],
)
async def test_some_are_answered_here(parser: RequestParser, data: bytes, status: str) -> None:
    """No handler sees what the reference's HTTP server answers itself."""
    assert _told(parser, data) == [status]
    assert not _told(parser, _PLAIN)


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

    assert _told(parser, field) == ["431 Request Header Fields Too Large"]


@pytest.mark.parametrize("size", _SIZES)
async def test_what_is_refused_does_not_touch_what_came_before(parser: RequestParser, size: int) -> None:
    """All requests before it are answered, and none after it is."""
    data = _PLAIN + _ODD + _PLAIN + b"GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n" + _PLAIN

    assert _told(parser, data, size) == ["GET", "FOO", "GET", "400 Bad Request"]


@pytest.mark.parametrize("last", [_PLAIN, _ODD, b"\x16\x03\x01\r\n"], ids=["plain", "odd", "refused"])
async def test_so_many_requests_at_once_wait_for_their_turn(parser: RequestParser, last: bytes) -> None:
    """None of them is lost, nor is what follows them."""
    found = parser.feed_data(_PLAIN * 1000 + last)[0]
    count = 0
    while found:
        assert len(found) <= 32
        count += len(found)
        found = parser.feed_data(b"")[0]

    assert count == 1001


async def test_thousands_of_odd_ones_at_once(parser: RequestParser) -> None:
    """However many there are, one after the other is read."""
    found = _told(parser, b"F / HTTP/1.0\n\n" * 10_000)
    while more := parser.feed_data(b"")[0]:
        found += ["F"] * len(more)

    assert found == ["F"] * 10_000


@pytest.mark.parametrize("method,told", [("POST", ["POST", "GET"]), ("PUT", ["PUT", "400 Bad Request"])])
@pytest.mark.parametrize("body", [b"", b"body"])
@pytest.mark.parametrize("size", _SIZES)
async def test_empty_lines_after_a_post(parser: RequestParser, method: str, told: list[str], body: bytes, size: int) -> None:
    """Some old clients send them; after anything else they are no request."""
    head = f"{method} /a HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n".encode()

    assert _told(parser, head + body + b"\r\n\r\n" + _PLAIN, size) == told


@pytest.mark.parametrize("size", _SIZES)
async def test_a_body_is_never_a_request(parser: RequestParser, size: int) -> None:
    """Where a body ends is told as the reference does, whatever else the head says."""
    chunks = b"19\r\n" + b"GET /b HTTP/1.1\r\nHost:\r\n\r\n"[:25] + b"\r\n0\r\n\r\n"
    both = b"PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks
    old = b"PUT /a HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r"
    found = list(_feed(parser, both + old + _PLAIN, size))

    assert [message.method for message, _ in found] == ["PUT", "PUT", "GET"]
    assert [len(await payload.read()) for _, payload in found] == [25, 4, 0]


async def test_another_protocol_takes_the_rest(parser: RequestParser) -> None:
    """Until it is declined."""
    head = b"GET /a HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"

    assert parser.feed_data(head + _PLAIN)[1:] == (True, _PLAIN)
    parser.set_upgraded(val=False)
    assert _told(parser, _PLAIN) == ["GET"]
    assert parser.feed_data(head)[1:] == (True, b"")


async def test_a_head_in_many_pieces_costs_no_more(parser: RequestParser) -> None:
    """Each piece is looked at once."""
    head = b"FOO / HTTP/1.1\r\nHost: h\r\nA: " + b"a" * 200_000 + b"\r\n\r\n"

    assert _told(parser, head, 1) == ["FOO"]


async def test_too_many_fields(parser: RequestParser) -> None:
    """Reading them would keep all other requests waiting."""
    assert _told(parser, b"GET / HTTP/1.1\r\nHost: h\r\n" + b"A:\r\n" * 20_000 + b"\r\n") == ["431 Request Header Fields Too Large"]

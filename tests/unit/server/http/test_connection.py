"""Requests on a raw connection: limits, malformed requests, and the end of a connection."""

import asyncio
import gc
import weakref

import pytest

from apiext.base.meta.limits import MAX_DRAINED_BYTES, MAX_HEAD_BYTES, MAX_HEAD_FIELDS, MAX_LINE_BYTES, MAX_PROXIED_HEAD_FIELDS
from apiext.server.http import connection, request_parser
from apiext.server.http.request_parser import HEAD_TIMEOUT
from tests.support.event_loop import advance, settle, until
from tests.unit.server.http.conftest import Plain, Wire

GET = b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
LAST = b"GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
CHUNKED = b"POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"


def _head(*lines: bytes) -> bytes:
    return b"\r\n".join([b"GET /a HTTP/1.1", b"Host: h", *lines, b"Connection: close", b"", b""])


def _pieces(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


def _field(name: bytes, size: int) -> bytes:
    return name + b": " + b"a" * size


@pytest.mark.parametrize("size", [1, 7, 50, 100_000])
async def test_answers_requests_in_pieces_of_any_size(wire: Wire, size: int) -> None:
    """Answer pipelined requests with and without a body in order, however the bytes arrive."""
    sized = b"PUT /b HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody"
    chunks = CHUNKED + b"3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n"

    await wire.send(*_pieces(GET + sized + chunks + b"\r\n" + LAST, size))
    received = await wire.rest()

    bodies = [part.rpartition(b"\r\n\r\n")[2].partition(b"HTTP/1.1")[0] for part in received.split(b"HTTP/1.1 200 OK")[1:]]
    assert bodies == [b"GET /a ", b"PUT /b body", b"POST /a abcd", b"GET /last "]


@pytest.mark.parametrize(
    "data,answer",
    [
        (_head(_field(b"A", MAX_LINE_BYTES - 1)), b"HTTP/1.1 200 "),
        (_head(_field(b"A", MAX_LINE_BYTES + 1)), b"HTTP/1.1 431 "),
        (b"GET /" + b"a" * MAX_LINE_BYTES + b" HTTP/1.1\r\nHost: h\r\n\r\n", b"HTTP/1.1 431 "),
        (_head(*(_field(b"A%d" % number, 60_000) for number in range(4))), b"HTTP/1.1 200 "),
        (_head(*(_field(b"A%d" % number, 60_000) for number in range(5))), b"HTTP/1.1 431 "),
        (_head(*(b"X-Remote-Group: %d" % number for number in range(MAX_HEAD_FIELDS - 2))), b"HTTP/1.1 200 "),
        (_head(*(b"X-Remote-Group: %d" % number for number in range(MAX_HEAD_FIELDS - 1))), b"HTTP/1.1 431 "),
        (_head(*(b"A:" for _ in range(20 * MAX_HEAD_FIELDS))), b"HTTP/1.1 431 "),
    ],
    ids=["line", "long line", "long path", "head", "large head", "fields", "too many fields", "far too many fields"],
)
@pytest.mark.parametrize("size", [9000, 1_000_000])
async def test_limits_heads(plain: Plain, wire: Wire, data: bytes, answer: bytes, size: int) -> None:
    """Accept a head of exactly the limits; refuse a longer line, a larger head and more fields with 431."""
    await wire.send(*_pieces(data, size))
    status, _ = await wire.answer()

    assert status.startswith(answer)
    assert plain.seen == (["/a"] if answer.endswith(b"200 ") else [])


@pytest.mark.parametrize(
    "data,answer",
    [
        (_head(*(b"X-Remote-Group: %d" % number for number in range(MAX_PROXIED_HEAD_FIELDS - 2))), b"HTTP/1.1 200 "),
        (_head(*(b"X-Remote-Group: %d" % number for number in range(MAX_PROXIED_HEAD_FIELDS - 1))), b"HTTP/1.1 431 "),
        (_head(*(_field(b"A", 60_000) for _ in range(17))), b"HTTP/1.1 200 "),
        (_head(*(_field(b"A", 60_000) for _ in range(18))), b"HTTP/1.1 431 "),
        (_head(_field(b"A", MAX_LINE_BYTES + 1)), b"HTTP/1.1 431 "),
    ],
    ids=["fields", "too many fields", "head", "large head", "long line"],
)
@pytest.mark.parametrize("size", [9000, 2_000_000])
async def test_limits_heads_of_front_proxies(plain: Plain, wire: Wire, data: bytes, answer: bytes, size: int) -> None:
    """Accept the groups of a user that kube-apiserver 1.37.2 accepts, but no longer lines, from a front proxy."""
    (await plain.connection()).become_front_proxy()

    await wire.send(*_pieces(data, size))
    status, _ = await wire.answer()

    assert status.startswith(answer)


async def test_refuses_a_head_without_an_end(wire: Wire) -> None:
    """Refuse a head as soon as it exceeds the limit, so that each connection holds a bounded part of one."""
    fields = [_field(b"A%d" % number, 50_000) + b"\r\n" for number in range(6)]

    await wire.send(b"GET /a HTTP/1.1\r\nHost: h\r\n", *fields)

    assert sum(map(len, fields)) > MAX_HEAD_BYTES
    assert await wire.answer() == (b"HTTP/1.1 431 Request Header Fields Too Large", b"431 Request Header Fields Too Large")


async def test_closes_a_connection_with_a_slow_head(plain: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Close a connection whose head is not complete in time, without an answer."""
    monkeypatch.setattr(request_parser, "HEAD_TIMEOUT", 0.01)
    wire = await plain.connect()

    await wire.send(GET[:10])

    assert await wire.rest() == b""


async def test_keeps_a_connection_between_requests(plain: Plain, wire: Wire) -> None:
    """Stop the time limit with the end of the head, and start none for line ends after a body."""
    served = await plain.connection()

    await wire.send(GET[:10])
    await until(lambda: not served.is_idle())
    await wire.send(GET[10:])
    assert await wire.answer() == (b"HTTP/1.1 200 OK", b"GET /a ")
    await wire.send(b"\r\n")
    advance(HEAD_TIMEOUT)
    await wire.send(LAST)

    assert (await wire.answer())[1] == b"GET /last "


async def test_answers_a_request_whose_successor_is_slow(plain: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer the current request before the connection ends for an incomplete head behind it."""
    monkeypatch.setattr(request_parser, "HEAD_TIMEOUT", 0.01)
    wire = await plain.connect()
    await wire.send(b"GET /wait HTTP/1.1\r\nHost: h\r\n\r\n")
    await until(lambda: plain.seen)
    await wire.send(GET[:10])
    served = await plain.connection()
    await until(lambda: served.is_ending)

    plain.gate.set()

    assert (await wire.answer())[1] == b"GET /wait "
    assert await wire.rest() == b""


@pytest.mark.parametrize(
    "data,text",
    [
        (b"\x16\x03\x01\r\n\r\n", b"400 Bad Request: "),
        (b"GET /a b c HTTP/1.1\r\nHost: h\r\n\r\n", b"400 Bad Request: "),
        (b"GET / HTTP/9.9\r\nHost: h\r\n\r\n", b"400 Bad Request: "),
        (b"GET / HTTP/1.1\r\nnothing\r\n\r\n", b"400 Bad Request: "),
        (b"GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", b"400 Bad Request"),
        (b"CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n", b"400 Bad Request: CONNECT is not supported"),
        (b"GET / HTTP/1.1\r\nHost: h\r\nExpect: x\r\n\r\n", b""),
    ],
)
async def test_refuses_malformed_requests(plain: Plain, monkeypatch: pytest.MonkeyPatch, data: bytes, text: bytes) -> None:
    """Refuse a malformed request with one line of text, close the connection, and ignore what follows."""
    monkeypatch.setattr(connection, "LINGER_SECONDS", 0.01)
    wire = await plain.connect()

    await wire.send(data, GET)
    head, _, body = (await wire.rest()).partition(b"\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n" if text else b"HTTP/1.1 417 Expectation Failed\r\n")
    assert b"\r\nConnection: close" in head
    assert body.startswith(text)
    assert b"\n" not in body
    assert plain.seen == []


async def test_fails_the_reader_of_a_broken_body(plain: Plain, wire: Wire) -> None:
    """Fail the request with a malformed chunk, and close the connection after its answer."""
    await wire.send(CHUNKED)
    await until(lambda: plain.seen)

    await wire.send(b"zz\r\n", GET)
    received = await wire.rest()

    assert received.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert received.count(b"HTTP/1.1") == 1
    assert b"\r\nConnection: close\r\n" in received
    assert (len(plain.broken), plain.seen) == (1, ["/a"])


@pytest.mark.parametrize("head", [CHUNKED + b"3\r\nab", b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabc"])
async def test_never_completes_a_body_cut_off(plain: Plain, wire: Wire, head: bytes) -> None:
    """Cancel the request of a client that disconnects in the middle of a body; its handler never sees the end."""
    await wire.send(head)
    await until(lambda: plain.seen)
    task = plain.task()

    wire.writer.close()
    await asyncio.wait([task])

    assert task.cancelled()
    assert not plain.broken


async def test_ends_the_work_of_a_client_that_disconnects(plain: Plain, wire: Wire) -> None:
    """End long work for an answer as soon as its client has disconnected."""
    await wire.send(b"GET /work HTTP/1.1\r\nHost: h\r\n\r\n")
    await until(lambda: plain.steps)
    task = plain.task()

    wire.writer.close()
    await asyncio.wait([task])
    steps = plain.steps
    await settle()

    assert plain.steps == steps


async def test_speaks_older_http(wire: Wire) -> None:
    """Close the connection after an HTTP/1.0 request, or keep it where the client asks for that."""
    await wire.send(b"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    assert (await wire.answer())[1] == b"GET /a "
    await wire.send(b"GET /b HTTP/1.0\r\n\r\n")

    assert (await wire.rest()).endswith(b"GET /b ")


@pytest.mark.parametrize("path", ["/a%2Fb", "//a", "/a/../b", "/%E4%B8%AD", "/a%20b", "/a;b"])
async def test_keeps_paths_as_sent(wire: Wire, path: str) -> None:
    """Leave escapes, dots and slashes of a path alone."""
    await wire.send(f"GET {path} HTTP/1.1\r\nHost: h\r\n\r\n".encode())

    assert (await wire.answer())[1] == f"GET {path} ".encode()


@pytest.mark.parametrize(
    "sent,is_idle",
    [
        (b"", True),
        (GET, True),
        (GET[:10], False),
        (GET + GET[:10], True),
        (CHUNKED[:-1], False),
        (CHUNKED, False),
        (CHUNKED + b"0\r\n\r\n", True),
    ],
    ids=["new", "answered", "in a head", "answered, in a head", "before a body", "in a body", "after a body"],
)
async def test_knows_idle_connections(plain: Plain, wire: Wire, sent: bytes, *, is_idle: bool) -> None:
    """Count a connection as idle only between two requests."""
    served = await plain.connection()
    await wire.send(sent)
    await until(lambda: served.is_idle() == is_idle)

    assert plain.server.close_idle() == int(not is_idle)
    if is_idle:
        await wire.rest()


async def test_finishes_the_current_request(plain: Plain, wire: Wire) -> None:
    """Answer a request in progress with `Connection: close` once the server drains, then close the connection."""
    await wire.send(b"GET /wait HTTP/1.1\r\nHost: h\r\n\r\n")
    await until(lambda: plain.seen)

    plain.server.drain()
    assert plain.server.close_idle() == 1
    plain.gate.set()

    assert b"\r\nConnection: close\r\n" in await wire.rest()


async def test_ends_after_the_current_request(plain: Plain, wire: Wire) -> None:
    """Answer the current request, then close the connection."""
    await wire.send(b"GET /wait HTTP/1.1\r\nHost: h\r\n\r\n")
    await until(lambda: plain.seen)

    (await plain.connection()).end()
    plain.gate.set()
    received = await wire.rest()

    assert b"\r\nConnection: close\r\n" in received
    assert received.endswith(b"GET /wait ")


async def test_ends_idle_connections_at_once(plain: Plain, wire: Wire) -> None:
    """Close an idle connection without an answer."""
    served = await plain.connection()
    await until(served.is_idle)

    served.end()

    assert await wire.rest() == b""


async def test_closes_a_connection_with_an_unread_body(plain: Plain, wire: Wire) -> None:
    """Answer before the end of a chunked body, ignore the rest of the body, and close the connection."""
    await wire.send(CHUNKED.replace(b"/a", b"/refused") + b"1\r\na\r\n")
    head = await wire.reader.readuntil(b"\r\n\r\n")
    served = await plain.connection()

    await wire.send(*(b"1\r\na\r\n" * 1000 for _ in range(20)), b"0\r\n\r\n", GET)

    assert head.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert b"\r\nConnection: close\r\n" in head
    assert await wire.rest() == b"refused"
    assert served.current is None
    assert plain.seen == ["/refused"]


@pytest.mark.parametrize(
    "length,extra,closes", [(MAX_DRAINED_BYTES, b"", False), (MAX_DRAINED_BYTES + 1, b"", True), (10, b"Expect: 100-continue\r\n", True)]
)
async def test_drains_small_bodies(wire: Wire, length: int, extra: bytes, *, closes: bool) -> None:
    """Use a connection again after a refused body of moderate size, unless its client waits to be asked for it."""
    await wire.send(b"POST /refused HTTP/1.1\r\nHost: h\r\n" + extra + b"Content-Length: %d\r\n\r\n" % length)
    head = await wire.reader.readuntil(b"\r\n\r\n")
    assert (b"\r\nConnection: close\r\n" in head) == closes
    await wire.reader.readexactly(len(b"refused"))

    if not closes:
        await wire.send(b"x" * length, GET)
        assert (await wire.answer())[1] == b"GET /a "


@pytest.mark.parametrize("sent", [b"", GET, GET[:10], CHUNKED, b"GET /ann HTTP/1.1\r\nHost: h\r\n\r\n"])
async def test_frees_closed_connections(plain: Plain, wire: Wire, sent: bytes) -> None:
    """Leave no cycle of references that keeps a closed connection until the garbage collector runs."""
    served = weakref.ref(await plain.connection())
    await wire.send(sent)
    await settle()
    gc.disable()
    try:
        wire.writer.close()

        await until(lambda: served() is None)
    finally:
        gc.enable()

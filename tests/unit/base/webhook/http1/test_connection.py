"""Requests and answers on a connection."""

import asyncio
import fcntl
import gzip
import socket
import ssl
import sys
import termios
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final
from unittest.mock import Mock

import pytest

from apiext.base.meta.limits import MAX_LINES_PART_BYTES
from apiext.base.webhook.http1.answer import HttpAnswer
from apiext.base.webhook.http1.connection import KeptConnection
from apiext.base.webhook.http1.destination import Destination
from apiext.base.webhook.http1.failures import BodyError, BrokenConnectionError, MalformedAnswerError, TooLargeAnswerError
from apiext.base.webhook.http1.pool import ConnectionPool, dial
from hack.lib.servers.certificates import Authority
from tests.support.event_loop import advance, settle, until
from tests.support.garbage import collected
from tests.support.raw_http import RawServer, server_tls
from tests.unit.base.webhook.http1.conftest import LIMIT

_REQUEST: Final = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"
_OK: Final = b"HTTP/1.1 200 OK\r\n"
_EMPTY: Final = _OK + b"Content-Length: 0\r\n\r\n"
_LOOK: Final = 0.01
_SAME: Final = 10
"""Equal looks at a socket after which it is full: no event tells."""


async def _ask(pool: ConnectionPool, port: int, request: bytes = _REQUEST, seconds: float = 30) -> HttpAnswer:
    destination = Destination("127.0.0.1", port, None)
    return await pool.exchange(destination, request, pool.deadline(seconds))


def _compressed(text: bytes) -> bytes:
    # without the time: names of tests contain the bytes
    return gzip.compress(text, mtime=0)


def _sized(body: bytes, *lines: bytes) -> bytes:
    return b"".join([_OK, *(line + b"\r\n" for line in lines), b"Content-Length: %d\r\n\r\n" % len(body), body])


@pytest.mark.parametrize(
    "answer, body, reused",
    [
        (_sized(b"text"), b"text", True),
        (_OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nte\r\n2;a=b\r\nxt\r\n0\r\nTrailer: x\r\n\r\n", b"text", True),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n" + _sized(b"text"), b"text", True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b"", True),
        (_EMPTY, b"", True),
        (_sized(_compressed(b"te") + _compressed(b"xt"), b"Content-Encoding: GZIP"), b"text", True),
        (_sized(b"text", b"Content-Encoding: br"), b"text", True),
        (_sized(b"x" * LIMIT), b"x" * LIMIT, True),
        (_sized(b"text", b"Connection: close"), b"text", False),
        (_sized(b"text") + _EMPTY, b"text", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\ntext", b"text", False),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nmore", b"", False),
        (b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 100\r\n\r\nbegin", b"", False),
        (b"HTTP/1.1 302 Found\r\nContent-Length: 4\r\n\r\ntext", b"text", True),
    ],
)
@pytest.mark.parametrize("drip", [False, True])
async def test_answers(pool: ConnectionPool, server: RawServer, answer: bytes, body: bytes, reused: bool, drip: bool) -> None:  # noqa: FBT001
    """Read an answer, however it is framed and in whatever pieces it comes; keep the connection if no byte of it is left."""
    server.answers, server.drips = [answer, _EMPTY], drip

    assert (await _ask(pool, server.port)).body == body
    assert (await _ask(pool, server.port)).status == 200
    assert server.requests == [_REQUEST, _REQUEST]
    assert server.connections == (1 if reused else 2)


@pytest.mark.parametrize("lines", [b"", b"Content-Encoding: gzip\r\n"])
async def test_answers_until_the_end(pool: ConnectionPool, server: RawServer, lines: bytes) -> None:
    """Read an answer without a length until the connection ends."""
    server.answers = [_OK + lines + b"\r\n" + (_compressed(b"text") if lines else b"text")]

    assert (await _ask(pool, server.port)).body == b"text"


async def test_connections_leave_no_cycles(pool: ConnectionPool, server: RawServer) -> None:
    """Free a connection that has ended, after an answer or without one, without the garbage collector."""
    server.answers = [_sized(b"text", b"Connection: close"), b"HTTP/1.1 x\r\n\r\n", _EMPTY]
    with collected(KeptConnection, BaseException) as cyclic:
        await _ask(pool, server.port)
        with suppress(BrokenConnectionError, MalformedAnswerError):
            await _ask(pool, server.port)
        await _ask(pool, server.port)
        await settle()

    assert not cyclic


async def test_fields(pool: ConnectionPool, server: RawServer) -> None:
    """Find the fields of an answer in any case of their names."""
    server.answers = [b"HTTP/1.1 503 Busy\r\nretry-after: 1\r\nContent-Length: 0\r\n\r\n"]
    answer = await _ask(pool, server.port)

    assert (answer.status, answer.headers.get("Retry-After"), answer.location) == (503, "1", "")


@pytest.mark.parametrize("framing", [b"", b"Connection: close\r\n"], ids=["kept", "closed"])
@pytest.mark.parametrize("end", [b"0\r\n\r\n", b"", b"x\r\n"], ids=["whole", "cut", "malformed"])
async def test_many_small_chunks(framing: bytes, end: bytes) -> None:
    """Parse an answer of many chunks in parts, between which the event loop turns, to its end also if the connection ends meanwhile."""
    loop = asyncio.get_running_loop()
    connection, transport = KeptConnection(loop, 100_000), Mock(asyncio.Transport, **{"is_closing.return_value": False})
    connection.connection_made(transport)
    chunks = b"1\r\nx\r\n" * 10_000
    waiting = asyncio.create_task(connection.exchange(_REQUEST, loop.time() + 60))
    await asyncio.sleep(0)

    turns = 0
    connection.data_received(_OK + framing + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
    connection.data_received(end)
    if framing or not end:
        connection.connection_lost(None)
    while not waiting.done():
        await asyncio.sleep(0)
        turns += 1

    assert turns > 5
    if end.startswith(b"0"):
        assert (await waiting).body == b"x" * 10_000
        assert connection.is_reusable == (not framing)
    else:
        with pytest.raises(BodyError) as error:
            await waiting
        assert isinstance(error.value.cause, MalformedAnswerError if end else BrokenConnectionError)
    assert connection.lost.done() == bool(framing or not end)


@pytest.mark.parametrize("end", [0, 100], ids=["between two parts", "within a part"])
async def test_bytes_behind_many_small_chunks(end: int) -> None:
    """Close a connection on which bytes follow an answer of many chunks, wherever in a part the answer ends."""
    loop = asyncio.get_running_loop()
    connection, transport = KeptConnection(loop, 100_000), Mock(asyncio.Transport, **{"is_closing.return_value": False})
    connection.connection_made(transport)
    waiting = asyncio.create_task(connection.exchange(_REQUEST, loop.time() + 60))
    await asyncio.sleep(0)

    head, answer = _OK + b"Transfer-Encoding: chunked\r\n", b"1\r\nx\r\n" * 10_000 + b"0\r\n\r\n"
    padding = (end - len(head) - len(b"X: \r\n\r\n") - len(answer)) % MAX_LINES_PART_BYTES
    connection.data_received(head + b"X: " + b"x" * padding + b"\r\n\r\n" + answer + _EMPTY * 1000)

    assert (await waiting).body == b"x" * 10_000
    assert not connection.is_reusable


async def test_many_lines_of_a_sized_body() -> None:
    """Take a body of declared length at once, however many lines it has, once its head is known."""
    loop = asyncio.get_running_loop()
    connection, transport = KeptConnection(loop, 1_000_000), Mock(asyncio.Transport, **{"is_closing.return_value": False})
    connection.connection_made(transport)
    waiting = asyncio.create_task(connection.exchange(_REQUEST, loop.time() + 60))
    await asyncio.sleep(0)

    body = b"[\n" * 100_000
    head = _sized(body)[: -len(body)]
    connection.data_received(head)
    connection.data_received(body)

    transport.pause_reading.assert_not_called()
    assert (await waiting).body == body
    assert connection.is_reusable


@pytest.mark.parametrize(
    "answer",
    [
        _sized(b"x" * (LIMIT + 1)),
        _OK + b"\r\n" + b"x" * 100_000,
        _OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 10_000,
        _sized(_compressed(b"x" * (LIMIT + 1)), b"Content-Encoding: gzip"),
        _sized(_compressed(b"x" * LIMIT) + _compressed(b"x"), b"Content-Encoding: gzip"),
    ],
)
async def test_large_answers(pool: ConnectionPool, server: RawServer, answer: bytes) -> None:
    """Refuse an answer with more bytes than the limit, before and after decompression, and close the connection."""
    server.answers = [answer, _EMPTY]
    with pytest.raises(BodyError) as error:
        await _ask(pool, server.port)
    await _ask(pool, server.port)

    assert isinstance(error.value.cause, TooLargeAnswerError)
    assert server.connections == 2


@pytest.mark.parametrize(
    "answer, problem",
    [
        (b"hello\r\n\r\n", 'malformed HTTP response "hello"'),
        (b"\x16\x03\x01", 'malformed HTTP response "\\x16\\x03\\x01"'),
        (_OK + b"no colon\r\n\r\n", 'malformed HTTP response "HTTP/1.1 200 OK"'),
        (_OK + b"A: " + b"x" * 20_000 + b"\r\n\r\n", 'malformed HTTP response "HTTP/1.1 200 OK"'),
        (_OK + b"A: b\r\n" * 1000 + b"\r\n", 'malformed HTTP response "HTTP/1.1 200 OK"'),
        (_OK + b"Transfer-Encoding: chunked\r\n\r\nx\r\nte\r\n", 'malformed HTTP response "HTTP/1.1 200 OK"'),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 6, "net/http: too many 1xx informational responses"),
    ],
)
async def test_malformed_answers(pool: ConnectionPool, server: RawServer, answer: bytes, problem: str) -> None:
    """Refuse what is not HTTP, or has too long a head."""
    server.answers = [answer]
    with pytest.raises(MalformedAnswerError) as error:
        await _ask(pool, server.port)

    assert str(error.value) == problem


@pytest.mark.parametrize(
    "answer, cause",
    [
        (_OK + b"Content-Length: 4\r\n\r\nte", BrokenConnectionError),
        (_OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nte\r\n", BrokenConnectionError),
        (_sized(_compressed(b"text")[:-4], b"Content-Encoding: gzip"), BrokenConnectionError),
        (_sized(b"text", b"Content-Encoding: gzip"), MalformedAnswerError),
    ],
)
async def test_broken_bodies(pool: ConnectionPool, server: RawServer, answer: bytes, cause: type[Exception]) -> None:
    """Tell an answer without an end from none."""
    server.answers = [answer]
    with pytest.raises(BodyError) as error:
        await _ask(pool, server.port)

    assert isinstance(error.value.cause, cause)


@pytest.mark.parametrize("begin", [b"", b"HTTP/1.1 2"])
async def test_ends_without_an_answer(pool: ConnectionPool, server: RawServer, begin: bytes) -> None:
    """Report a connection that ends before the head of the answer does."""
    server.answers = [begin]
    with pytest.raises(BrokenConnectionError):
        await _ask(pool, server.port)


async def test_deadline(pool: ConnectionPool, server: RawServer) -> None:
    """Give up at the deadline, and close the connection."""
    server.answers, server.holds = [b"", b""], True
    with pytest.raises(TimeoutError):
        await _ask(pool, server.port, seconds=0.3)

    await until(lambda: server.ended == 1)


async def test_earlier_deadline_of_a_later_request(server: RawServer) -> None:
    """Give up at the deadline of the present request, although the one before had a later one."""
    server.answers, server.holds = [_EMPTY, b""], True
    connection, loop = await dial(Destination("127.0.0.1", server.port, None), LIMIT), asyncio.get_running_loop()
    await connection.exchange(_REQUEST, loop.time() + 30)

    with pytest.raises(TimeoutError):
        await connection.exchange(_REQUEST, loop.time() + 0.1)


async def test_later_deadline_of_a_later_request(server: RawServer) -> None:
    """Wait on when the time of an earlier request is up."""
    server.answers, server.holds = [_EMPTY, b""], True
    connection, loop = await dial(Destination("127.0.0.1", server.port, None), LIMIT), asyncio.get_running_loop()
    await connection.exchange(_REQUEST, loop.time() + 30)
    waiting = asyncio.create_task(connection.exchange(_REQUEST, loop.time() + 60))
    await asyncio.sleep(0)

    advance(45)

    await settle()
    assert not waiting.done()
    connection.abort()
    with pytest.raises(BrokenConnectionError):
        await waiting


async def test_deadline_within_the_body(pool: ConnectionPool, server: RawServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell an answer that ends too late from none."""
    server.answers, server.holds = [_OK + b"Content-Length: 4\r\n\r\nte", b""], True
    receive, head = KeptConnection.data_received, asyncio.Event()

    def receive_and_tell(connection: KeptConnection, data: bytes) -> None:
        receive(connection, data)
        head.set()

    monkeypatch.setattr(KeptConnection, "data_received", receive_and_tell)
    # uvloop's timers follow no other clock
    asking = asyncio.create_task(_ask(pool, server.port, seconds=3))
    await head.wait()
    advance(60)
    with pytest.raises(BodyError):
        await asking

    await until(lambda: server.ended == 1)


async def test_cancellation(pool: ConnectionPool, server: RawServer) -> None:
    """Close the connection of a request that nobody waits for any more."""
    server.answers, server.holds = [b"", b""], True
    asking = asyncio.create_task(_ask(pool, server.port))
    await until(lambda: server.requests)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking

    await until(lambda: server.ended == 1)


async def test_cancellation_with_the_answer(pool: ConnectionPool, server: RawServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Close the connection of a request that is cancelled when its answer has just come."""
    server.answers, receive = [_EMPTY] * 2, KeptConnection.data_received

    def receive_and_cancel(connection: KeptConnection, data: bytes) -> None:
        receive(connection, data)
        asking.cancel()

    monkeypatch.setattr(KeptConnection, "data_received", receive_and_cancel)
    asking = asyncio.create_task(_ask(pool, server.port))
    with pytest.raises(asyncio.CancelledError):
        await asking

    await until(lambda: server.ended == 1)


async def test_requests_that_are_never_read(pool: ConnectionPool) -> None:
    """Close a connection whose server answers and reads no more: what it does not take is dropped."""
    done = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(_sized(b"no"))
        await done.wait()
        writer.transport.abort()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        connection = await dial(Destination("127.0.0.1", server.sockets[0].getsockname()[1], None), LIMIT)
        size = 50_000_000
        request = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % size + bytes(size)
        assert (await connection.exchange(request, pool.deadline(30))).body == b"no"
        assert not connection.is_reusable
        connection.close()
        async with asyncio.timeout(30):
            await connection.lost
        done.set()


async def test_answers_before_the_request_is_read(pool: ConnectionPool, server: RawServer) -> None:
    """Take the answer of a server that reads only the head of a request, and use another connection then."""
    server.answers, server.reads_heads = [_sized(b"no"), _EMPTY], True
    size = 50_000_000

    answer = await _ask(pool, server.port, b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % size + bytes(size))
    assert answer.body == b"no"
    await _ask(pool, server.port)
    assert server.connections == 2


def _answer_early(listener: socket.socket, context: ssl.SSLContext, full: threading.Event, done: threading.Event) -> None:
    """Read a part of one request, answer once no more of it can be sent, and read no more."""
    accepted, _ = listener.accept()
    with context.wrap_socket(accepted, server_side=True) as connection:
        connection.recv(1)
        full.wait()
        connection.sendall(_sized(b"no"))
        done.wait()


async def _filled(descriptor: int) -> None:
    """Wait until bytes wait in a socket, and no more of them are taken."""
    held, same = 0, 0
    while same < _SAME:
        await asyncio.sleep(_LOOK)
        before, held = held, int.from_bytes(fcntl.ioctl(descriptor, termios.TIOCOUTQ, bytes(4)), sys.byteorder)
        same = same + 1 if held and held == before else 0


async def test_early_answers_with_tls(pool: ConnectionPool, tmp_path: Path) -> None:
    """Use no connection again that still holds a part of a request, even if it is below TLS."""
    authority, full, done = Authority(tmp_path), threading.Event(), threading.Event()
    context = ssl.create_default_context(cafile=authority.cert)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        answering = asyncio.create_task(asyncio.to_thread(_answer_early, listener, server_tls(authority.issue("server")), full, done))
        try:
            connection = await dial(Destination("127.0.0.1", listener.getsockname()[1], context), LIMIT)
            assert connection.transport is not None
            sending = connection.transport.get_extra_info("socket")
            sending.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
            size = 60_000
            request = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % size + bytes(size)
            asking = asyncio.create_task(connection.exchange(request, pool.deadline(30)))
            await _filled(sending.fileno())
            full.set()

            assert (await asking).body == b"no"
            assert not connection.is_reusable
            connection.close()
            async with asyncio.timeout(30):
                await connection.lost
        finally:
            full.set()
            done.set()
        await answering

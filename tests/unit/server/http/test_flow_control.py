"""Clients that send or receive more, or more slowly, than the server handles at a time."""

from typing import Any, Final

import pytest

from apiext.base.meta.limits import MAX_LINES_AT_ONCE
from apiext.server.http import transports
from apiext.server.http.request_parser import RequestParser
from tests.support.event_loop import advance, settle, until
from tests.unit.server.http.conftest import Plain, Wire
from tests.unit.server.http.test_connection import CHUNKED, GET, LAST

_BUFFER: Final = 1 << 16
"""Bytes that the kernel receives for a slow client."""


def recorded(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return the list to which parsers add what they are fed."""
    fed: list[bytes] = []
    feed_data = RequestParser.feed_data

    def record(parser: RequestParser, data: bytes) -> Any:
        fed.append(data)
        return feed_data(parser, data)

    monkeypatch.setattr(RequestParser, "feed_data", record)
    return fed


async def test_continues_after_a_pause_between_chunks(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parse what follows a chunk at whose end the reader of the body was behind."""
    fed = recorded(monkeypatch)
    # aiohttp pauses after as many chunks
    begin = CHUNKED + b"1\r\na\r\n" * 4097
    await wire.send(begin)
    await until(lambda: sum(map(len, fed)) == len(begin))
    await wire.send(b"1\r\nb\r\n" * 2 + b"0\r\n\r\n")

    assert (await wire.answer())[1] == b"POST /a " + b"a" * 4097 + b"bb"


@pytest.mark.parametrize("ahead", [b"", b"x"])
async def test_parses_many_chunks_in_parts(wire: Wire, monkeypatch: pytest.MonkeyPatch, ahead: bytes) -> None:
    """Parse a part of many small chunks at a time, so that other connections have their turn, and lose none."""
    fed = recorded(monkeypatch)
    data = CHUNKED + (b"1\r\n%b\r\n" % ahead if ahead else b"") + b"1\r\na\r\n" * 50_000 + b"0\r\n\r\n" + LAST

    await wire.send(data)

    assert (await wire.answer())[1] == b"POST /a " + ahead + b"a" * 50_000
    assert (await wire.answer())[1] == b"GET /last "
    assert b"".join(fed) == data
    assert max(piece.count(b"\n") for piece in fed) < 3 * MAX_LINES_AT_ONCE


async def test_parses_large_bodies_at_once(wire: Wire) -> None:
    """Receive a body of a declared length with many lines."""
    body = b"line\n" * 200_000

    await wire.send(b"PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(body) + body + LAST)

    assert (await wire.answer())[1] == b"PUT /a " + body
    assert (await wire.answer())[1] == b"GET /last "


async def test_bounds_pipelined_requests(plain: Plain, wire: Wire) -> None:
    """Parse a few requests behind the current one, and answer all of them in order."""
    await wire.send(b"GET /wait HTTP/1.1\r\nHost: h\r\n\r\n" + GET * 50 + LAST)
    served = await plain.connection()
    await until(lambda: plain.seen)

    assert served.is_held
    plain.gate.set()

    assert [(await wire.answer())[1] for _ in range(52)] == [b"GET /wait ", *[b"GET /a "] * 50, b"GET /last "]


async def test_closes_connections_of_stalled_readers(plain: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Close the connection of a client that receives nothing of a large answer."""
    monkeypatch.setattr(transports, "STALL_SECONDS", 0.01)
    plain.large = b"x" * 30_000_000
    wire = await plain.connect(buffer=_BUFFER)

    await wire.send(b"GET /large HTTP/1.1\r\nHost: h\r\n\r\n")
    await until(lambda: plain.seen)

    await until(lambda: not plain.server.connections)


async def test_waits_for_slow_readers(plain: Plain) -> None:
    """Keep the connection of a client that receives something from time to time."""
    wire = await plain.connect(buffer=_BUFFER)
    plain.large = b"x" * 30_000_000
    await wire.send(b"GET /large HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    served = await plain.connection()
    await until(lambda: served.transport and served.transport.get_write_buffer_size())

    for _ in range(3):
        await wire.reader.readexactly(8_000_000)
        await settle()
        advance(transports.STALL_SECONDS / 2)
        await settle()

    assert len(await wire.rest()) > 5_000_000

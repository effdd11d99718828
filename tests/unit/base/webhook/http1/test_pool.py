"""Kept connections."""

import asyncio
from typing import Final

import pytest

from apiext.base.webhook.http1 import pool as pools
from apiext.base.webhook.http1.answer import HttpAnswer
from apiext.base.webhook.http1.connection import KeptConnection
from apiext.base.webhook.http1.destination import Destination
from apiext.base.webhook.http1.failures import BrokenConnectionError, DialError
from apiext.base.webhook.http1.pool import ConnectionPool, PoolClosedError, dial
from tests.support.event_loop import advance, until
from tests.support.raw_http import RawServer

_REQUEST: Final = b"POST / HTTP/1.1\r\n\r\n"
_EMPTY: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


async def _ask(pool: ConnectionPool, port: int, name: str = "") -> HttpAnswer:
    return await pool.exchange(Destination("127.0.0.1", port, None, name), _REQUEST, pool.deadline(30))


async def test_one_request_at_a_time(pool: ConnectionPool, server: RawServer) -> None:
    """Use as many connections as there are requests at the same time, and keep them all."""
    server.answers = [_EMPTY] * 9
    for _ in range(3):
        await asyncio.gather(*(_ask(pool, server.port) for _ in range(3)))

    assert server.connections == 3


async def test_destinations_share_no_connections(pool: ConnectionPool, server: RawServer) -> None:
    """Use a connection only for requests that are made as the first one was."""
    server.answers = [_EMPTY] * 2
    await _ask(pool, server.port)
    await _ask(pool, server.port, "name")

    assert server.connections == 2


@pytest.mark.parametrize("last", [b"", b"HTTP/1.1 408 Request Timeout\r\n\r\n"])
async def test_ended_connections(pool: ConnectionPool, server: RawServer, last: bytes) -> None:
    """Use no connection that the server closes, even if the event loop has not seen it yet."""
    server.answers = [_EMPTY] * 2
    await _ask(pool, server.port)
    server.close_connections(last)
    await _ask(pool, server.port)

    assert server.connections == 2


async def test_sends_once(pool: ConnectionPool, server: RawServer) -> None:
    """Do not send a request again that the server may have handled, as in Go: a POST is not idempotent."""
    server.answers = [_EMPTY, b""]
    await _ask(pool, server.port)
    with pytest.raises(BrokenConnectionError):
        await _ask(pool, server.port)

    assert len(server.requests) == 2
    assert server.connections == 1


@pytest.mark.asyncio(loop_factories=["asyncio"])
async def test_idle_connections(pool: ConnectionPool, server: RawServer) -> None:
    """Close a connection that no request has used for 90 s, and no other."""
    server.answers = [_EMPTY] * 9
    await asyncio.gather(_ask(pool, server.port), _ask(pool, server.port))
    advance(60)
    await _ask(pool, server.port)
    advance(40)
    await until(lambda: server.ended == 1)
    await _ask(pool, server.port)
    assert server.connections == 2
    advance(200)
    await until(lambda: server.ended == 2)


async def test_forgets_a_context(pool: ConnectionPool, server: RawServer) -> None:
    """Close the connections of a context, here of none."""
    server.answers = [_EMPTY] * 2
    await _ask(pool, server.port)
    pool.forget(None)
    await _ask(pool, server.port)

    assert server.connections == 2


async def test_forgets_connections_in_use(pool: ConnectionPool, server: RawServer) -> None:
    """Take the answer on a connection of a forgotten context, and use it no more."""
    server.answers, server.gate = [_EMPTY] * 2, asyncio.Event()
    asking = asyncio.create_task(_ask(pool, server.port))
    await until(lambda: server.requests)
    pool.forget(None)
    server.gate.set()

    assert (await asking).status == 200
    await _ask(pool, server.port)
    assert server.connections == 2


async def test_forgets_connections_that_are_made(pool: ConnectionPool, server: RawServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a connection only once that was begun before its context was forgotten."""

    async def dial_and_forget(destination: Destination, limit: int) -> KeptConnection:
        connection = await dial(destination, limit)
        pool.forget(None)
        return connection

    monkeypatch.setattr(pools, "dial", dial_and_forget)
    server.answers = [_EMPTY] * 2
    await _ask(pool, server.port)
    await _ask(pool, server.port)

    assert server.connections == 2


async def test_close(pool: ConnectionPool, server: RawServer) -> None:
    """End kept connections and running calls, and refuse later ones."""
    server.answers = [_EMPTY]
    await asyncio.gather(_ask(pool, server.port))
    server.answers, server.holds = [b"", b""], True
    asking = asyncio.create_task(_ask(pool, server.port))
    await until(lambda: len(server.requests) == 2)
    await pool.close()
    with pytest.raises(BrokenConnectionError):
        await asking
    with pytest.raises(PoolClosedError):
        await _ask(pool, server.port)
    await until(lambda: server.ended == server.connections)


async def test_close_does_not_wait_for_servers(pool: ConnectionPool, server: RawServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Close connections whatever their servers do."""
    monkeypatch.setattr(pools, "CLOSE_SECONDS", 0.01)
    server.answers = [_EMPTY] * 2
    await _ask(pool, server.port)
    await pool.close()
    await until(lambda: server.ended == 1)


async def test_refused_connections(pool: ConnectionPool) -> None:
    """Report where no connection can be made."""
    with pytest.raises(DialError) as error:
        await pool.exchange(Destination("127.0.0.1", 1, None), _REQUEST, pool.deadline(30))

    assert (error.value.host, error.value.port, error.value.is_tls, error.value.is_proxy) == ("127.0.0.1", 1, False, False)

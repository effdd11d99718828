"""New connections: the backlog, the limit of unauthenticated ones, and which of these is closed when the limit is reached."""

import asyncio
import socket
import struct
from pathlib import Path
from typing import cast

import pytest

from apiext.base.meta.limits import LISTEN_BACKLOG
from apiext.server.http import acceptor, unauthenticated
from apiext.server.http.connection import HTTPConnection
from apiext.server.http.unauthenticated import UnauthenticatedConnection
from tests.support.event_loop import until
from tests.unit.server.http.conftest import Plain, Wire

LIMIT = 3
_MAXIMUM_BACKLOG = int(Path("/proc/sys/net/core/somaxconn").read_text())
ANN = b"GET /ann HTTP/1.1\r\nHost: h\r\n\r\n"
NOBODY = b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n"


@pytest.fixture(autouse=True)
def _limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow three connections, and close them without patience."""
    monkeypatch.setattr(unauthenticated, "MAX_UNAUTHENTICATED_CONNECTIONS", LIMIT)
    monkeypatch.setattr(unauthenticated, "PATIENCE_SECONDS", 0.0)


async def _connect(plain: Plain, number: int) -> list[Wire]:
    """Open connections one after the other; the server has accepted all of them."""
    wires = []
    for _ in range(number):
        wire = await plain.connect()
        address = wire.writer.get_extra_info("sockname")
        await until(lambda address=address: any(served.peername == address for served in plain.server.connections))  # type: ignore[misc]
        wires.append(wire)
    return wires


async def test_listens_with_the_backlog(plain: Plain) -> None:
    """Listen with the backlog of the limits also after the server began to accept."""
    # struct tcp_info of a listening socket: tcpi_sacked is the backlog
    info = plain.listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    (backlog,) = struct.unpack_from("I", info, 28)

    assert backlog == min(LISTEN_BACKLOG, _MAXIMUM_BACKLOG)


async def test_closes_the_longest_waiting_connection(plain: Plain) -> None:
    """Close the oldest connections beyond the limit without an answer, and serve the others."""
    first, second, *others = await _connect(plain, LIMIT + 2)

    assert await first.rest() == b""
    assert await second.rest() == b""
    for wire in others:
        await wire.send(NOBODY)
        assert (await wire.answer())[1] == b"GET /a "


async def test_closes_connections_of_refused_clients(plain: Plain) -> None:
    """Count a connection whose requests were refused among the unauthenticated ones."""
    (refused,) = await _connect(plain, 1)
    await refused.send(b"GET /refused HTTP/1.1\r\nHost: h\r\n\r\n")
    assert (await refused.answer())[1] == b"refused"

    await _connect(plain, LIMIT)

    assert await refused.rest() == b""


async def test_keeps_authenticated_connections(plain: Plain) -> None:
    """Close no connection that has authenticated a request or serves such a request."""
    idle, busy = await _connect(plain, 2)
    await idle.send(ANN)
    await idle.answer()
    await busy.send(b"GET /wait/ann HTTP/1.1\r\nHost: h\r\n\r\n")
    await until(lambda: "/wait/ann" in plain.seen)

    await _connect(plain, 3 * LIMIT)
    plain.gate.set()

    assert (await busy.answer())[1] == b"GET /wait/ann "
    await idle.send(ANN)
    assert (await idle.answer())[1] == b"GET /ann "


async def test_a_renewed_place_is_the_last_to_go(plain: Plain) -> None:
    """Close connections that came later before one whose waiting time was counted anew."""
    renewed, later, _ = await _connect(plain, LIMIT)
    address = renewed.writer.get_extra_info("sockname")
    (connection,) = (one for one in plain.server.connections if one.peername == address)
    cast("HTTPConnection", connection).renew_place()

    await _connect(plain, 1)

    assert await later.rest() == b""
    await renewed.send(NOBODY)
    assert (await renewed.answer())[1] == b"GET /a "


async def test_leaves_clients_to_the_kernel_while_there_is_no_room(plain: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept no connection while the others still have time, and the waiting one as soon as one of them is closed."""
    monkeypatch.setattr(unauthenticated, "PATIENCE_SECONDS", 3600.0)
    first, *_ = await _connect(plain, LIMIT)
    late = await plain.connect()
    await late.send(NOBODY)

    first.writer.close()

    assert (await late.answer())[1] == b"GET /a "


async def test_serves_the_last_and_the_first_client_in_turn(plain: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Serve the first and the last client in turn, so that neither waits for all others."""
    monkeypatch.setattr(unauthenticated, "MAX_UNAUTHENTICATED_CONNECTIONS", 100)
    clients = [socket.create_connection(plain.listener.getsockname()) for _ in range(6)]
    order = [client.getsockname() for client in clients]
    served: list[object] = []
    try:
        await until(lambda: len(plain.server.connections) == len(clients))
        served = [connection.peername for connection in plain.server.connections]
    finally:
        for client in clients:
            client.close()

    assert served == [order[place] for place in (0, 5, 1, 4, 2, 3)]


@pytest.mark.parametrize("interval, turns", [(3600.0, 6), (1e-9, 1)])
async def test_begins_more_handshakes_after_a_long_turn(
    plain: Plain, monkeypatch: pytest.MonkeyPatch, *, interval: float, turns: int
) -> None:
    """Begin one handshake in each turn of the event loop, and as many more as the last turn had intervals."""
    monkeypatch.setattr(unauthenticated, "MAX_UNAUTHENTICATED_CONNECTIONS", 100)
    monkeypatch.setattr(acceptor, "HANDSHAKE_INTERVAL", interval)
    connection, loop, now = plain.server.connection, asyncio.get_running_loop(), 0
    begun: list[int] = []

    def count() -> None:
        nonlocal now
        now += 1
        if len(begun) < 6:
            loop.call_soon(count)

    def note(place: UnauthenticatedConnection) -> asyncio.Protocol:
        begun.append(now)
        return connection(place)

    monkeypatch.setattr(plain.server, "connection", note)
    clients = [socket.create_connection(plain.listener.getsockname()) for _ in range(6)]
    count()
    try:
        await until(lambda: len(begun) == len(clients))
    finally:
        for client in clients:
            client.close()

    assert len(set(begun)) == turns

"""The wait for a client's first message."""

import asyncio
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from apiext.server.http.acceptor import ClientHello
from apiext.server.http.server import listen
from tests.support.event_loop import until

RECORD = b"\x16\x03\x01\x00\x10" + b"h" * 16


@dataclass
class Wait:
    """Both ends of a connection, and the outcomes of a wait for a message of the client."""

    client: socket.socket
    server: socket.socket
    outcomes: list[str] = field(default_factory=list)

    def start(self, timeout: float = 3600.0) -> ClientHello:
        """Start the wait."""
        return ClientHello(
            self.server,
            on_received=lambda _: self.outcomes.append("received"),
            on_missing=lambda _: self.outcomes.append("missing"),
            timeout=timeout,
        )

    async def turns(self) -> None:
        """Let the event loop look at the socket several times."""
        for _ in range(5):
            await asyncio.sleep(0)


@pytest.fixture
def wait() -> Iterator[Wait]:
    """Return a connection."""
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()) as client:
        listener.setblocking(True)
        server, _ = listener.accept()
        with server:
            server.setblocking(False)
            yield Wait(client, server)


@pytest.mark.parametrize("sizes", [(21,), (1, 20), (4, 1, 16), (5, 15, 1)])
async def test_waits_for_the_whole_record(wait: Wait, sizes: tuple[int, ...]) -> None:
    """Report a record when its last byte is there, and leave it in the socket."""
    wait.start()
    at = 0
    for size in sizes:
        await wait.turns()
        assert wait.outcomes == []
        wait.client.send(RECORD[at : at + size])
        at += size

    await until(lambda: wait.outcomes)

    assert wait.outcomes == ["received"]
    assert wait.server.recv(100) == RECORD


async def test_reports_what_is_no_record(wait: Wait) -> None:
    """Report other data immediately, which the handshake refuses."""
    wait.start()

    wait.client.send(b"G")
    await until(lambda: wait.outcomes)

    assert wait.outcomes == ["received"]


@pytest.mark.parametrize("sent,outcome", [(b"", "missing"), (RECORD[:10], "received")])
async def test_reports_disconnected_clients(wait: Wait, sent: bytes, outcome: str) -> None:
    """Leave a client that disconnects in the middle of the record to the handshake."""
    wait.start()
    wait.client.send(sent)
    await wait.turns()

    wait.client.close()
    await until(lambda: wait.outcomes)

    assert wait.outcomes == [outcome]


async def test_ends_after_the_timeout(wait: Wait) -> None:
    """Report a client that does not send the whole record in time, once."""
    wait.start(timeout=0.01)
    wait.client.send(RECORD[:10])

    await until(lambda: wait.outcomes)
    wait.client.send(RECORD[10:])
    await wait.turns()

    assert wait.outcomes == ["missing"]

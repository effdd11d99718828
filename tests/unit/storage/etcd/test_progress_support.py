"""Versions of etcd that answer progress requests reliably."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from apiext.base.http2 import frames
from apiext.storage.etcd import progress_support
from apiext.storage.etcd.aetcd_messages import rpc
from apiext.storage.etcd.config import EtcdConfig
from apiext.storage.etcd.progress_support import ProgressSupport, answers_reliably
from apiext.storage.etcd.servers import Servers
from tests.support.captured_logs import logged
from tests.support.event_loop import until
from tests.unit.storage.etcd.peer import HEADERS, Peer

_REFUSED = HEADERS + b"\0\x0bgrpc-status\x0214\0\x0cgrpc-message\x04busy"


@pytest.mark.parametrize(
    "version, reliable",
    [
        ("3.3.27", False),
        ("3.4.30", False),
        ("3.4.31-rc.1", False),
        ("3.4.31", True),
        ("3.4.99", True),
        ("3.5.0-alpha.0", False),
        ("3.5.0", False),
        ("3.5.12", False),
        ("3.5.13-rc.0", False),
        ("3.5.13", True),
        ("3.5.13+vendor", True),
        ("3.6.0", True),
        ("3.7.0-alpha.0", True),
        ("v4.0.0", True),
        ("3.5", False),
        ("", False),
        ("unknown", False),
    ],
)
def test_knows_the_versions(version: str, reliable: bool) -> None:  # noqa: FBT001
    """Trust the versions that the reference trusts, except prereleases of 3.5.0."""
    assert answers_reliably(version) is reliable


class _Member:
    """A server that answers its version, after some refusals."""

    def __init__(self, version: str, refusals: int = 0) -> None:
        self.version = version
        self.refusals = refusals
        self.peers: list[Peer] = []
        self.port = 0

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        """Accept connections for the block."""
        tasks: list[asyncio.Task[None]] = []
        server = await asyncio.start_server(
            lambda *ends: tasks.append(asyncio.ensure_future(self._serve(Peer(*ends)))), "127.0.0.1", self.port
        )
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()
            await self.cut()
            await asyncio.gather(*tasks)

    async def cut(self) -> None:
        """Close the connections."""
        for peer in self.peers:
            await peer.close()
        self.peers = []

    async def _serve(self, peer: Peer) -> None:
        self.peers.append(peer)
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            await peer.greet()
            while True:
                _, stream, _ = await peer.frame(frames.DATA)
                if self.refusals:
                    self.refusals -= 1
                    peer.send(frames.frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, stream, _REFUSED))
                else:
                    peer.answer(stream, rpc.StatusResponse(version=self.version).SerializeToString())


@asynccontextmanager
async def _cluster(*members: _Member) -> AsyncGenerator[tuple[ProgressSupport, Servers]]:
    async with contextlib.AsyncExitStack() as stack:
        for member in members:
            await stack.enter_async_context(member.serving())
        support = ProgressSupport()
        servers = Servers(EtcdConfig(servers=[f"http://127.0.0.1:{member.port}" for member in members]))
        await servers.connected(30)
        await until(lambda: len(servers.connections()) == len(members))
        try:
            yield support, servers
        finally:
            await support.close()
            await servers.close()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_support, "MAX_PAUSE_SECONDS", 0.01)


async def test_trusts_new_servers(caplog: pytest.LogCaptureFixture) -> None:
    """Trust a cluster once all connected servers have told a version that is new enough."""
    async with _cluster(_Member("3.6.1"), _Member("3.5.13")) as (support, servers):
        assert not support.reliable([])
        await until(lambda: support.reliable(servers.connections()))
    assert logged(caplog) == []


async def test_the_oldest_server_decides(caplog: pytest.LogCaptureFixture) -> None:
    """Never trust a cluster with one old server, and log the server and its version once, whatever the number of connections."""
    old = _Member("3.5.12")
    async with _cluster(_Member("3.6.1"), old) as (support, servers):
        for _ in range(2):
            assert not support.reliable(servers.connections())
            assert not await support.reliable_soon(servers.connections())
            assert [support.reliable([one]) for one in servers.connections()] == [True, False]
            await old.cut()
            await until(lambda: len(servers.connections()) == 1)
            if servers.ready():
                servers.mark_failed(servers.current)
                servers.ready()
            await until(lambda: len(servers.connections()) == 2)
    (line,) = logged(caplog)
    assert line == {
        "event": "etcd progress notifications unreliable, consistent reads ask etcd",
        "server": f"127.0.0.1:{old.port}",
        "version": "3.5.12",
    }


async def test_asks_again_after_a_reconnect() -> None:
    """Ask each new connection: its server may have another version."""
    member = _Member("3.5.13")
    async with _cluster(member) as (support, servers):
        for version, reliable in (("3.5.12", False), ("3.5.14", True), ("3.4.30", False)):
            member.version = version
            await member.cut()
            await until(lambda: not servers.connections())
            assert not support.reliable(servers.connections())
            await servers.connected(30)
            assert not support.reliable(servers.connections())
            assert await support.reliable_soon(servers.connections()) is reliable


async def test_distrusts_an_unknown_version(caplog: pytest.LogCaptureFixture) -> None:
    """Distrust a server while it does not tell its version, and ask until it does."""
    member = _Member("3.6.0", refusals=5)
    async with _cluster(member) as (support, servers):
        while member.refusals:
            assert not support.reliable(servers.connections())
            await asyncio.sleep(0)
        await until(lambda: support.reliable(servers.connections()))
    (line,) = logged(caplog)
    assert (line["event"], line["error"]) == ("etcd version unknown, consistent reads ask etcd", "busy")

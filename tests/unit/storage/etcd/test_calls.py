"""Retries of writes."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import pytest

from apiext.base.http2 import frames
from apiext.storage.backend import UnavailableError
from apiext.storage.etcd.aetcd_messages import rpc
from apiext.storage.etcd.calls import RANGE, Calls
from apiext.storage.etcd.config import EtcdConfig
from apiext.storage.etcd.http2.channel import Channel
from apiext.storage.etcd.http2.grpc_status import name_of
from apiext.storage.etcd.servers import Servers
from tests.unit.storage.etcd.peer import HEADERS, Peer

END = frames.END_HEADERS | frames.END_STREAM
TXN = rpc.TxnRequest().SerializeToString()


class _Member(Peer):
    """A server that rejects writes with the given statuses one after the other, then performs them."""

    refusals: list[tuple[int, str]]

    async def serve(self) -> None:
        """Answer calls until the client disconnects."""
        with suppress(asyncio.IncompleteReadError):
            await self._serve()
        await self.close()

    async def _serve(self) -> None:
        while True:
            _, stream, _ = await self.frame(frames.DATA)
            if not self.refusals:
                self.answer(stream, b"")
                continue
            code, text = self.refusals.pop(0)
            status = b"\0\x0bgrpc-status" + bytes((len(str(code)),)) + str(code).encode()
            said = b"\0\x0cgrpc-message" + bytes((len(text),)) + text.encode()
            self.send(frames.frame(frames.HEADERS, END, stream, HEADERS + status + said))


@asynccontextmanager
async def calls(*refusals: tuple[int, str]) -> AsyncGenerator[Calls]:
    """Yield calls to a server that rejects the first writes."""
    left = list(refusals)
    serving: list[asyncio.Task[None]] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        member = _Member(reader, writer)
        member.refusals = left
        await member.greet()
        serving.append(asyncio.ensure_future(member.serve()))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    servers = Servers(EtcdConfig(servers=[f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"]))
    try:
        async with asyncio.timeout(30):
            yield Calls(servers, 20, 5)
    finally:
        await servers.close()
        server.close()
        await asyncio.gather(*serving)


UNKNOWN_OUTCOMES = [
    (1, "etcdserver: request cancelled"),
    (2, "raft proposal dropped"),
    (4, "context deadline exceeded"),
    (8, "etcdserver: too many requests"),
    (14, "etcdserver: leader changed"),
    (14, "etcdserver: no leader"),
    (14, "etcdserver: request timed out"),
    (14, "etcdserver: request timed out, possibly due to connection lost"),
    (14, "etcdserver: request timed out, possibly due to previous leader failure"),
    (14, "etcdserver: server stopped"),
]


@pytest.mark.parametrize("refusal", UNKNOWN_OUTCOMES, ids=[text for _, text in UNKNOWN_OUTCOMES])
async def test_does_not_repeat_an_answered_write(refusal: tuple[int, str]) -> None:
    """Raise etcd's error, in the words of grpc-go, for a write that may have been proposed; send no second attempt."""
    code, text = refusal
    async with calls(refusal) as to:
        with pytest.raises(UnavailableError) as caught:
            await to.write(TXN)
    said = text if text.startswith("etcdserver:") else f"rpc error: code = {name_of(code)} desc = {text}"
    assert str(caught.value) == said


async def test_repeats_a_read() -> None:
    """Repeat a read after an error that may pass."""
    async with calls((4, "context deadline exceeded"), (14, "etcdserver: leader changed")) as to:
        assert (await to.read(RANGE, rpc.RangeRequest())).header.revision == 0


async def test_only_writes_beside_others_wait_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gather writes that are under way together; send a lone write and reads at once."""
    gathered: list[tuple[str, bool]] = []
    unary = Channel.unary

    async def recorded(channel: Channel, path: str, message: bytes, seconds: float, *, gather: bool = False) -> bytes:
        gathered.append((path, gather))
        return await unary(channel, path, message, seconds, gather=gather)

    monkeypatch.setattr(Channel, "unary", recorded)
    async with calls() as some:
        await some.write(TXN)
        await asyncio.gather(some.write(TXN), some.write(TXN), some.read(RANGE, rpc.RangeRequest()))
        await some.write(TXN)

    txn, read = "/etcdserverpb.KV/Txn", RANGE.path
    assert gathered == [(txn, False), (txn, False), (txn, True), (read, False), (txn, False)]

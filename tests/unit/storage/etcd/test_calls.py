"""Writes to servers that may not be able to do them."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import pytest

from apiext.storage.backend import UnavailableError
from apiext.storage.etcd.aetcd_messages import rpc
from apiext.storage.etcd.calls import Calls
from apiext.storage.etcd.config import EtcdConfig
from apiext.storage.etcd.http2 import frames
from apiext.storage.etcd.servers import Servers
from tests.unit.storage.etcd.peer import BEGIN, Peer

END = frames.END_HEADERS | frames.END_STREAM
TXN = rpc.TxnRequest()


class _Member(Peer):
    """Refuses writes with a status as long as it has any, then does them."""

    refusals: list[tuple[int, str]]

    async def serve(self) -> None:
        """Answer one call after the other, until the client is gone."""
        with suppress(asyncio.IncompleteReadError):
            await self._serve()
        await self.close()

    async def _serve(self) -> None:
        while True:
            _, stream, _ = await self.frame(frames.DATA)
            if not self.refusals:
                self.answer(stream, rpc.TxnResponse(succeeded=True).SerializeToString())
                continue
            code, text = self.refusals.pop(0)
            status = b"\0\x0bgrpc-status" + bytes((len(str(code)),)) + str(code).encode()
            said = b"\0\x0cgrpc-message" + bytes((len(text),)) + text.encode()
            self.say(frames.frame(frames.HEADERS, END, stream, BEGIN + status + said))


@asynccontextmanager
async def calls(*refusals: tuple[int, str]) -> AsyncGenerator[Calls]:
    """Calls to a member that refuses the first writes."""
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


async def test_without_a_leader() -> None:
    """A write that could not be proposed, as there was no leader, is sent again."""
    async with calls((4, "context deadline exceeded"), (4, "context deadline exceeded")) as to:
        assert (await to.write(TXN)).succeeded


@pytest.mark.parametrize("refusal", [(14, "etcdserver: request timed out"), (14, "etcdserver: leader changed"), (4, "no answer in time")])
async def test_of_unknown_outcome(refusal: tuple[int, str]) -> None:
    """A write that may have been done is not sent again, and ends in etcd's words."""
    async with calls(refusal) as to:
        with pytest.raises(UnavailableError) as caught:
            await to.write(TXN)
        assert str(caught.value) == (refusal[1] if refusal[0] == 14 else "etcd did not answer in time")

"""A server that says just what a test has it say."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from apiext.storage.etcd.http2 import frames
from apiext.storage.etcd.http2.channel import Channel

OK = b"\0\x0bgrpc-status\x010"
BEGIN = b"\x88"


def message(content: bytes) -> bytes:
    """A message with its prefix."""
    return b"\0" + len(content).to_bytes(4, "big") + content


class Peer:
    """The server's side of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def frame(self, kind: int) -> tuple[int, int, bytes]:
        """The next frame of a kind: flags, stream, payload; others are passed over."""
        while True:
            high, low, found, flags, stream = frames.HEAD.unpack(await self._reader.readexactly(frames.HEAD_SIZE))
            payload = await self._reader.readexactly((high << 16) + low)
            if found == kind:
                return flags, stream, payload

    async def greet(self, settings: dict[int, int] | None = None) -> None:
        """Begin to speak."""
        assert await self._reader.readexactly(len(frames.PREFACE)) == frames.PREFACE
        self.say(frames.settings(settings or {}))

    def say(self, *parts: bytes) -> None:
        """Send something."""
        self._writer.write(b"".join(parts))

    def data(self, stream: int, content: bytes) -> None:
        """Send a part of an answer, in frames that are not too long."""
        for at in range(0, len(content), frames.DEFAULT_FRAME):
            self.say(frames.frame(frames.DATA, 0, stream, content[at : at + frames.DEFAULT_FRAME]))

    def answer(self, stream: int, content: bytes) -> None:
        """Answer a call."""
        self.say(frames.frame(frames.HEADERS, frames.END_HEADERS, stream, BEGIN))
        self.data(stream, message(content))
        self.say(frames.frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, stream, OK))

    async def close(self) -> None:
        """End the connection."""
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


@asynccontextmanager
async def connected(settings: dict[int, int] | None = None) -> AsyncGenerator[tuple[Channel, Peer]]:
    """A channel and the server that it is connected to."""
    peers: list[Peer] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Peer(reader, writer)
        peers.append(peer)
        await peer.greet(settings)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    channel = Channel("127.0.0.1", server.sockets[0].getsockname()[1], None)
    try:
        async with asyncio.timeout(30):
            await channel.connecting()
            yield channel, peers[0]
    finally:
        await channel.close()
        for peer in peers:
            await peer.close()
        server.close()

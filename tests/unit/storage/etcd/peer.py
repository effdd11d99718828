"""A scripted HTTP/2 server: it sends exactly the bytes that a test gives it."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from apiext.base.http2 import frames
from apiext.storage.etcd.http2.channel import Channel

TRAILERS = b"\0\x0bgrpc-status\x010"
HEADERS = b"\x88"


def message(content: bytes) -> bytes:
    """Add gRPC's prefix to a message."""
    return b"\0" + len(content).to_bytes(4, "big") + content


class Peer:
    """The server's side of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def frame(self, kind: int) -> tuple[int, int, bytes]:
        """Return flags, stream and payload of the next frame of a type; skip other frames."""
        while True:
            size_and_kind, flags, stream = frames.HEADER.unpack(await self._reader.readexactly(frames.HEADER_BYTES))
            payload = await self._reader.readexactly(size_and_kind >> 8)
            if size_and_kind & 0xFF == kind:
                return flags, stream, payload

    async def greet(self, settings: dict[int, int] | None = None) -> None:
        """Read the client's preface and send SETTINGS."""
        assert await self._reader.readexactly(len(frames.PREFACE)) == frames.PREFACE
        self.send(frames.settings(settings or {}))

    def send(self, *parts: bytes) -> None:
        """Send bytes."""
        self._writer.write(b"".join(parts))

    def data(self, stream: int, content: bytes) -> None:
        """Send a part of a response in DATA frames of the allowed size."""
        for at in range(0, len(content), frames.DEFAULT_FRAME_BYTES):
            self.send(frames.frame(frames.DATA, 0, stream, content[at : at + frames.DEFAULT_FRAME_BYTES]))

    def answer(self, stream: int, content: bytes) -> None:
        """Send a complete response."""
        self.send(frames.frame(frames.HEADERS, frames.END_HEADERS, stream, HEADERS))
        self.data(stream, message(content))
        self.send(frames.frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, stream, TRAILERS))

    async def close(self) -> None:
        """Close the connection."""
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


@asynccontextmanager
async def connected(settings: dict[int, int] | None = None) -> AsyncGenerator[tuple[Channel, Peer]]:
    """Yield a connected channel and its server."""
    peers: list[Peer] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Peer(reader, writer)
        peers.append(peer)
        await peer.greet(settings)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    channel = Channel("127.0.0.1", server.sockets[0].getsockname()[1], None)
    try:
        async with asyncio.timeout(30):
            await channel.connect()
            yield channel, peers[0]
    finally:
        await channel.close()
        for peer in peers:
            await peer.close()
        server.close()

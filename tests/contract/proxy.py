"""A TCP proxy that can cut connections, and delay and change answers."""

import asyncio
from typing import Self

from hack.lib.servers.listeners import Listener
from hack.lib.servers.process import free_port


class Proxy:
    """Forwards TCP connections to a port of the loopback address."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = Listener(self._accept, free_port())
        self.port = self._listener.port
        self._answering = asyncio.Event()
        self._answering.set()
        self.replaced = b"", b""
        """A text in the answers, and the text of the same length that the client gets."""
        self.asked = b"", b""
        """A text in the requests, and the text of the same length that the server gets."""

    @property
    def url(self) -> str:
        """Return the proxy's URL."""
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self.listen()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.cut()

    def listen(self) -> None:
        """Accept connections, on the same port as before."""
        self._listener.start()

    async def cut(self) -> None:
        """Abort all connections, with the answers that are held, and stop listening."""
        self._listener.abort()
        self.release()
        await self._listener.stop()

    def hold(self) -> None:
        """Forward requests and hold the answers."""
        self._answering.clear()

    def release(self) -> None:
        """Forward the held answers and all later ones."""
        self._answering.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def join(there: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
            await asyncio.gather(self._forward(reader, back, held=False), self._forward(there, writer, held=True))

        await self._listener.connect(self._target, join)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, held: bool) -> None:
        while data := await reader.read(1 << 16):
            if held:
                await self._answering.wait()
            old, new = self.replaced if held else self.asked
            if old:
                data = data.replace(old, new)
            writer.write(data)
            await writer.drain()
        writer.close()

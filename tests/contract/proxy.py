"""A TCP proxy that can cut connections, and delay and change answers."""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Self


class Proxy:
    """Forwards TCP connections to a port of the loopback address."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._answering = asyncio.Event()
        self._answering.set()
        self.port = 0
        self.replaced = b"", b""
        """A text in the answers, and the text of the same length that the client gets."""
        self.asked = b"", b""
        """A text in the requests, and the text of the same length that the server gets."""

    @property
    def url(self) -> str:
        """Return the proxy's URL."""
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        await self.listen()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.cut()

    async def listen(self) -> None:
        """Accept connections, on the same port as before."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        """Abort all connections, with the answers that are held, and stop listening."""
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.release()

    def hold(self) -> None:
        """Forward requests and hold the answers."""
        self._answering.clear()

    def release(self) -> None:
        """Forward the held answers and all later ones."""
        self._answering.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._target)
        self._writers |= {writer, back}
        self._start(self._forward(reader, back, held=False))
        self._start(self._forward(there, writer, held=True))

    def _start(self, forwarding: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(forwarding)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, held: bool) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                if held:
                    await self._answering.wait()
                old, new = self.replaced if held else self.asked
                if old:
                    data = data.replace(old, new)
                writer.write(data)
                await writer.drain()
        writer.close()
        self._writers.discard(writer)

"""Connections between the programs, through ports of their own that can be cut, silenced and slowed."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, Final, Self, TypeVar

from hack.lib.servers.process import free_port

T = TypeVar("T")
_BLOCK: Final = 1 << 16
_DELAY: Final = 0.05
"""Seconds that each block is late on a slowed link."""


class Weather(Enum):
    """What a link does with bytes and connections."""

    FAIR = "passes them on"
    SLOW = "passes them on late"
    SILENT = "holds them back"
    CUT = "breaks connections, and accepts none"


class Link:
    """Forwards connections from `port` to a port of the loopback address."""

    def __init__(self, target: int) -> None:
        self.port = free_port()
        self.target = target
        self.weather = Weather.FAIR
        self._calm = asyncio.Event()
        self._calm.set()
        self._open: set[asyncio.StreamWriter] = set()

    def change(self, weather: Weather) -> None:
        """Change the weather; in the event loop of the links."""
        self.weather = weather
        if weather is Weather.SILENT:
            self._calm.clear()
        else:
            self._calm.set()
        if weather is Weather.CUT:
            self.abort()

    def abort(self) -> None:
        """Break all connections."""
        for writer in self._open:
            writer.transport.abort()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward one connection until it ends."""
        self._open.add(writer)
        try:
            if self.weather is Weather.CUT:
                return
            await self._calm.wait()
            from_target, to_target = await asyncio.open_connection("127.0.0.1", self.target)
            self._open.add(to_target)
            try:
                await asyncio.gather(self._pump(reader, to_target), self._pump(from_target, writer))
            finally:
                self._open.discard(to_target)
                to_target.transport.abort()
        except OSError:
            pass  # One side closed its connection, so close the other one.
        finally:
            self._open.discard(writer)
            writer.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(_BLOCK):
            if self.weather is Weather.SLOW:
                await asyncio.sleep(_DELAY)
            await self._calm.wait()
            writer.write(data)
            await writer.drain()
        writer.write_eof()


class Links:
    """All links of a run, in a thread of their own during the block."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._listeners: list[asyncio.Server] = []
        self._links: list[Link] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(20)
        self._loop.close()

    def add(self, target: int) -> Link:
        """Return a new link to a port."""
        return self._run(self._listen(target))

    @contextmanager
    def under(self, weather: Weather, *links: Link) -> Iterator[None]:
        """Change the weather of links for the block."""
        self._run(self._change(weather, links))
        try:
            yield
        finally:
            self._run(self._change(Weather.FAIR, links))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(20)

    async def _listen(self, target: int) -> Link:
        link = Link(target)
        self._links.append(link)
        self._listeners.append(await asyncio.start_server(link.accept, "127.0.0.1", link.port))
        return link

    @staticmethod
    async def _change(weather: Weather, links: tuple[Link, ...]) -> None:
        for link in links:
            link.change(weather)

    async def _close(self) -> None:
        for listener in self._listeners:
            listener.close()
        await self._change(Weather.FAIR, tuple(self._links))
        for link in self._links:
            link.abort()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        await asyncio.gather(*others, return_exceptions=True)
        await self._loop.shutdown_default_executor()

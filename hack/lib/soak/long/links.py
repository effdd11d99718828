"""Connections between the programs, through ports of their own that can be cut, silenced and slowed."""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Final

from hack.lib.servers.listeners import Listener, Listeners
from hack.lib.servers.process import free_port

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
        self.listener = Listener(self._accept, free_port())
        self.port = self.listener.port
        self.target = target
        self.weather = Weather.FAIR
        self._calm = asyncio.Event()
        self._calm.set()

    def change(self, weather: Weather) -> None:
        """Change the weather; in the event loop of the links."""
        self.weather = weather
        if weather is Weather.SILENT:
            self._calm.clear()
        else:
            self._calm.set()
        if weather is Weather.CUT:
            self.listener.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward one connection until it ends."""
        if self.weather is Weather.CUT:
            return
        await self._calm.wait()

        async def join(from_target: asyncio.StreamReader, to_target: asyncio.StreamWriter) -> None:
            await asyncio.gather(self._pump(reader, to_target), self._pump(from_target, writer))

        await self.listener.connect(self.target, join)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(_BLOCK):
            if self.weather is Weather.SLOW:
                await asyncio.sleep(_DELAY)
            await self._calm.wait()
            writer.write(data)
            await writer.drain()
        writer.write_eof()


class Links(Listeners):
    """All links of a run, in a thread of their own during the block."""

    def __init__(self) -> None:
        super().__init__()
        self._links: list[Link] = []

    def __exit__(self, *exc: object) -> None:
        self.run(_change(Weather.FAIR, self._links))
        super().__exit__(*exc)

    def add(self, target: int) -> Link:
        """Return a new link to a port."""
        link = Link(target)
        self._links.append(link)
        self.start(link.listener)
        return link

    @contextmanager
    def under(self, weather: Weather, *links: Link) -> Iterator[None]:
        """Change the weather of links for the block."""
        self.run(_change(weather, links))
        try:
            yield
        finally:
            self.run(_change(Weather.FAIR, links))


async def _change(weather: Weather, links: Iterable[Link]) -> None:
    for link in links:
        link.change(weather)

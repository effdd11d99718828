"""A second server on a store, which does not see later changes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

from apiext.storage.backend import WatchBatch
from tests.support.servers.in_process import InProcess
from tests.support.servers.memory_backend import MemoryBackend


class _DelayedBackend:
    """Backend whose watches are delayed."""

    def __init__(self, backend: MemoryBackend) -> None:
        self._backend = backend
        self.delivers = asyncio.Event()
        self.delivers.set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    async def watch(self, prefix: str, *, start: int = 0, previous: bool = False) -> AsyncIterator[WatchBatch]:
        """Implement Backend.watch."""
        async for batch in self._backend.watch(prefix, start=start, previous=previous):
            await self.delivers.wait()
            yield batch


@asynccontextmanager
async def lagging_server(server: InProcess, path: str) -> AsyncIterator[InProcess]:
    """Yield another server on a server's store. It has read the collection at a path, and gets no later watch events."""
    late = _DelayedBackend(server.backend)
    async with InProcess(backend=cast("MemoryBackend", late), max_wait=0.01) as other:
        assert (await other.ask("GET", path)).status == 200
        late.delivers.clear()
        yield other
        late.delivers.set()

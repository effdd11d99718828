"""Helpers of the tests of watches."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager

from apiext.storage.backend import Backend, BackendEvent, WatchBatch, WriteResult


@asynccontextmanager
async def watching(backend: Backend, prefix: str, *, start: int = 0, previous: bool = True) -> AsyncGenerator[AsyncIterator[WatchBatch]]:
    """Open a watch for the block."""
    batches = backend.watch(prefix, start=start, previous=previous)
    try:
        yield batches
    finally:
        if isinstance(batches, AsyncGenerator):
            await batches.aclose()


async def first(batches: AsyncIterator[WatchBatch]) -> WatchBatch:
    """Return the next batch; fail after 30 s."""
    async with asyncio.timeout(30):
        return await anext(batches)


async def collect(batches: AsyncIterator[WatchBatch], until: Callable[[list[BackendEvent]], bool]) -> list[BackendEvent]:
    """Return all events until `until` accepts them; fail after 30 s."""
    events: list[BackendEvent] = []
    async with asyncio.timeout(30):
        while not until(events):
            batch = await anext(batches)
            assert all(event.revision <= batch.revision for event in batch.events)
            events.extend(batch.events)
    return events


async def write(backend: Backend, key: str, *values: bytes) -> WriteResult:
    """Create the key with the first value and update it with the others."""
    result = await backend.create(key, values[0])
    for value in values[1:]:
        result = await backend.update(key, value, expected=result.revision)
    assert result.succeeded
    return result

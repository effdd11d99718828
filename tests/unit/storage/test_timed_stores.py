"""Stores that measure how long requests wait for the backend."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from apiext.storage.backends.measured_backend import TimedBackend
from apiext.storage.factory import TimedStores
from apiext.storage.interface import ListOptions, Store, VersionMatch
from apiext.storage.store_times import STORE_TIMES, StoreTimes
from tests.support.builders.widgets import WIDGETS, WidgetCodec, widget
from tests.support.event_loop import settle
from tests.support.servers.memory_backend import MemoryBackend


@pytest.fixture
async def store(backend: MemoryBackend) -> AsyncIterator[Store]:
    """Yield a store of widgets with a cache."""
    stores = TimedStores(TimedBackend(backend, "/registry"), compaction_interval=0)
    await stores.start()
    yield stores.store(WIDGETS)
    await stores.close()


def _requested(call: Callable[[], Awaitable[object]]) -> tuple[asyncio.Task[None], StoreTimes]:
    """Start a request in a task of its own. Return it with its times."""
    times = StoreTimes()

    async def request() -> None:
        STORE_TIMES.set(times)
        await call()

    return asyncio.create_task(request()), times


async def _times(call: Callable[[], Awaitable[object]]) -> tuple[bool, bool, bool]:
    task, times = _requested(call)
    await task
    return times.reads > 0, times.writes > 0, times.decoding > 0


async def test_reads(store: Store, writer: Store, codec: WidgetCodec) -> None:
    """Measure the wait for the store's revision, and the decoding of a list that the backend answers; a cached read takes neither."""
    written = await writer.create("a/x", widget("a/x"), codec)
    await writer.create("a/y", widget("a/y"), codec)
    past = ListOptions(resource_version=str(written.revision), match=VersionMatch.EXACT)
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: store.list("", codec, ListOptions()),
        lambda: store.get("a/x", codec),
        lambda: store.get("a/x", codec, resource_version="0"),
        lambda: store.list("", codec, past),
    ]

    assert [await _times(call) for call in calls] == [
        (True, False, False),
        (True, False, False),
        (False, False, False),
        (False, False, True),
    ]


async def test_load(store: Store, codec: WidgetCodec) -> None:
    """Do not count the load of the cache as the read of the create that begins it."""
    assert await _times(lambda: store.create("a/x", widget("a/x"), codec)) == (False, True, False)


async def test_shared_questions(store: Store, backend: MemoryBackend, codec: WidgetCodec) -> None:
    """Count for each reader its own wait for the answer that they share."""
    await store.create("a/x", widget("a/x"), codec)
    await store.list("", codec, ListOptions())
    backend.calls.clear()
    backend.gate.clear()
    first, times = _requested(lambda: store.get("a/x", codec))
    second, later = _requested(lambda: store.get("a/x", codec))
    await settle()
    backend.gate.set()
    await asyncio.gather(first, second)

    assert (times.reads > 0, later.reads > 0, backend.calls) == (True, True, {"revision": 1})

"""The past of a cache, read from the store for watches that resume."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from apiext.storage.backend import ProgressUnreliableError, WatchBatch
from apiext.storage.cacher import history, refill
from apiext.storage.cacher.cached_store import CachedStore
from apiext.storage.factory import StoreFactory
from apiext.storage.interface import ListOptions, Store, WatchOptions
from tests.support.builders.widgets import WIDGETS, WidgetCodec, change, error_code, watching, widget
from tests.support.event_loop import settle
from tests.support.refusals import refusal
from tests.support.servers.memory_backend import MemoryBackend

pytestmark = pytest.mark.usefixtures("impatient")

Make = Callable[[], Awaitable[CachedStore]]


@pytest.fixture
async def restarted(backend: MemoryBackend, writer: Store, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Make]:
    """Yield a function that returns the loaded store of a server that begins with the revision 12, after 10 creations."""
    monkeypatch.setattr(refill, "PROGRESS_INTERVAL_SECONDS", 0.001)
    for number in range(2, 13):
        await writer.create(f"a/{number}", widget(f"a/{number}"), WidgetCodec())
    factory = StoreFactory(backend, compaction_interval=0)

    async def make() -> CachedStore:
        await factory.start()
        store = factory.store(WIDGETS)
        assert isinstance(store, CachedStore)
        assert (await store.list("", WidgetCodec(), ListOptions())).revision == 12
        return store

    yield make
    await factory.close()


@pytest.fixture
async def store(restarted: Make) -> CachedStore:
    """Return the store of a restarted server."""
    return await restarted()


async def code(store: CachedStore, revision: int) -> int:
    """Return the code of the error with which a watch from a revision begins; 0 if it begins with an event."""
    async with watching(store, WidgetCodec(), resource_version=str(revision)) as reader:
        return error_code(await reader.next())


async def test_reads_the_store_once_for_all(backend: MemoryBackend, store: CachedStore) -> None:
    """Begin one watch of the backend at the lowest revision of all that wait."""
    before = backend.calls["watch"]
    assert set(await asyncio.gather(*(code(store, revision) for revision in (7, 3, 10, 5) * 10))) == {0}
    assert backend.calls["watch"] == before + 1
    assert store.cache.history.floor == 3
    assert await code(store, 2) == 0
    assert backend.calls["watch"] == before + 2


async def test_reads_nothing_without_need(backend: MemoryBackend, store: CachedStore) -> None:
    """Do not read the store for lists, and for watches from the present, or from the revision at which nothing is stored."""
    before = backend.calls["watch"]
    changed = await change(store, WidgetCodec(), "a/3", color="red")
    assert await code(store, 12) == 0
    async with watching(store, WidgetCodec(), resource_version=str(changed.revision)):
        pass
    assert await code(store, 1) == 410
    assert backend.calls["watch"] == before


async def test_shares_the_entries_of_the_cache(store: CachedStore) -> None:
    """Keep an object once that has not changed since; the cache is as it was."""
    cache = store.cache
    before = dict(cache.entries), list(cache.range("")), cache.generation
    assert await code(store, 5) == 0
    assert [change.entry for change in cache.history.all()] == [cache.entries[f"a/{number}"] for number in range(6, 13)]
    assert all(change.entry is cache.entries[change.key] for change in cache.history.all())
    assert (cache.entries, list(cache.range("")), cache.generation) == before


async def test_updates_lists_after_it(restarted: Make) -> None:
    """Update sorted views from what the cache has added, not from the past."""
    store, codec = await restarted(), WidgetCodec()
    assert await code(store, 5) == 0
    for color in ("red", "blue"):
        await change(store, codec, "a/3", color=color)
        listed = await store.list("", codec, ListOptions())
        assert {item.key: item.data for item in listed.items} == {
            item.key: (await store.get(item.key, codec)).data for item in listed.items
        }


async def test_limits_memory(backend: MemoryBackend, store: CachedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the latest changes that fit; answer 410 at once to watches from an earlier revision."""
    size = store.cache.entries["a/12"].size
    monkeypatch.setattr(history, "MAX_BYTES", 4 * size)
    assert await code(store, 5) == 410
    before = backend.calls["watch"]
    assert [await code(store, revision) for revision in (5, 4, 7)] == [410, 410, 410]
    assert (store.cache.history.floor, await code(store, 9)) == (8, 0)
    assert backend.calls["watch"] == before


async def test_limits_revisions(backend: MemoryBackend, restarted: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer 410 to watches from a revision that is too far back."""
    monkeypatch.setattr(refill, "MAX_CHANGES", 5)
    store = await restarted()
    before = backend.calls["watch"]
    assert await code(store, 6) == 410
    assert backend.calls["watch"] == before
    assert await code(store, 7) == 0


async def test_limits_time(backend: MemoryBackend, restarted: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer 410 if the store does not send the whole past in time."""
    monkeypatch.setattr(refill, "MAX_SECONDS", 0.01)
    store, watch = await restarted(), backend.watch

    async def slow(prefix: str, *, start: int = 0, previous: bool = False) -> AsyncIterator[WatchBatch]:
        async for batch in watch(prefix, start=start, previous=previous):
            yield WatchBatch(batch.events[:1], start)
            await asyncio.Event().wait()

    with monkeypatch.context() as slowly:
        slowly.setattr(backend, "watch", slow)
        assert await code(store, 5) == 410
    assert [await code(store, revision) for revision in (5, 6)] == [410, 0]


async def test_waits_for_a_store_that_is_silent(backend: MemoryBackend, store: CachedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer 429 if the store sends nothing in time; the next watch reads again."""
    await backend.change(deaf=True)
    with monkeypatch.context() as soon:
        soon.setattr(refill, "MAX_SECONDS", 0.01)
        raised = await refusal(store.watch("", WidgetCodec(), WatchOptions(resource_version="5")))
    assert raised.code == 429
    await backend.change(deaf=False)
    assert await code(store, 5) == 0


async def test_needs_reliable_progress(backend: MemoryBackend, restarted: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer 410 where the store may report progress too early."""

    async def refuse() -> None:
        raise ProgressUnreliableError("old")

    store = await restarted()
    monkeypatch.setattr(backend, "request_progress", refuse)
    assert await code(store, 5) == 410


async def test_refuses_watches_while_the_store_does_not_answer(backend: MemoryBackend, store: CachedStore) -> None:
    """Answer 429, after which informers do not list; the next watch reads again."""
    await backend.change(broken=True)
    raised = await refusal(store.watch("", WidgetCodec(), WatchOptions(resource_version="5")))
    assert (raised.code, raised.retry_after) == (429, 1)
    await backend.change(broken=False)
    assert await code(store, 5) == 0


async def test_goes_on_for_the_others(backend: MemoryBackend, store: CachedStore) -> None:
    """Read on if one of the clients that wait has gone."""
    await backend.change(deaf=True)
    gone, waiting = (asyncio.ensure_future(code(store, revision)) for revision in (4, 6))
    await settle()
    gone.cancel()
    await backend.change(deaf=False)
    assert await waiting == 0


async def test_ends_with_the_cache(backend: MemoryBackend, store: CachedStore) -> None:
    """End a watch that waits, without an error, when its store is dropped."""
    await backend.change(deaf=True)
    waiting = asyncio.ensure_future(store.watch("", WidgetCodec(), WatchOptions(resource_version="5")))
    await settle()
    store.close()
    assert [event async for event in await waiting] == []


async def test_reaches_a_history_that_shrinks(backend: MemoryBackend, restarted: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read up to the first change that the history still has when the read ends."""
    store, codec, watch, goes_on = await restarted(), WidgetCodec(), backend.watch, asyncio.Event()

    async def late(prefix: str, *, start: int = 0, previous: bool = False) -> AsyncIterator[WatchBatch]:
        await goes_on.wait()
        async for batch in watch(prefix, start=start, previous=previous):
            yield batch

    monkeypatch.setattr(backend, "watch", late)
    waiting = asyncio.ensure_future(code(store, 5))
    await settle()
    for number in range(13, 16):
        await store.create(f"a/{number}", widget(f"a/{number}"), codec)
        store.cache.history.begin((await store.list("", codec, ListOptions())).revision)
    goes_on.set()
    assert await waiting == 0
    assert [change.revision for change in store.cache.history.since(5)] == list(range(6, 16))


async def test_does_not_mix_true_changes_with_derived_ones(backend: MemoryBackend, restarted: Make) -> None:
    """Answer 410 to a watch from before a list that replaced lost changes; read what has happened since then."""
    store, codec = await restarted(), WidgetCodec()
    listed = await backend.revision()
    await backend.change(deaf=True)
    reloaded = (await backend.create("/registry/example.com/gadgets/a", b"{}")).revision
    await store.cache.reload(reloaded)
    await backend.change(deaf=False)
    await store.create("a/20", widget("a/20"), codec)
    await change(store, codec, "a/20", color="red")
    latest = (await store.list("", codec, ListOptions())).revision
    assert await code(store, listed) == 410
    store.cache.history.begin(latest, sealed=reloaded)
    assert await code(store, reloaded) == 0

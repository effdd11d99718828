"""The feed of the caches over failing backends."""

import asyncio

import pytest

from apiext.base.meta.errors import StatusError
from apiext.storage.backend import UnavailableError
from apiext.storage.cacher import feed
from apiext.storage.cacher.cached_store import CachedStore
from apiext.storage.factory import StoreFactory
from apiext.storage.interface import EventType, ListOptions, Store
from tests.support.builders.widgets import WIDGETS, Informer, WidgetCodec, change, seen, watching, widget
from tests.support.event_loop import until
from tests.support.servers.memory_backend import MemoryBackend
from tests.support.servers.stores import running_stores

pytestmark = pytest.mark.usefixtures("impatient")


async def test_start_fails_without_a_backend(backend: MemoryBackend) -> None:
    """Raise the backend's error at the start."""
    backend.broken = True
    factory = StoreFactory(backend, compaction_interval=0)

    with pytest.raises(UnavailableError):
        await factory.start()
    await factory.close()


async def test_resumes_a_broken_watch(backend: MemoryBackend, store: CachedStore, codec: WidgetCodec) -> None:
    """Resume a broken backend watch without losing a change."""
    await store.create("a/x", widget("a/x"), codec)
    start = (await store.list("", codec, ListOptions())).revision
    async with watching(store, codec, resource_version=str(start)) as reader:
        await backend.change(broken=True)
        with pytest.raises(UnavailableError):
            await store.get("a/x", codec)
        await backend.change(broken=False)
        changed = await change(store, codec, "a/x", color="red")
        assert await reader.take(1) == [("MODIFIED", "a/x", changed.revision)]
    assert (await store.get("a/x", codec)).revision == changed.revision


async def test_reloads_after_a_compaction(backend: MemoryBackend, store: CachedStore, writer: Store, codec: WidgetCodec) -> None:
    """Deliver compacted changes as the difference between the states."""
    informer = Informer()
    for name in ("kept", "changed", "deleted", "replaced"):
        await writer.create(f"a/{name}", widget(f"a/{name}"), codec)
    async with watching(store, codec, send_initial_events=True, allow_bookmarks=True) as reader:
        for event in await reader.until(lambda event: event.type is EventType.BOOKMARK):
            informer.take(event)
        await backend.change(deaf=True)
        await change(writer, codec, "a/changed", color="red")
        for name in ("deleted", "replaced"):
            await writer.delete(f"a/{name}", codec)
        await writer.create("a/replaced", widget("a/replaced", color="new"), codec)
        await writer.create("a/created", widget("a/created"), codec)
        await backend.compact(await backend.revision())
        await backend.change(broken=True, deaf=False)
        await backend.change(broken=False)
        for event in await reader.until(lambda event: event.type is EventType.DELETED):
            informer.take(event)
        last = await writer.create("a/last", widget("a/last"), codec)
        for event in await reader.until(lambda event: event.revision == last.revision):
            informer.take(event)
    listed = await store.list("", codec, ListOptions())

    assert informer.objects == {item.key: item.object() for item in listed.items}
    assert [item.key for item in listed.items] == ["a/changed", "a/created", "a/kept", "a/last", "a/replaced"]


async def test_reads_the_backend_while_the_cache_lags(backend: MemoryBackend, codec: WidgetCodec) -> None:
    """Read the latest state from the backend while the cache lags."""
    async with running_stores(backend, max_wait=0.01) as factory:
        store = factory.store(WIDGETS)
        await store.create("a/x", widget("a/x"), codec)
        await store.list("", codec, ListOptions())
        await backend.change(deaf=True)
        changed = await change(store, codec, "a/x", color="red")

        assert (await store.get("a/x", codec)).revision == changed.revision
        assert [item.revision for item in (await store.list("", codec, ListOptions())).items] == [changed.revision]
        assert (await store.get("a/x", codec, resource_version="0")).revision < changed.revision
        with pytest.raises(StatusError, match="Too large resource version"):
            await store.get("a/x", codec, resource_version=str(changed.revision))
        await backend.change(deaf=False)
        assert (await store.get("a/x", codec, resource_version=str(changed.revision))).revision == changed.revision


async def test_requests_progress(backend: MemoryBackend, store: CachedStore, codec: WidgetCodec) -> None:
    """Request progress for a read that waits for a revision written elsewhere."""
    await store.create("a/x", widget("a/x"), codec)
    await store.list("", codec, ListOptions())
    await backend.create("/elsewhere", b"")

    async with asyncio.timeout(30):
        assert (await store.list("", codec, ListOptions())).revision == await backend.revision()
    assert backend.calls["request_progress"] >= 1


async def test_requests_progress_without_readers(backend: MemoryBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reach the revision of a write elsewhere that no reader waits for, also after requests that fail."""
    monkeypatch.setattr(feed, "IDLE_PROGRESS_SECONDS", 0.001)
    async with running_stores(backend) as factory:
        await backend.change(broken=True)
        await until(lambda: backend.calls.get("request_progress", 0) >= 2)
        await backend.change(broken=False)
        written = await backend.create("/elsewhere", b"")

        await until(lambda: factory.cache_revision == written.revision)


async def test_retries_a_failed_load(backend: MemoryBackend, store: CachedStore, codec: WidgetCodec) -> None:
    """Fail the read whose load failed, and load again for the next one."""
    await store.create("a/x", widget("a/x"), codec)
    await backend.change(broken=True)
    with pytest.raises(UnavailableError):
        await store.list("", codec, ListOptions())
    with pytest.raises(UnavailableError):
        await store.get("a/x", codec)
    await backend.change(broken=False)

    assert len((await store.list("", codec, ListOptions())).items) == 1


async def test_serves_any_age_without_the_backend(backend: MemoryBackend, store: CachedStore, codec: WidgetCodec) -> None:
    """Serve reads of any age from memory while the backend does not answer."""
    await store.create("a/x", widget("a/x"), codec)
    await store.list("", codec, ListOptions())
    backend.gate.clear()

    assert (await store.get("a/x", codec, resource_version="0")).key == "a/x"
    assert store.cached_item("a/x", codec) is await store.get("a/x", codec, resource_version="0")
    assert len((await store.list("", codec, ListOptions(resource_version="0"))).items) == 1
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(store.get("a/x", codec), 0.01)
    backend.gate.set()
    assert (await store.get("a/x", codec)).key == "a/x"


async def test_applies_large_batches_in_slices(backend: MemoryBackend, store: CachedStore, codec: WidgetCodec) -> None:
    """Apply a large batch in slices, each revision as a whole."""
    start = (await store.list("", codec, ListOptions())).revision
    async with watching(store, codec, resource_version=str(start)) as reader:
        await backend.change(deaf=True)
        for number in range(300):
            await store.create(f"a/{number:03}", widget(f"a/{number:03}"), codec)
        await backend.change(deaf=False)
        batch = await anext(aiter(reader.watch))
        assert len(batch) < 300
        events = await reader.take(300 - len(batch))

    assert [key for _, key, _ in [*map(seen, batch), *events]] == [f"a/{number:03}" for number in range(300)]


async def test_reports_changes_of_any_resource(backend: MemoryBackend, factory: StoreFactory) -> None:
    """Report the resources of changes to an observer, with a cache or without one, until it leaves; report lost changes as none."""
    seen: list[set[str]] = []
    end = factory.observe(lambda prefixes: seen.append({*prefixes}))
    assert end is not None
    await backend.create("/registry/example.com/widgets/a/x", b"{}")
    await until(lambda: seen)
    await backend.create("/registry/example.com/gadgets/x", b"{}")
    await until(lambda: len(seen) > 1)
    await backend.change(deaf=True)
    for name in "yz":
        await backend.create(f"/registry/example.com/gadgets/{name}", b"{}")
    await backend.compact(await backend.revision())
    await backend.change(broken=True, deaf=False)
    await backend.change(broken=False)
    await until(lambda: len(seen) > 2)
    end()
    end()
    later: list[object] = []
    factory.observe(later.append)
    await backend.create("/registry/example.com/gadgets/later", b"{}")
    await until(lambda: later)

    assert seen == [{"/registry/example.com/widgets/"}, {"/registry/example.com/gadgets/"}, set()]


async def test_without_a_cache_nothing_is_reported(backend: MemoryBackend) -> None:
    """Say that changes are not watched."""
    assert StoreFactory(backend, watch_cache=False, compaction_interval=0).observe(lambda _: None) is None

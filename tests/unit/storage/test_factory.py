"""Stores of one factory, and caches over time."""

import asyncio
import gc
import logging
from types import SimpleNamespace
from typing import cast

import pytest

from apiext.base.meta import errors, limits
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.errors import StatusError
from apiext.base.meta.gvk import GroupResource
from apiext.storage import factory as factories
from apiext.storage.backend import CompactedError
from apiext.storage.cacher import history
from apiext.storage.cacher.cached_store import CachedStore
from apiext.storage.factory import StoreFactory
from apiext.storage.interface import EventType, Item, ListOptions, Store, VersionMatch
from apiext.storage.rendering import watch_queue
from apiext.storage.writer import WriteGuard
from tests.support.builders.widgets import WIDGETS, Reader, WidgetCodec, change, labelled, watching, widget
from tests.support.event_loop import Clock, settle
from tests.support.servers.memory_backend import MemoryBackend
from tests.support.servers.stores import direct_store, running_stores


async def test_returns_one_store_for_a_resource(factory: StoreFactory, store: CachedStore) -> None:
    """Return the same store for a resource until it is dropped."""
    assert factory.store(WIDGETS) is store
    assert factory.store(GroupResource("example.com", "gadgets")) is not store
    factory.drop(WIDGETS)
    factory.drop(WIDGETS)
    assert factory.store(WIDGETS) is not store


def _refuse(_value: bytes | None) -> None:
    raise errors.bad_request("refused")


async def test_counts_without_a_store(backend: MemoryBackend, writer: Store, codec: WidgetCodec) -> None:
    """Count the stored objects of a resource without creating its store: the first call of `store` decides its guard."""
    await writer.create("a/x", widget("a/x"), codec)
    async with running_stores(backend) as other:
        assert await other.count(WIDGETS) == 1
        store = other.store(WIDGETS, cast("WriteGuard", SimpleNamespace(decide=_refuse)))
        with pytest.raises(StatusError, match="refused"):
            await store.create("a/y", widget("a/y"), codec)


async def test_feeds_all_caches_from_one_watch(backend: MemoryBackend, factory: StoreFactory, codec: WidgetCodec) -> None:
    """Open one backend watch for all resources; each cache gets its own changes."""
    resources = [GroupResource("", "widgets"), GroupResource("example.com", "widgets"), GroupResource("example.com", "w")]
    stores = [factory.store(resource) for resource in resources]
    for number, store in enumerate(stores):
        await store.list("", codec, ListOptions())
        await store.create(f"a/{number}", widget(f"a/{number}"), codec)
    listed = [[item.key for item in (await store.list("", codec, ListOptions())).items] for store in stores]

    assert listed == [["a/0"], ["a/1"], ["a/2"]]
    assert backend.calls["watch"] == 1


async def test_reads_from_memory_request_only_the_revision(backend: MemoryBackend, store: CachedStore, codec: WidgetCodec) -> None:
    """Ask the backend only for its revision once a cache is loaded."""
    await store.create("a/x", widget("a/x", labels={"app": "web"}), codec)
    await store.list("", codec, ListOptions())
    before = dict(backend.calls)
    for _ in range(3):
        await store.get("a/x", codec)
        page = await store.list("", codec, ListOptions(limit=1))
        exact = ListOptions(resource_version=str(page.revision), match=VersionMatch.EXACT)
        await store.list("", codec, exact)
        await store.list("a/", codec, ListOptions(selection=labelled("app=web")))

    assert {call: count - before.get(call, 0) for call, count in backend.calls.items() if count != before.get(call)} == {"revision": 9}


async def test_knows_the_latest_revision_without_a_read(
    backend: MemoryBackend, writer: Store, store: CachedStore, codec: WidgetCodec
) -> None:
    """Ask for the store's revision only to tell whether an object is unchanged; not if unchanged objects may need a write."""
    first = await writer.create("a/x", widget("a/x"), codec)
    assert not await writer.is_latest("a/x", first.revision)
    assert not await store.is_latest("a/x", first.revision)
    await store.list("", codec, ListOptions())
    assert await store.is_latest("a/x", first.revision)
    assert not await store.is_latest("a/absent", first.revision)
    second = await change(writer, codec, "a/x", size=2)
    before = dict(backend.calls)
    assert not await store.is_latest("a/x", first.revision)
    assert await store.is_latest("a/x", second.revision)
    store.rewrites = True
    assert not await store.is_latest("a/x", second.revision)
    assert {call: count - before.get(call, 0) for call, count in backend.calls.items() if count != before.get(call)} == {"revision": 2}


async def test_renders_a_written_object_once(store: CachedStore, codec: WidgetCodec) -> None:
    """Share the rendering of a write among reads, lists and watches."""
    start = (await store.list("", codec, ListOptions())).revision
    async with (
        watching(store, codec, resource_version=str(start)) as one,
        watching(store, codec, "a/", resource_version=str(start)) as two,
    ):
        created = await store.create("a/x", widget("a/x"), codec)
        events = [await one.next(), await two.next()]
    read = await store.get("a/x", codec)
    listed = await store.list("", codec, ListOptions())

    assert codec.decoded == 1
    assert events[0].item is events[1].item is read is listed.items[0] is created
    assert events[0] is events[1]


async def test_shares_events_among_equal_watchers(store: CachedStore, codec: WidgetCodec) -> None:
    """Share event objects among watchers with equal interests."""
    start = str((await store.list("", codec, ListOptions())).revision)
    async with watching(store, codec, resource_version=start) as one, watching(store, codec, resource_version=start) as two:
        await store.create("a/x", widget("a/x"), codec)
        assert await one.next() is await two.next()


async def test_sends_bookmarks(store: CachedStore, codec: WidgetCodec, clock: Clock) -> None:
    """Send a bookmark with the latest revision each minute if there were changes."""
    await store.create("b/x", widget("b/x"), codec)
    start = str((await store.list("", codec, ListOptions())).revision)
    async with (
        watching(store, codec, "a/", resource_version=start, allow_bookmarks=True) as reader,
        watching(store, codec, "a/", resource_version=start) as plain,
    ):
        clock.now += 61
        await store.cache.tick()
        last = await change(store, codec, "b/x", color="red")
        await store.list("", codec, ListOptions())
        clock.now += 59
        await store.cache.tick()
        clock.now += 2
        await store.cache.tick()
        event = await reader.next()
        assert (event.type, event.revision, event.item) == (EventType.BOOKMARK, last.revision, None)
        assert json_codec.loads(event.line)["object"] == {
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "metadata": {"resourceVersion": str(last.revision)},
        }
        created = await store.create("a/x", widget("a/x"), codec)
        assert await reader.take(1) == await plain.take(1) == [("ADDED", "a/x", created.revision)]


async def test_sends_a_bookmark_before_the_end(store: CachedStore, codec: WidgetCodec, clock: Clock) -> None:
    """Send a bookmark two seconds before the end of a watch, and none afterwards."""
    start = str((await store.list("", codec, ListOptions())).revision)
    async with watching(store, codec, "a/", resource_version=start, allow_bookmarks=True, timeout=10) as reader:
        last = await store.create("b/x", widget("b/x"), codec)
        await store.list("", codec, ListOptions())
        for _ in range(3):
            clock.now += 7.9
            await store.cache.tick()
            clock.now += 0.2
            await store.cache.tick()
        assert await seen_revisions(reader) == [last.revision]


async def test_sends_no_bookmark_of_a_missed_change(store: CachedStore, codec: WidgetCodec, clock: Clock) -> None:
    """Send no bookmark with the revision of the last change that a resumed watch has missed."""
    start = str((await store.list("", codec, ListOptions())).revision)
    await store.create("b/x", widget("b/x"), codec)
    await store.list("", codec, ListOptions())
    async with watching(store, codec, "a/", resource_version=start, allow_bookmarks=True) as reader:
        clock.now += 61
        await store.cache.tick()
        last = await store.create("b/y", widget("b/y"), codec)
        await store.list("", codec, ListOptions())
        clock.now += 61
        await store.cache.tick()
        assert await seen_revisions(reader) == [last.revision]


async def seen_revisions(reader: Reader) -> list[int]:
    """End a watch, and return the revisions of the events before."""
    assert isinstance(reader.watch, watch_queue.WatchQueue)
    reader.watch.finish()
    return [event.revision for event in await reader.rest()]


async def test_sends_bookmarks_without_a_cache(backend: MemoryBackend, codec: WidgetCodec) -> None:
    """Send bookmarks without a cache, each interval and before the end."""
    start = str(await backend.revision())
    async with running_stores(backend, watch_cache=False, bookmark_interval=0.01) as factory:
        store = factory.store(WIDGETS)
        async with watching(store, codec, resource_version=start, allow_bookmarks=True) as reader:
            created = await store.create("a/x", widget("a/x"), codec)
            added = (await reader.until(lambda event: event.type is EventType.ADDED))[-1]
            bookmarks = await reader.take(2)
    async with watching(direct_store(backend), codec, resource_version=start, allow_bookmarks=True, timeout=2.01) as reader:
        ending = await reader.take(2)

    assert added.revision == created.revision
    assert bookmarks == [("BOOKMARK", "", created.revision)] * 2
    assert ending == [("ADDED", "a/x", created.revision), ("BOOKMARK", "", created.revision)]


async def test_ends_a_slow_watcher(store: CachedStore, codec: WidgetCodec, monkeypatch: pytest.MonkeyPatch) -> None:
    """End a watcher that does not read after the queued events; equal watchers go on."""
    monkeypatch.setattr(limits, "MAX_QUEUED_EVENTS", 10)
    start = str((await store.list("", codec, ListOptions())).revision)
    async with watching(store, codec, resource_version=start) as slow, watching(store, codec, resource_version=start) as fast:
        for number in range(30):
            await store.create(f"a/{number:02}", widget(f"a/{number:02}"), codec)
            assert [key for _, key, _ in await fast.take(1)] == [f"a/{number:02}"]
        assert len(await slow.rest()) == 10
        assert store.cache.dispatcher.watchers == 1
    assert store.cache.dispatcher.watchers == 0


async def test_releases_objects_of_past_lists(
    store: CachedStore, codec: WidgetCodec, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Release the objects of the last list when the history has dropped their deletions, and list again."""
    monkeypatch.setattr(history, "MIN_CHANGES", 2)
    for number in range(5):
        await store.create(f"released/{number}", widget(f"released/{number}"), codec)
    await store.list("", codec, ListOptions())
    for number in range(4):
        await store.delete(f"released/{number}", codec)
    await store.get("released/4", codec)
    kept = []
    for seconds in (0, history.KEPT_SECONDS + 1):
        clock.now += seconds
        await store.cache.tick()
        kept.append({item.key for item in _items("released/")})

    # the history still has the last two deletions
    assert [len(keys) for keys in kept] == [5, 3]
    assert [item.key for item in (await store.list("", codec, ListOptions())).items] == ["released/4"]


def _items(prefix: str) -> list[Item]:
    """Return the rendered objects in memory below a prefix, which no other test uses."""
    return [found for found in gc.get_objects() if isinstance(found, Item) and found.key.startswith(prefix)]


async def test_drops_renderings_with_their_codec(store: CachedStore) -> None:
    """Drop the renderings of a codec that is garbage, and keep the objects."""
    codec, other = WidgetCodec(), WidgetCodec("v2")
    for number in range(5):
        await store.create(f"dropped/{number}", widget(f"dropped/{number}"), codec)
    await store.list("", codec, ListOptions())
    await store.list("", other, ListOptions())
    rendered = len(_items("dropped/"))
    del other
    gc.collect()
    await store.cache.tick()
    assert (rendered, len(_items("dropped/"))) == (10, 5)
    first = [item.data for item in (await store.list("", codec, ListOptions())).items]
    del codec
    gc.collect()
    await store.cache.tick()
    codec = WidgetCodec()

    assert [item.data for item in (await store.list("", codec, ListOptions())).items] == first
    assert codec.decoded == 5


async def test_renders_large_lists_in_slices(store: CachedStore, writer: Store, codec: WidgetCodec) -> None:
    """Give way to other tasks during the first rendering of a large list, and list one revision."""
    for number in range(2000):
        await writer.create(f"a/{number:04}", widget(f"a/{number:04}", text="x" * 500), codec)
    await store.list("", WidgetCodec("v3"), ListOptions(limit=1))
    listing = asyncio.ensure_future(store.list("", codec, ListOptions()))
    turns = 0
    while not listing.done():
        await asyncio.sleep(0)
        turns += 1
        if turns == 8:
            await change(store, codec, "a/1999", color="late")
    listed = await listing

    assert turns > 8
    assert len(listed.items) == 2000
    assert max(item.revision for item in listed.items) <= listed.revision
    assert b"late" not in listed.items[-1].data


async def test_compacts_by_age(backend: MemoryBackend, caplog: pytest.LogCaptureFixture) -> None:
    """Compact the history before the previous interval; go on after one that has nothing to compact."""
    caplog.set_level(logging.CRITICAL)
    for number in range(3):
        await backend.create(f"/registry/{number}", b"")
    async with running_stores(backend, watch_cache=False, compaction_interval=0.001), asyncio.timeout(30):
        while backend.calls.get("compact", 0) < 3:  # noqa: ASYNC110 -- there is no event for it
            await asyncio.sleep(0.001)

    assert len((await backend.list("/registry/", revision=4)).items) == 3
    with pytest.raises(CompactedError):
        await backend.list("/registry/", revision=3)


@pytest.mark.parametrize("watch_cache", [False, True])
async def test_close_ends_watches(backend: MemoryBackend, codec: WidgetCodec, watch_cache: bool) -> None:  # noqa: FBT001
    """End every watch on close, with and without a cache."""
    async with (
        running_stores(backend, watch_cache=watch_cache) as factory,
        watching(factory.store(WIDGETS), codec, send_initial_events=True, allow_bookmarks=True) as reader,
    ):
        assert (await reader.next()).type is EventType.BOOKMARK
        await settle()
        await factory.close()
        assert await reader.rest() == []


async def test_housekeeping_survives_a_failing_cache(backend: MemoryBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send the bookmarks of other caches after the housekeeping of one failed."""
    monkeypatch.setattr(factories, "TICK_SECONDS", 0.001)
    seen = asyncio.Event()

    def fail() -> None:
        raise RuntimeError("nobody foresaw this")

    async with running_stores(backend) as factory, asyncio.timeout(30):
        for resource, tick in ((WIDGETS, fail), (GroupResource("example.com", "gadgets"), seen.set)):
            store = factory.store(resource)
            assert isinstance(store, CachedStore)
            monkeypatch.setattr(store.cache, "tick", tick)
        for _ in range(2):
            seen.clear()
            await seen.wait()


async def test_compaction_survives_unexpected_exceptions() -> None:
    """Retry a compaction after an unexpected exception."""
    done = asyncio.Event()

    class Surprising(MemoryBackend):
        async def compact_aged(self) -> None:
            self.calls["aged"] = self.calls.get("aged", 0) + 1
            if self.calls["aged"] == 1:
                raise RuntimeError("nobody foresaw this")
            done.set()

    async with running_stores(Surprising(), watch_cache=False, compaction_interval=0.001), asyncio.timeout(30):
        await done.wait()

"""Failures around a cache: failing converters, compacted history, dropped stores."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from apiext.meta import errors
from apiext.meta.encoding import json_codec
from apiext.storage.backend import Backend, RangeResult
from apiext.storage.cacher.cached_store import CachedStore
from apiext.storage.factory import StoreFactory
from apiext.storage.interface import EventType, ListOptions, VersionMatch, WriteOptions
from apiext.storage.sqlite.backend import SQLiteBackend
from tests.support.builders.widgets import WIDGETS, WidgetCodec, change, watching, widget
from tests.support.event_loop import settle
from tests.support.servers.memory_backend import MemoryBackend

pytestmark = pytest.mark.usefixtures("impatient")


class RefusingCodec(WidgetCodec):
    """A codec that cannot decode red widgets, as with a converter that does not answer."""

    def decode(self, data: bytes) -> json_codec.Object:
        """Decode a widget.

        Raises:
            StatusError: the widget is red.
        """
        obj = super().decode(data)
        if obj["spec"].get("color") == "red":
            raise errors.service_unavailable("no converter")
        return obj


@pytest.fixture
async def factory(backend: MemoryBackend) -> AsyncIterator[StoreFactory]:
    """Return a factory with caches."""
    factory = StoreFactory(backend, compaction_interval=0)
    await factory.start()
    yield factory
    await factory.close()


def writer(backend: Backend) -> StoreFactory:
    """Return another server on the same backend."""
    return StoreFactory(backend, watch_cache=False, compaction_interval=0)


async def compact_during_disconnect(backend: MemoryBackend) -> None:
    """Compact the history while the watch is broken."""
    await backend.compact(await backend.revision())
    await backend.change(broken=True, deaf=False)
    await backend.change(broken=False)


async def test_ends_only_watches_of_a_failing_version(factory: StoreFactory) -> None:
    """End the watches of the version that cannot be decoded; other watches and caches go on."""
    store, codec, refusing = factory.store(WIDGETS), WidgetCodec(), RefusingCodec("v2")
    start = str((await store.list("", codec, ListOptions())).revision)
    async with (
        watching(store, refusing, resource_version=start) as broken,
        watching(store, codec, resource_version=start) as whole,
    ):
        await store.create("a/blue", widget("a/blue", color="blue"), codec)
        red = await store.create("a/red", widget("a/red", color="red"), codec)
        assert [event.type for event in await broken.rest()] == [EventType.ADDED, EventType.ERROR]
        assert [key for _, key, _ in await whole.take(2)] == ["a/blue", "a/red"]
    assert (await store.get("a/red", codec)).revision == red.revision


@pytest.mark.parametrize("cached", [True, False])
async def test_ends_a_watch_that_begins_with_a_failing_object(backend: MemoryBackend, cached: bool) -> None:  # noqa: FBT001
    """End a watch that begins with an undecodable object with its error, with and without a cache."""
    factory, codec, refusing = StoreFactory(backend, watch_cache=cached, compaction_interval=0), WidgetCodec(), RefusingCodec("v2")
    await factory.start()
    store = factory.store(WIDGETS)
    start = str((await store.list("", codec, ListOptions())).revision)
    await store.create("a/red", widget("a/red", color="red"), codec)

    for options in ({"resource_version": start}, {"send_initial_events": True}):
        async with watching(store, refusing, **options) as reader:
            assert [event.type for event in await reader.rest()] == [EventType.ERROR]
    await factory.close()


async def test_reload_survives_a_failing_version(backend: MemoryBackend, factory: StoreFactory) -> None:
    """Reload lost changes though a watcher fails on them."""
    store, codec, refusing = factory.store(WIDGETS), WidgetCodec(), RefusingCodec("v2")
    start = str((await store.list("", codec, ListOptions())).revision)
    async with watching(store, refusing, resource_version=start) as broken:
        await backend.change(deaf=True)
        await writer(backend).store(WIDGETS).create("a/red", widget("a/red", color="red"), codec)
        await compact_during_disconnect(backend)
        assert [event.type for event in await broken.rest()] == [EventType.ERROR]
    red = await store.get("a/red", codec, resource_version=str(await backend.revision()))
    assert red.object()["spec"] == {"color": "red"}


async def test_rejects_resuming_within_lost_changes(backend: MemoryBackend, factory: StoreFactory) -> None:
    """Answer 410 to a watch from a revision within the lost changes, which would miss a deletion."""
    store, other, codec = factory.store(WIDGETS), writer(backend).store(WIDGETS), WidgetCodec()
    await store.list("", codec, ListOptions())
    await backend.change(deaf=True)
    created = await other.create("a/x", widget("a/x"), codec)
    await other.delete("a/x", codec)
    await compact_during_disconnect(backend)
    await store.create("a/y", widget("a/y"), codec)
    await store.list("", codec, ListOptions())

    async with watching(store, codec, resource_version=str(created.revision)) as reader:
        event = await reader.next()
        assert event.type is EventType.ERROR
        assert json_codec.loads(event.line)["object"]["code"] == 410
    with pytest.raises(errors.StatusError, match="too old"):
        await store.list("", codec, ListOptions(resource_version=str(created.revision), match=VersionMatch.EXACT))


async def test_lists_at_the_revision_of_a_reload(backend: MemoryBackend, factory: StoreFactory) -> None:
    """List a reloaded cache at the revision of its reload while other caches still reload."""
    store, codec = factory.store(WIDGETS), WidgetCodec()
    assert isinstance(store, CachedStore)
    await store.list("", codec, ListOptions())
    await backend.change(deaf=True)
    created = await writer(backend).store(WIDGETS).create("a/x", widget("a/x"), codec)

    await store.cache.reload(created.revision)

    listed = await store.list("", codec, ListOptions(resource_version="0"))
    assert [item.key for item in listed.items] == ["a/x"]
    assert listed.revision == created.revision


class SlowToCancel(MemoryBackend):
    """A backend whose lists end slowly when cancelled."""

    async def list(self, prefix: str, *, start: str = "", revision: int = 0, limit: int = 0) -> RangeResult:
        """Implement Backend.list."""
        try:
            return await super().list(prefix, start=start, revision=revision, limit=limit)
        finally:
            await settle(10)


async def test_feeds_the_successor_of_a_dropped_cache() -> None:
    """Deliver changes to the successor of a cache that was dropped while loading."""
    backend, codec = SlowToCancel(), WidgetCodec()
    factory = StoreFactory(backend, compaction_interval=0)
    await factory.start()
    backend.gate.clear()
    first = asyncio.create_task(factory.store(WIDGETS).list("", codec, ListOptions()))
    await settle(5)
    factory.drop(WIDGETS)
    second = asyncio.create_task(factory.store(WIDGETS).list("", codec, ListOptions()))
    await asyncio.sleep(0)
    backend.gate.set()
    await first
    await second

    created = await factory.store(WIDGETS).create("a/x", widget("a/x"), codec)
    listed = await factory.store(WIDGETS).list("", codec, ListOptions())
    assert [item.revision for item in listed.items] == [created.revision]
    await factory.close()


async def test_ends_a_watch_of_a_dropped_store(backend: MemoryBackend, factory: StoreFactory) -> None:
    """End a watch, and answer reads from the backend, when the store is dropped while they wait."""
    store, codec = factory.store(WIDGETS), WidgetCodec()
    await store.list("", codec, ListOptions())
    backend.gate.clear()

    async def rest() -> int:
        async with watching(store, codec) as reader:
            return len(await reader.rest())

    reading = asyncio.create_task(rest())
    getting = asyncio.create_task(store.get("a/x", codec))
    listing = asyncio.create_task(store.list("", codec, ListOptions()))
    await settle(5)
    factory.drop(WIDGETS)
    created = await _create_behind(backend, codec)

    assert await reading == 0
    assert (await getting).revision == created
    assert [item.revision for item in (await listing).items] == [created]


async def _create_behind(backend: MemoryBackend, codec: WidgetCodec) -> int:
    backend.gate.set()
    return (await writer(backend).store(WIDGETS).create("a/x", widget("a/x"), codec)).revision


async def test_dry_run_uses_the_latest_state(backend: MemoryBackend, factory: StoreFactory) -> None:
    """Run a dry run on the state of the backend, not of the cache."""
    store, codec = factory.store(WIDGETS), WidgetCodec()
    await store.create("a/x", widget("a/x"), codec)
    await store.list("", codec, ListOptions())
    await backend.change(deaf=True)
    changed = await change(writer(backend).store(WIDGETS), codec, "a/x", color="red")
    seen: list[int] = []

    async def update(obj: json_codec.Object, revision: int) -> json_codec.Object:
        seen.append(revision)
        return obj

    await store.guaranteed_update("a/x", codec, update, WriteOptions(dry_run=True))
    deleted = await store.delete("a/x", codec, WriteOptions(dry_run=True))
    assert seen == [changed.revision]
    assert deleted.object()["spec"] == {"color": "red"}


async def test_expires_at_a_compacted_deletion(tmp_path: Path) -> None:
    """Answer 410 to a direct watch at a deletion whose previous value is compacted."""
    backend, codec = await SQLiteBackend.open(tmp_path / "store.db"), WidgetCodec()
    store = writer(backend).store(WIDGETS)
    created = await store.create("a/x", widget("a/x"), codec)
    deleted = await store.delete("a/x", codec)
    await store.create("a/y", widget("a/y"), codec)
    await backend.compact(deleted.revision)

    async with watching(store, codec, resource_version=str(created.revision)) as reader:
        event = await reader.next()
        assert event.type is EventType.ERROR
        assert json_codec.loads(event.line)["object"]["code"] == 410
    await backend.close()

"""Failures around a cache: failing converters, compacted history, dropped stores."""

import asyncio
from pathlib import Path

import pytest

from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec
from apiext.storage.backend import RangeResult
from apiext.storage.cacher.cached_store import CachedStore
from apiext.storage.factory import StoreFactory
from apiext.storage.interface import EventType, ListOptions, Store, VersionMatch, WriteOptions
from apiext.storage.sqlite.backend import SQLiteBackend
from tests.support.builders.widgets import WIDGETS, WidgetCodec, change, error_code, watching, widget
from tests.support.event_loop import settle
from tests.support.servers.memory_backend import MemoryBackend
from tests.support.servers.stores import direct_store, running_stores

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
def refusing() -> RefusingCodec:
    """Return a codec of another version, which cannot decode red widgets."""
    return RefusingCodec("v2")


async def compact_during_disconnect(backend: MemoryBackend) -> None:
    """Compact the history while the watch is broken."""
    await backend.compact(await backend.revision())
    await backend.change(broken=True, deaf=False)
    await backend.change(broken=False)


async def test_ends_only_watches_of_a_failing_version(store: CachedStore, codec: WidgetCodec, refusing: RefusingCodec) -> None:
    """End the watches of the version that cannot be decoded; other watches and caches go on."""
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
async def test_ends_a_watch_that_begins_with_a_failing_object(
    backend: MemoryBackend,
    codec: WidgetCodec,
    refusing: RefusingCodec,
    cached: bool,  # noqa: FBT001
) -> None:
    """End a watch that begins with an undecodable object with its error, with and without a cache."""
    async with running_stores(backend, watch_cache=cached) as factory:
        store = factory.store(WIDGETS)
        start = str((await store.list("", codec, ListOptions())).revision)
        await store.create("a/red", widget("a/red", color="red"), codec)

        for options in ({"resource_version": start}, {"send_initial_events": True}):
            async with watching(store, refusing, **options) as reader:
                assert [event.type for event in await reader.rest()] == [EventType.ERROR]


async def test_reload_survives_a_failing_version(
    backend: MemoryBackend, store: CachedStore, writer: Store, codec: WidgetCodec, refusing: RefusingCodec
) -> None:
    """Reload lost changes though a watcher fails on them."""
    start = str((await store.list("", codec, ListOptions())).revision)
    async with watching(store, refusing, resource_version=start) as broken:
        await backend.change(deaf=True)
        await writer.create("a/red", widget("a/red", color="red"), codec)
        await compact_during_disconnect(backend)
        assert [event.type for event in await broken.rest()] == [EventType.ERROR]
    red = await store.get("a/red", codec, resource_version=str(await backend.revision()))
    assert red.object()["spec"] == {"color": "red"}


async def test_rejects_resuming_within_lost_changes(backend: MemoryBackend, store: CachedStore, writer: Store, codec: WidgetCodec) -> None:
    """Answer 410 to a watch from a revision within the lost changes, which would miss a deletion."""
    await store.list("", codec, ListOptions())
    await backend.change(deaf=True)
    created = await writer.create("a/x", widget("a/x"), codec)
    await writer.delete("a/x", codec)
    await compact_during_disconnect(backend)
    await store.create("a/y", widget("a/y"), codec)
    await store.list("", codec, ListOptions())

    async with watching(store, codec, resource_version=str(created.revision)) as reader:
        assert error_code(await reader.next()) == 410
    with pytest.raises(errors.StatusError, match="too old"):
        await store.list("", codec, ListOptions(resource_version=str(created.revision), match=VersionMatch.EXACT))


async def test_lists_at_the_revision_of_a_reload(backend: MemoryBackend, store: CachedStore, writer: Store, codec: WidgetCodec) -> None:
    """List a reloaded cache at the revision of its reload while other caches still reload."""
    await store.list("", codec, ListOptions())
    await backend.change(deaf=True)
    created = await writer.create("a/x", widget("a/x"), codec)

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


async def test_feeds_the_successor_of_a_dropped_cache(codec: WidgetCodec) -> None:
    """Deliver changes to the successor of a cache that was dropped while loading."""
    backend = SlowToCancel()
    async with running_stores(backend) as factory:
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


async def test_ends_a_watch_of_a_dropped_store(
    backend: MemoryBackend, factory: StoreFactory, store: CachedStore, writer: Store, codec: WidgetCodec
) -> None:
    """End a watch, and answer reads from the backend, when the store is dropped while they wait."""
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
    backend.gate.set()
    created = (await writer.create("a/x", widget("a/x"), codec)).revision

    assert await reading == 0
    assert (await getting).revision == created
    assert [item.revision for item in (await listing).items] == [created]


async def test_dry_run_uses_the_latest_state(backend: MemoryBackend, store: CachedStore, writer: Store, codec: WidgetCodec) -> None:
    """Run a dry run on the state of the backend, not of the cache."""
    await store.create("a/x", widget("a/x"), codec)
    await store.list("", codec, ListOptions())
    await backend.change(deaf=True)
    changed = await change(writer, codec, "a/x", color="red")
    seen: list[int] = []

    async def update(obj: json_codec.Object, revision: int) -> json_codec.Object:
        seen.append(revision)
        return obj

    await store.guaranteed_update("a/x", codec, update, WriteOptions(dry_run=True))
    deleted = await store.delete("a/x", codec, WriteOptions(dry_run=True))
    assert seen == [changed.revision]
    assert deleted.object()["spec"] == {"color": "red"}


async def test_expires_at_a_compacted_deletion(tmp_path: Path, codec: WidgetCodec) -> None:
    """Answer 410 to a direct watch at a deletion whose previous value is compacted."""
    backend = await SQLiteBackend.open(tmp_path / "store.db")
    store = direct_store(backend)
    created = await store.create("a/x", widget("a/x"), codec)
    deleted = await store.delete("a/x", codec)
    await store.create("a/y", widget("a/y"), codec)
    await backend.compact(deleted.revision)

    async with watching(store, codec, resource_version=str(created.revision)) as reader:
        assert error_code(await reader.next()) == 410
    await backend.close()

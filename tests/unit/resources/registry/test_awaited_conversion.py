"""Custom resources of a CRD whose converter has to be awaited, with and without a cache."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from apiext.base.meta import errors, patch
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.gvk import GroupVersionKind
from apiext.base.scheduling.call_log import CallLog
from apiext.resources.conversion.interface import ConversionError, Converted, Converter
from apiext.resources.registry.customresources.codec import CustomResourceCodec
from apiext.resources.registry.customresources.strategy import CustomResourceStrategy
from apiext.resources.registry.request_context import CreateOptions, DeleteOptions, RequestContext, UpdateOptions
from apiext.resources.registry.rest import ResourceRest
from apiext.schema.compiled import CompiledSchema
from apiext.storage.cacher.cached_store import CachedStore
from apiext.storage.interface import EventType, ListOptions, Store, WatchOptions
from tests.support.builders import crds
from tests.support.builders.widgets import WIDGETS, Reader, labelled, where
from tests.support.servers.memory_backend import MemoryBackend
from tests.support.servers.stores import running_stores

SCHEMA = CompiledSchema({"type": "object", "properties": {"spec": {"type": "object", "properties": {"color": {"type": "string"}}}}})
UNAVAILABLE = "conversion webhook does not answer"


class ColorConverter(Converter):
    """Upper-cases colors towards v2 and lower-cases them towards v1, after a task switch."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.refused = ""
        """A color that cannot be converted."""

    async def convert(self, objects: Sequence[Object], api_version: str, _log: CallLog | None = None) -> Sequence[Converted]:
        """Implement Converter.convert."""
        self.batches.append(len(objects))
        await asyncio.sleep(0)
        return [self._converted(obj, api_version) for obj in objects]

    def _converted(self, obj: Object, api_version: str) -> Converted:
        color = obj["spec"]["color"]
        if color.lower() == self.refused:
            return ConversionError(UNAVAILABLE)
        color = color.upper() if api_version.endswith("v2") else color.lower()
        return {**obj, "apiVersion": api_version, "spec": {"color": color}}


class Versions:
    """The same widgets in v1, which is stored, and in v2."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.converter = ColorConverter()
        self.v1, self.v2 = self._rest("v1"), self._rest("v2")
        self.ctx = RequestContext(namespace="default")

    def _rest(self, version: str) -> ResourceRest:
        kind = GroupVersionKind("example.com", version, "Widget")
        schemas = {"v1": SCHEMA, "v2": SCHEMA}
        codec = CustomResourceCodec(
            kind=kind,
            storage_version="v1",
            schemas=schemas,
            converter=self.converter,
            namespaced=True,
            selectable_fields=[".spec.color"],
        )
        strategy = CustomResourceStrategy(kind=kind, namespaced=True, rules=SCHEMA)
        return ResourceRest(store=self.store, codec=codec, strategy=strategy, resource=WIDGETS, namespaced=True)

    async def create(self, name: str, color: str, rest: ResourceRest | None = None) -> Object:
        """Create a widget, in v1 unless told otherwise."""
        rest = rest or self.v1
        obj = crds.widget(name, version=rest.codec.gvk.version, metadata={"labels": {"name": name}}, color=color)
        return (await rest.create(self.ctx, obj, CreateOptions())).object()

    async def colors(self, **options: Any) -> list[str]:
        """List the colors in v2."""
        return [item.object()["spec"]["color"] for item in (await self.v2.list(self.ctx, ListOptions(**options))).items]

    async def watch(self, **options: Any) -> Reader:
        """Watch v2."""
        return Reader(await self.v2.watch(self.ctx, WatchOptions(**options)))


@pytest.fixture(params=["direct", "cached"])
async def versions(request: pytest.FixtureRequest, backend: MemoryBackend) -> AsyncIterator[Versions]:
    """Return widgets over a store without and with a cache."""
    async with running_stores(backend, watch_cache=request.param == "cached") as stores:
        yield Versions(stores.store(WIDGETS))


@pytest.fixture
async def cached(backend: MemoryBackend) -> AsyncIterator[Versions]:
    """Return widgets over a store with a cache."""
    async with running_stores(backend) as stores:
        yield Versions(stores.store(WIDGETS))


async def test_creates_and_gets_in_another_version(versions: Versions) -> None:
    """Store an object of v2 as v1, and read it in both versions at the same revision."""
    created = await versions.create("a", "RED", versions.v2)
    read = (await versions.v2.get(versions.ctx, "a")).object()
    stored = (await versions.v1.get(versions.ctx, "a")).object()

    assert created == read
    assert (read["apiVersion"], read["spec"]["color"]) == ("example.com/v2", "RED")
    assert (stored["apiVersion"], stored["spec"]["color"]) == ("example.com/v1", "red")
    assert stored["metadata"] == read["metadata"]


async def test_updates_and_patches_in_another_version(versions: Versions) -> None:
    """Give an updater the object of v2, and store what it makes as v1."""
    before = await versions.create("a", "red")

    async def merge(existing: Object) -> Object:
        assert existing["spec"]["color"] == "RED"
        merged: Object = patch.merge_patch(existing, {"spec": {"color": "BLUE"}})
        return merged

    item, created = await versions.v2.update(versions.ctx, "a", merge, UpdateOptions())
    shown, stored = item.object(), (await versions.v1.get(versions.ctx, "a")).object()

    assert not created
    assert (shown["spec"]["color"], stored["spec"]["color"]) == ("BLUE", "blue")
    assert shown["metadata"] == stored["metadata"]
    assert int(shown["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"])
    assert (await versions.v2.update(versions.ctx, "a", _unchanged, UpdateOptions()))[0].revision == item.revision
    assert (await versions.v2.delete(versions.ctx, "a", DeleteOptions()))[0].object()["spec"]["color"] == "BLUE"


async def _unchanged(existing: Object) -> Object:
    return existing


async def test_lists_by_one_conversion(versions: Versions) -> None:
    """Convert all objects of a list by one call, and select by their converted fields."""
    for name, color in (("a", "red"), ("b", "blue"), ("c", "red")):
        await versions.create(name, color)
    versions.converter.batches.clear()

    assert await versions.colors() == ["RED", "BLUE", "RED"]
    assert versions.converter.batches == [3]
    assert await versions.colors(selection=where("spec.color=RED")) == ["RED", "RED"]
    assert await versions.colors(selection=labelled("name=b"), limit=1) == ["BLUE"]
    await versions.create("d", "green")
    assert await versions.colors() == ["RED", "BLUE", "RED", "GREEN"]
    assert await versions.colors(limit=2) == ["RED", "BLUE"]


@pytest.mark.parametrize("field", ["", "spec.color=RED"])
async def test_watches_another_version(versions: Versions, field: str) -> None:
    """Send initial and later events of v2 in order, also to a watch that selects by a converted field."""
    selection = {"selection": where(field)} if field else {}
    await versions.create("a", "red")
    reader = await versions.watch(send_initial_events=True, allow_bookmarks=True, **selection)
    assert [event.type for event in (await reader.next(), await reader.next())] == [EventType.ADDED, EventType.BOOKMARK]
    created = await versions.create("b", "red")

    async def paint(existing: Object) -> Object:
        return {**existing, "spec": {"color": "BLUE"}}

    painted, _ = await versions.v2.update(versions.ctx, "b", paint, UpdateOptions())
    deleted, _ = await versions.v2.delete(versions.ctx, "a", DeleteOptions())
    kind = EventType.DELETED if field else EventType.MODIFIED

    assert await reader.take(3) == [
        ("ADDED", "default/b", int(created["metadata"]["resourceVersion"])),
        (kind, "default/b", painted.revision),
        ("DELETED", "default/a", deleted.revision),
    ]
    reader.watch.close()
    resumed = await versions.watch(resource_version=created["metadata"]["resourceVersion"])
    line = (await resumed.next()).line
    assert b'"apiVersion":"example.com/v2"' in line
    assert b'"color":"BLUE"' in line
    assert (await resumed.next()).type is EventType.DELETED
    resumed.watch.close()


async def test_ends_a_watch_with_the_converter_s_error(versions: Versions) -> None:
    """End the watches that need the conversion with its Status, after the earlier events; other versions go on.

    A watch cache refuses later ones until the objects can be converted, as the reference's.
    """
    start = str((await versions.store.list("", versions.v1.codec, ListOptions())).revision)
    broken, whole = (
        await versions.watch(resource_version=start),
        Reader(await versions.v1.watch(versions.ctx, WatchOptions(resource_version=start))),
    )
    await versions.create("a", "red")
    first = await broken.next()
    versions.converter.refused = "blue"
    await versions.create("b", "blue")

    assert first.type is EventType.ADDED
    (error,) = await broken.rest()
    assert error.type is EventType.ERROR
    assert f'"message":"Internal error occurred: {UNAVAILABLE}"'.encode() in error.line
    assert [key for _, key, _ in await whole.take(2)] == ["default/a", "default/b"]
    whole.watch.close()
    if isinstance(versions.store, CachedStore):
        with pytest.raises(errors.StatusError) as refused:
            await versions.watch(send_initial_events=True)
        assert (refused.value.code, refused.value.retry_after) == (429, 1)
    else:
        again = await versions.watch(send_initial_events=True)
        assert [event.type for event in await again.rest()] == [EventType.ADDED, EventType.ERROR]


async def test_fails_reads_and_writes_with_the_converter_s_error(versions: Versions) -> None:
    """Answer 500 for an object that cannot be converted, and write nothing."""
    await versions.create("a", "red")
    versions.converter.refused = "red"
    for call in (
        versions.v2.get(versions.ctx, "a"),
        versions.v2.list(versions.ctx, ListOptions()),
        versions.v2.update(versions.ctx, "a", _unchanged, UpdateOptions()),
        versions.v2.delete(versions.ctx, "a", DeleteOptions()),
        versions.create("b", "RED", versions.v2),
    ):
        with pytest.raises(errors.StatusError, match=UNAVAILABLE) as refused:
            await call
        assert refused.value.code == 500
    versions.converter.refused = ""
    assert await versions.colors() == ["RED"]


async def test_updates_begin_with_the_stored_revision(versions: Versions, backend: MemoryBackend) -> None:
    """Convert the stored object again when another server has changed it since it was converted and cached."""
    await versions.create("a", "red")
    await versions.colors()
    seen: list[str] = []

    async def paint(existing: Object) -> Object:
        seen.append(existing["spec"]["color"])
        if len(seen) == 1:
            (pair, _) = await backend.get("/registry/example.com/widgets/default/a")
            assert pair is not None
            await backend.update(pair.key, pair.value.replace(b'"red"', b'"blue"'), expected=pair.revision)
        return {**existing, "spec": {"color": "GREEN"}}

    await versions.v2.update(versions.ctx, "a", paint, UpdateOptions())
    assert seen == ["RED", "BLUE"]
    assert await versions.colors() == ["GREEN"]


async def test_an_event_shows_what_its_write_answered(cached: Versions) -> None:
    """Call the converter once to store an object and once to answer, and not for the event of the write."""
    await cached.colors()
    reader = await cached.watch()
    cached.converter.batches.clear()
    created = await cached.create("a", "RED", cached.v2)
    event = await reader.next()

    assert event.item is not None
    assert event.item.object() == created
    assert await cached.colors() == ["RED"]
    assert cached.converter.batches == [1, 1]
    reader.watch.close()


async def test_converts_the_state_of_a_watch_ahead(cached: Versions) -> None:
    """Convert what a watch begins with in batches of 500, each object once for all watches."""
    for number in range(1600):
        await cached.create(f"w{number:04}", "red")
    cached.converter.batches.clear()
    readers = [await cached.watch(send_initial_events=True) for _ in range(2)]
    for reader in readers:
        assert len(await reader.take(1600)) == 1600
        reader.watch.close()
    assert cached.converter.batches == [500, 500, 500, 100]


async def test_converts_once_for_many_readers(cached: Versions) -> None:
    """Share the conversion of an object among the watches and reads of a cache; a cancelled reader does not end it."""
    await cached.colors()
    readers = [await cached.watch() for _ in range(5)]
    cached.converter.batches.clear()
    created = await cached.create("a", "red")
    cancelled = asyncio.create_task(readers[0].next())
    await asyncio.sleep(0)
    cancelled.cancel()
    seen = await asyncio.gather(*(reader.next() for reader in readers))

    assert {event.revision for event in seen} == {int(created["metadata"]["resourceVersion"])}
    assert (await cached.v2.get(cached.ctx, "a")).object()["spec"]["color"] == "RED"
    assert cached.converter.batches == [1]

"""The collector over a backend in memory."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, cast

import pytest

from apiext.api.garbagecollector import garbage_collector
from apiext.api.garbagecollector import graph as graph_builder
from apiext.api.garbagecollector.garbage_collector import GarbageCollector
from apiext.base.meta import limits
from apiext.base.scheduling.tasks import end_tasks
from apiext.storage.factory import StoreFactory
from tests.support.event_loop import settle, until
from tests.support.servers.memory_backend import MemoryBackend
from tests.support.servers.stores import running_stores
from tests.unit.api.garbagecollector.kinds import EVENTS, PLANS, ROOT, THINGS, Kinds, Objects, is_ignored, owner, thing

FOREGROUND: Final[dict[str, Any]] = {"deleting": True, "finalizers": ("foregroundDeletion",)}
ORPHAN: Final[dict[str, Any]] = {"deleting": True, "finalizers": ("orphan",)}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read all objects and retry without a pause."""
    monkeypatch.setattr(graph_builder, "QUIET_SECONDS", 0)
    monkeypatch.setattr(graph_builder, "PAUSES", (0, 0))
    monkeypatch.setattr(garbage_collector, "PAUSES", (0.001, 0.001))


class Invalid:
    """Stands for InvalidOwners."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    def add(self, found: Any) -> None:
        """Record an owner."""
        self.ids.append(found.id)


class Collection:
    """A collector with its store."""

    def __init__(self, backend: MemoryBackend, stores: StoreFactory) -> None:
        self.backend = backend
        self.kinds = Kinds()
        self.objects = Objects(backend)
        self.invalid = Invalid()
        self.collector = GarbageCollector(
            cast("Any", self.kinds), self.objects, cast("Any", self.invalid), backend, ROOT, reach=stores.reach, is_ignored=is_ignored
        )
        self.graph = self.collector.graph

    async def left(self) -> list[str]:
        """Return the keys of the stored objects, after all work that is due."""
        await until(self.collector.builder.is_built.is_set)
        await settle(200)
        return [pair.key.removeprefix(ROOT) for pair in (await self.backend.list(ROOT)).items]


@asynccontextmanager
async def collecting(backend: MemoryBackend, **settings: Any) -> AsyncIterator[Collection]:
    """Run a collector until the end of the block."""
    async with running_stores(backend, **settings) as stores:
        collection = Collection(backend, stores)
        end = await stores.follow_all(collection.collector.builder)
        running = asyncio.create_task(collection.collector.run())
        try:
            yield collection
        finally:
            await end_tasks(running)
            end()


@pytest.mark.parametrize("caches", [True, False])
async def test_continues(caches: bool) -> None:  # noqa: FBT001 -- a parameter
    """Collect what was garbage before the start, in any order of the keys."""
    backend = MemoryBackend()
    await backend.create(f"{THINGS}a/child", thing("child", owner("gone")))
    await backend.create(f"{THINGS}a/grandchild", thing("grandchild", owner("child")))
    await backend.create(f"{THINGS}a/waits", thing("waits", **FOREGROUND))
    await backend.create(f"{THINGS}a/awaited", thing("awaited", owner("waits", blocks=True)))
    await backend.create(f"{THINGS}a/orphans", thing("orphans", **ORPHAN))
    await backend.create(f"{THINGS}a/orphan", thing("orphan", owner("orphans")))
    await backend.create(f"{THINGS}a/plain", thing("plain"))
    await backend.create(f"{THINGS}a/kept", thing("kept", owner("plain")))

    async with collecting(backend, watch_cache=caches) as collection:
        assert await collection.left() == ["things/a/kept", "things/a/orphan", "things/a/plain"]
        assert [node.key for node in collection.graph.nodes.values()] == [f"{THINGS}a/kept"]


async def test_follows() -> None:
    """Collect the dependents of an owner that is deleted later."""
    backend = MemoryBackend()
    async with collecting(backend) as collection:
        assert await collection.left() == []
        created = await backend.create(f"{PLANS}top", thing("top", namespace=""))
        await backend.create(f"{THINGS}a/child", thing("child", owner("top", kind="Plan")))
        await backend.create(f"{THINGS}b/child", thing("other", owner("top", kind="Plan"), namespace="b", finalizers=("orphan",)))
        assert len(await collection.left()) == 3
        await backend.delete(f"{PLANS}top", expected=created.revision)

        assert await collection.left() == []
        assert sorted(collection.objects.deleted) == [("child", "Background"), ("other", "Orphan")]


async def test_takes_the_newer_state() -> None:
    """Keep what changed while all objects were read, whatever the pages show."""
    backend = MemoryBackend()
    await backend.create(f"{THINGS}a/child", thing("child", owner("gone")))
    backend.gate.clear()
    async with asyncio.timeout(30):
        backend.gate.set()
        async with running_stores(backend) as stores:
            collection = Collection(backend, stores)
            end = await stores.follow_all(collection.collector.builder)
            pair, _ = await backend.get(f"{THINGS}a/child")
            assert pair is not None
            stale = await backend.list(ROOT)
            await backend.update(pair.key, thing("child"), expected=pair.revision)
            await settle()
            backend.list = lambda *_args, **_more: _answer(stale)  # type: ignore[method-assign]
            running = asyncio.create_task(collection.collector.run())
            await until(collection.collector.builder.is_built.is_set)
            await settle(50)
            end()
            await end_tasks(running)

    assert not collection.graph.nodes
    assert collection.objects.deleted == []


async def _answer(found: Any) -> Any:
    return found


async def test_ends_when_changes_are_lost() -> None:
    """End, so that a new graph is made."""
    async with running_stores(MemoryBackend()) as stores:
        collection = Collection(MemoryBackend(), stores)
        running = asyncio.create_task(collection.collector.run())
        await settle()

        await collection.collector.builder.reload(7)

        await asyncio.wait_for(running, 30)


async def test_retries_to_read() -> None:
    """Read all objects again after a failure."""
    backend = MemoryBackend()
    await backend.create(f"{THINGS}a/child", thing("child", owner("gone")))
    async with running_stores(backend) as stores:
        collection = Collection(backend, stores)
        end = await stores.follow_all(collection.collector.builder)
        await backend.change(broken=True)
        running = asyncio.create_task(collection.collector.run())
        await until(lambda: collection.collector.builder.failures)
        await backend.change(broken=False)

        assert await collection.left() == []
        end()
        await end_tasks(running)


async def test_waits_for_kinds() -> None:
    """Keep the dependents of owners whose kind is not served, until it is."""
    backend = MemoryBackend()
    await backend.create(f"{THINGS}a/child", thing("child", owner("gone", kind="Late")))
    async with collecting(backend) as collection:
        assert await collection.left() == ["things/a/child"]

        collection.kinds.places["v1", "Late"] = collection.kinds.places["v1", "Thing"]
        collection.graph.locate_again("v1", "Late")

        assert await collection.left() == []


async def test_keeps_what_it_cannot_read() -> None:
    """Take an unreadable object for the owner, and never touch an unreadable dependent."""
    backend = MemoryBackend()
    await backend.create(f"{THINGS}a/secret", b"k8s:enc:aescbc:v1:k:ownerReferences")
    await backend.create(f"{THINGS}a/child", thing("child", owner("secret")))

    async with collecting(backend) as collection:
        assert await collection.left() == ["things/a/child", "things/a/secret"]


async def test_ignores_events() -> None:
    """Never collect events; they may be owners."""
    backend = MemoryBackend()
    await backend.create(f"{EVENTS}a/event", thing("event", owner("gone")))
    async with collecting(backend) as collection:
        assert await collection.left() == ["events/a/event"]
        assert not collection.graph.nodes


async def test_retries_conflicts() -> None:
    """Remove a finalizer although others change the object."""
    backend = MemoryBackend()
    await backend.create(f"{THINGS}a/waits", thing("waits", **FOREGROUND))
    async with collecting(backend) as collection:
        collection.objects.conflicts = 7

        await until(lambda: not collection.objects.conflicts)
        assert await collection.left() == []


async def test_breaks_circles() -> None:
    """Delete two objects in foreground that wait for each other."""
    backend = MemoryBackend()
    await backend.create(f"{THINGS}a/one", thing("one", owner("two", blocks=True), **FOREGROUND))
    await backend.create(f"{THINGS}a/two", thing("two", owner("one", blocks=True)))
    async with collecting(backend) as collection:
        assert await collection.left() == []


async def test_reports_owners_of_other_namespaces() -> None:
    """Search for owners that are not where their dependents say, but not for those that were seen there."""
    backend = MemoryBackend()
    created = await backend.create(f"{THINGS}a/seen", thing("seen"))
    await backend.create(f"{THINGS}a/child", thing("child", owner("seen")))
    await backend.create(f"{THINGS}b/lost", thing("lost", owner("seen"), namespace="b"))
    await backend.create(f"{PLANS}plan", thing("plan", owner("seen"), namespace=""))
    async with collecting(backend) as collection:
        assert await collection.left() == ["plans/plan", "things/a/child", "things/a/seen"]
        await backend.delete(f"{THINGS}a/seen", expected=created.revision)
        assert await collection.left() == ["plans/plan"]

    assert sorted(collection.invalid.ids) == ["seen v1 Thing /seen", "seen v1 Thing b/seen"]


@pytest.mark.parametrize("count, deleted", [(60, True), (limits.MAX_OWNERS, True), (limits.MAX_OWNERS + 1, False)])
async def test_many_owners(monkeypatch: pytest.MonkeyPatch, count: int, deleted: bool) -> None:  # noqa: FBT001 -- a parameter
    """Read each owner once; more owners than are followed keep the object, without the references to those that are gone."""
    monkeypatch.setattr(garbage_collector, "MANY_SECONDS", 0)
    backend = MemoryBackend()
    many = [owner(f"gone-{number}") for number in range(count)]
    await backend.create(f"{THINGS}a/child", thing("child", *many))
    async with collecting(backend) as collection:
        await until(lambda: collection.collector.builder.is_built.is_set() and not collection.graph.nodes)

        assert collection.objects.deleted == [("child", "Background")]
        assert backend.calls["get"] < 2 * count + 50
        assert collection.objects.patches == (0 if deleted else 1)


async def test_fails_with_its_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise what stops the graph, so that another collector starts."""
    backend = MemoryBackend()
    async with running_stores(backend) as stores:
        collection = Collection(backend, stores)
        monkeypatch.setattr(collection.graph, "put", lambda *_: 1 / 0)
        end = await stores.follow_all(collection.collector.builder)
        running = asyncio.create_task(collection.collector.run())
        await settle()
        await backend.create(f"{THINGS}a/child", thing("child", owner("gone")))

        with pytest.raises(ZeroDivisionError):
            await asyncio.wait_for(running, 30)
        end()

"""Tests of the report that a resource without a cache has changed."""

from apiext.base.meta.gvk import GroupResource
from apiext.storage.factory import StoreFactory
from tests.support.event_loop import settle, until
from tests.support.servers.memory_backend import MemoryBackend
from tests.support.servers.stores import running_stores

WATCHED = GroupResource("", "things")


async def _reports(stores: StoreFactory) -> list[int]:
    found: list[int] = []
    assert stores.report_change(WATCHED, lambda: found.append(1))
    return found


async def test_reports_the_first_change_only() -> None:
    """Report the first change of the resource, and none of others."""
    backend = MemoryBackend()
    async with running_stores(backend) as stores:
        found = await _reports(stores)
        await backend.create("/registry/others/a", b"{}")
        await settle()
        assert found == []
        await backend.create("/registry/things/a", b"{}")
        await until(lambda: found)
        await backend.create("/registry/things/b", b"{}")
        await settle()
        assert found == [1]


async def test_reports_lost_changes() -> None:
    """Report when changes may be lost."""
    backend = MemoryBackend()
    async with running_stores(backend) as stores:
        found = await _reports(stores)
        await backend.change(broken=True)
        await backend.change(broken=False)
        await backend.compact(await backend.revision())
        await backend.create("/registry/things/a", b"{}")
        await until(lambda: found)
        assert found == [1]


async def test_needs_the_watch() -> None:
    """Say that nothing is watched without caches."""
    async with running_stores(MemoryBackend(), watch_cache=False) as stores:
        assert not stores.report_change(WATCHED, lambda: None)

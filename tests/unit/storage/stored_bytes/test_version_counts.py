"""The counts of the watch cache are those of a scan, whatever happens."""

import asyncio
import logging

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiext.storage.cacher import feed
from apiext.storage.factory import StoreFactory
from apiext.storage.interface import ListOptions
from apiext.storage.stored_bytes.version_counts import StoredVersions
from tests.support.builders.widgets import WIDGETS, WidgetCodec, widget
from tests.support.servers.memory_backend import MemoryBackend

KEYS = [f"a/{number}" for number in range(4)]
VERSIONS = ("v1", "v2", "unknown", "")
"""The version in which a step stores an object; "" deletes it."""
steps = st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(VERSIONS)), max_size=8)


async def write(backend: MemoryBackend, prefix: str, key: str, version: str) -> None:
    """Store an object in a version, or delete it."""
    found, _ = await backend.get(prefix + key)
    expected = found.revision if found is not None else 0
    if not version:
        if found is not None:
            await backend.delete(prefix + key, expected=expected)
        return
    data = b"k8s:enc:x" if version == "unknown" else WidgetCodec().encode(widget(key)).data.replace(b"/v1", f"/{version}".encode())
    await (backend.update(prefix + key, data, expected=expected) if found is not None else backend.create(prefix + key, data))


async def assert_counted(cached: StoredVersions, scanned: StoredVersions) -> None:
    """Assert that both count the same, and yield the same keys."""
    counts = await cached.counts()

    assert counts == await scanned.counts()
    for version in (*VERSIONS, "unknown"):
        keys = [key async for key in cached.keys(version)]
        assert keys == [key async for key in scanned.keys(version)]
        assert len(keys) == counts.of(version)


@pytest.mark.usefixtures("_quick")
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=steps, seen=steps, lost=steps, after=steps)
def test_counts_as_a_scan(
    before: list[tuple[str, str]], seen: list[tuple[str, str]], lost: list[tuple[str, str]], after: list[tuple[str, str]]
) -> None:
    """Count the objects that exist when the cache is loaded, and later changes, also those that a compaction hid from the watch."""

    async def run() -> None:
        backend = MemoryBackend()
        factory = StoreFactory(backend, compaction_interval=0)
        other = StoreFactory(backend, watch_cache=False, compaction_interval=0)
        prefix = factory.key_prefix(WIDGETS)
        await factory.start()
        for step in before:
            await write(backend, prefix, *step)
        await factory.store(WIDGETS).list("nowhere/", WidgetCodec(), ListOptions())
        cached, scanned = factory.stored_versions(WIDGETS), other.stored_versions(WIDGETS)
        for step in seen:
            await write(backend, prefix, *step)
            await assert_counted(cached, scanned)
        await backend.change(deaf=True)
        for step in lost:
            await write(backend, prefix, *step)
        await backend.compact(await backend.revision())
        await backend.change(broken=True, deaf=False)
        await backend.change(broken=False)
        await assert_counted(cached, scanned)
        for step in after:
            await write(backend, prefix, *step)
        await assert_counted(cached, scanned)
        assert cached.known() is not None
        await factory.close()

    asyncio.run(run())


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MIN_RETRY_SECONDS", "MAX_RETRY_SECONDS", "PROGRESS_AFTER_SECONDS", "PROGRESS_INTERVAL_SECONDS"):
        monkeypatch.setattr(feed, name, 0.0001)
    monkeypatch.setattr(logging.getLogger("apiext"), "level", logging.CRITICAL)


async def test_forgets_a_closed_cache(backend: MemoryBackend, factory: StoreFactory, codec: WidgetCodec) -> None:
    """Scan the store after its cache was dropped."""
    await factory.store(WIDGETS).list("", codec, ListOptions())
    stored = factory.stored_versions(WIDGETS)
    factory.drop(WIDGETS)
    await write(backend, factory.key_prefix(WIDGETS), "a/x", "v2")

    assert stored.known() is None
    assert (await stored.counts()).by_version == {"v2": 1}

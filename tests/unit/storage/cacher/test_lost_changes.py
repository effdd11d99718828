"""Clients that resume after the cache has derived lost changes from two lists."""

import asyncio
import logging

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiext.storage.cacher import feed
from apiext.storage.factory import StoreFactory
from apiext.storage.interface import EventType, ListOptions
from tests.support.builders.widgets import WIDGETS, Informer, Reader, WidgetCodec, change, error_code, watching, widget
from tests.support.servers.memory_backend import MemoryBackend
from tests.support.servers.stores import direct_store

KEYS = [f"a/{number}" for number in range(6)]


class House:
    """A server whose watch can be compacted, another one that writes, and the true states by revision."""

    def __init__(self) -> None:
        self.backend, self.codec = MemoryBackend(), WidgetCodec()
        self.factory = StoreFactory(self.backend, compaction_interval=0)
        self.store = self.factory.store(WIDGETS)
        self.writer = direct_store(self.backend)
        self._made = 0

    async def toggle(self, key: str, action: str) -> None:
        """Create a missing object; change, delete or replace an existing one."""
        present = key in {item.key for item in (await self.writer.list("", self.codec, ListOptions())).items}
        if present and action == "change":
            self._made += 1
            await change(self.writer, self.codec, key, color=f"c{self._made}")
            return
        if present:
            await self.writer.delete(key, self.codec)
        if not present or action == "replace":
            self._made += 1
            obj = widget(key)
            obj["metadata"]["uid"] = f"uid-{self._made}"
            await self.writer.create(key, obj, self.codec)

    async def lose(self, steps: list[tuple[str, str]]) -> int:
        """Run steps that the cache's watch loses to a compaction; return the revision after them."""
        await self.backend.change(deaf=True)
        for step in steps:
            await self.toggle(*step)
        revision = await self.backend.revision()
        await self.backend.compact(revision)
        await self.backend.change(broken=True, deaf=False)
        await self.backend.change(broken=False)
        return revision

    async def relist(self, informer: Informer) -> None:
        """Replace the state of a client by a list."""
        listed = await self.store.list("", self.codec, ListOptions())
        informer.objects = {item.key: item.object() for item in listed.items}
        informer.revision = listed.revision


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MIN_RETRY_SECONDS", "MAX_RETRY_SECONDS", "PROGRESS_AFTER_SECONDS", "PROGRESS_INTERVAL_SECONDS"):
        monkeypatch.setattr(feed, name, 0.0001)
    monkeypatch.setattr(logging.getLogger("apiext"), "level", logging.CRITICAL)


async def _resume_after_each_event(house: House, informer: Informer, last: int) -> int:
    """Take one event of each watch, until a revision; return how often the client had to list. The informer refuses doubled events."""
    lists = 0
    while informer.revision < last:
        start = str(informer.revision)
        async with watching(house.store, house.codec, resource_version=start, allow_bookmarks=True) as reader:
            event = await reader.next()
        if event.type is EventType.ERROR:
            assert error_code(event) == 410
            lists += 1
            await house.relist(informer)
        else:
            informer.take(event)
    return lists


async def _play(before: list[tuple[str, str]], lost: list[tuple[str, str]], after: list[tuple[str, str]], taken: int) -> None:
    house, informer = House(), Informer()
    await house.factory.start()
    for step in before:
        await house.toggle(*step)
    await house.relist(informer)
    async with watching(house.store, house.codec, resource_version=str(informer.revision)) as reader:
        await house.lose(lost)
        for step in after:
            await house.toggle(*step)
        last = (await house.writer.create("a/last", widget("a/last"), house.codec)).revision
        await _take(reader, informer, taken, last)
    assert await _resume_after_each_event(house, informer, last) <= 1
    listed = await house.store.list("", house.codec, ListOptions())
    assert informer.objects == {item.key: item.object() for item in listed.items}
    await house.factory.close()


async def _take(reader: Reader, informer: Informer, count: int, last: int) -> None:
    """Take some events in the order of their revisions, at most up to a revision."""
    while count and informer.revision < last:
        event = await reader.next()
        assert event.revision >= informer.revision
        informer.take(event)
        count -= 1


steps = st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(["change", "delete", "replace"])), max_size=8)


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(before=steps, lost=steps.filter(bool), after=steps, taken=st.integers(0, 12))
def test_clients_resume_from_every_event(
    before: list[tuple[str, str]], lost: list[tuple[str, str]], after: list[tuple[str, str]], taken: int
) -> None:
    """Reach the listed state, without a doubled event and with one list at most, from any event at which a client disconnects."""
    asyncio.run(_play(before, lost, after, taken))


async def test_sends_deletions_first_at_the_known_revision() -> None:
    """Send the deletions at the last revision that the cache knows completely, then the other changes at their own."""
    house = House()
    await house.factory.start()
    for key in KEYS[:4]:
        await house.toggle(key, "create")
    start = (await house.store.list("", house.codec, ListOptions())).revision
    async with watching(house.store, house.codec, resource_version=str(start)) as reader:
        await house.lose([(KEYS[0], "change"), (KEYS[1], "delete"), (KEYS[2], "replace"), (KEYS[3], "delete"), (KEYS[4], "create")])
        assert await reader.take(6) == [
            ("DELETED", "a/1", start),
            ("DELETED", "a/2", start),
            ("DELETED", "a/3", start),
            ("MODIFIED", "a/0", start + 1),
            ("ADDED", "a/2", start + 4),
            ("ADDED", "a/4", start + 6),
        ]
    await house.factory.close()


async def test_ends_with_the_last_revision() -> None:
    """Give the last deletion the revision of the list if nothing else changed: a client then resumes without a list."""
    house, informer = House(), Informer()
    await house.factory.start()
    for key in KEYS[:2]:
        await house.toggle(key, "create")
    await house.relist(informer)
    start = informer.revision
    async with watching(house.store, house.codec, resource_version=str(start)) as reader:
        end = await house.lose([(KEYS[0], "delete"), (KEYS[1], "delete")])
        for revision in (start, end):
            event = await reader.next()
            assert event.revision == revision
            informer.take(event)
    last = (await house.writer.create("a/last", widget("a/last"), house.codec)).revision
    assert await _resume_after_each_event(house, informer, last) == 0
    assert list(informer.objects) == ["a/last"]
    await house.factory.close()


async def test_expires_watches_that_begin_within_lost_changes() -> None:
    """End a watch with 410 whose client knows, from another server, a state within the changes that this one lost."""
    house = House()
    await house.factory.start()
    await house.toggle(KEYS[0], "create")
    start = (await house.store.list("", house.codec, ListOptions())).revision
    inside = {"resource_version": str(start + 1)}
    async with (
        watching(house.store, house.codec, **inside) as early,
        watching(house.store, house.codec, resource_version=str(start + 2)) as late,
    ):
        assert await house.lose([(KEYS[1], "create"), (KEYS[1], "delete")]) == start + 2
        assert error_code(await early.next()) == 410
        created = await house.writer.create("a/last", widget("a/last"), house.codec)
        assert await late.take(1) == [("ADDED", "a/last", created.revision)]
    await house.factory.close()

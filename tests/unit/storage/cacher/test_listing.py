"""Lists in slices: one revision, shared work, and no work without a client."""

import asyncio
import random
import sys
from collections.abc import Mapping

import pytest

from apiext.base.meta.selector_parser import label_requirement_steps, parse_label_selector
from apiext.base.meta.selectors import LabelSelector
from apiext.base.meta.steps import at_once
from apiext.base.scheduling import time_slice
from apiext.storage.cacher.cached_store import CachedStore
from apiext.storage.interface import EventType, ListOptions, Selection, Store, VersionMatch, WatchOptions
from tests.support.builders.widgets import WIDGETS, Reader, WidgetCodec, labelled, relabel, watching, where, widget
from tests.support.event_loop import settle, turns_of, until
from tests.support.servers.memory_backend import MemoryBackend
from tests.support.servers.stores import running_stores

SIZE = 1200
CODEC = WidgetCodec()


class CountingSelector(LabelSelector):
    """A label selector that counts the objects it is matched with."""

    __slots__ = ("matched",)

    def __init__(self, text: str) -> None:
        super().__init__(text)
        for requirement in at_once(label_requirement_steps(text)):
            self.add(requirement)
        self.matched = 0

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Count, and match."""
        self.matched += 1
        return super().matches(labels)


@pytest.fixture(autouse=True)
def tiny_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pause wherever it is possible."""
    monkeypatch.setattr(time_slice, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(time_slice, "SHARED_SLICE_SECONDS", 0.0)
    monkeypatch.setattr(time_slice, "SHORT_SLICE_SECONDS", 0.0)


@pytest.fixture
async def store(store: CachedStore) -> CachedStore:
    """Return a store with a cache of many widgets, half of them odd."""
    for number in range(SIZE):
        labels = {"odd": "yes"} if number % 2 else {}
        await store.create(f"n{number % 3}/{number:05}", widget(f"n{number % 3}/{number:05}", labels=labels), CODEC)
    await store.list("", CODEC, ListOptions())
    return store


async def relabel_at_random(store: Store, states: dict[int, set[str]]) -> None:
    """Change labels until cancelled; record the keys of the odd widgets by revision."""
    chance = random.Random(5)  # noqa: S311 -- the same choices on every run
    odd = set(next(reversed(states.values())))
    while True:
        number = chance.randrange(SIZE)
        key = f"n{number % 3}/{number:05}"
        changed = await relabel(store, CODEC, key, **{} if key in odd else {"odd": "yes"})
        odd ^= {key}
        states[changed.revision] = set(odd)
        await settle(2)


@pytest.mark.parametrize(
    "selection",
    [labelled("!odd"), labelled("odd=yes"), labelled("odd in (yes,no),!x"), labelled("odd!=yes"), labelled("odd,!x")],
    ids=lambda selection: selection.labels.text,
)
async def test_shows_one_revision(store: Store, selection: Selection) -> None:
    """Show the state at the revision of a list, though objects change while it is made."""
    before = await store.list("", CODEC, ListOptions())
    states = {before.revision: {item.key for item in before.items if item.labels.get("odd")}}
    every = {item.key for item in before.items}
    changing = asyncio.create_task(relabel_at_random(store, states))
    wants_odd = selection.labels is not None and selection.labels.matches({"odd": "yes"})
    for number in range(6):
        past = str(next(iter(states)) if number % 3 == 2 else "")
        options = ListOptions(selection, resource_version=past, match=VersionMatch.EXACT if past else VersionMatch.UNSET)
        listed = await store.list("", CODEC, options)
        await until(lambda: max(states) >= listed.revision)  # noqa: B023 -- called in this round only
        odd = states[max(revision for revision in states if revision <= listed.revision)]
        assert [item.key for item in listed.items] == sorted(odd if wants_odd else every - odd)
    changing.cancel()


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("limit, decoded", [(2, 2), (0, SIZE)])
async def test_first_page_after_a_start(backend: MemoryBackend, codec: WidgetCodec, limit: int, decoded: int) -> None:
    """Render no more objects than the first page has."""
    async with running_stores(backend) as factory:
        page = await factory.store(WIDGETS).list("", codec, ListOptions(limit=limit))

    assert len(page.items) == codec.decoded == decoded


async def test_pages_show_one_revision(store: Store) -> None:
    """Show the state of the first page on all pages, though objects change between and during them."""
    before = await store.list("", CODEC, ListOptions())
    states = {before.revision: {item.key for item in before.items if item.labels.get("odd")}}
    changing = asyncio.create_task(relabel_at_random(store, states))
    await settle()
    page = await store.list("", CODEC, ListOptions(labelled("odd,!x"), limit=100))
    keys = [item.key for item in page.items]
    while page.continue_token:
        page = await store.list("", CODEC, ListOptions(labelled("odd,!x"), limit=100, continue_token=page.continue_token))
        keys += [item.key for item in page.items]
    changing.cancel()

    assert keys == sorted(states[max(revision for revision in states if revision <= page.revision)])


async def test_equal_lists_share_the_work(store: Store) -> None:
    """Match every object once for all clients that list with equal selectors at the same time, and remember the result."""
    selectors = [CountingSelector("!odd,!x") for _ in range(5)]

    listed = await asyncio.gather(*(store.list("", CODEC, ListOptions(Selection(selector))) for selector in selectors))
    await store.list("", CODEC, ListOptions(Selection(selectors[0]), limit=10))

    assert {len(result.items) for result in listed} == {SIZE // 2}
    assert sum(selector.matched for selector in selectors) == SIZE


async def test_a_list_ends_with_its_client(store: Store) -> None:
    """Match no more objects after the client of a list has gone; go on for another client with an equal selector."""
    gone, stays = (CountingSelector("!odd,!x") for _ in range(2))
    first, second = (asyncio.create_task(store.list("", CODEC, ListOptions(Selection(one)))) for one in (gone, stays))
    await until(lambda: gone.matched)
    first.cancel()
    assert len((await second).items) == SIZE // 2

    alone = CountingSelector("!odd,!y")
    listing = asyncio.create_task(store.list("", CODEC, ListOptions(Selection(alone))))
    await until(lambda: alone.matched)
    listing.cancel()
    await settle(2)
    matched = alone.matched
    await settle(100)

    assert 0 < matched < SIZE
    assert alone.matched == matched


async def test_a_watch_looks_for_initial_events_in_slices(store: Store) -> None:
    """Let others run while no object of a watch's initial state is selected, and stop when the watch is closed."""
    selector = CountingSelector("odd=no")
    watch = await store.watch("", CODEC, WatchOptions(Selection(selector), send_initial_events=True))
    reading = asyncio.create_task(Reader(watch).rest())
    await until(lambda: selector.matched)
    watch.close()
    assert await reading == []

    assert 0 < selector.matched < SIZE
    async with watching(store, CODEC, selection=Selection(parse_label_selector("odd=yes")), send_initial_events=True) as reader:
        assert {event.type for event in [await reader.next() for _ in range(SIZE // 2)]} == {EventType.ADDED}


async def test_watches_share_their_initial_state(store: CachedStore) -> None:
    """Hold the initial state of watches that begin at the same time once, and no longer than they read it."""
    watches = [await store.watch("", CODEC, WatchOptions(send_initial_events=True)) for _ in range(3)]
    state = store.cache.range("")

    assert store.cache.range("") is state
    assert sys.getrefcount(state) > len(watches)
    await relabel(store, CODEC, "n0/00000", new="yes")
    await store.list("", CODEC, ListOptions())
    assert store.cache.range("") is not state
    for watch in watches:
        watch.close()


async def test_an_index_follows_changes_while_it_is_made(store: Store) -> None:
    """Find an object by a label that it got while the index of the label was being made."""
    listing = asyncio.create_task(store.list("", CODEC, ListOptions(labelled("late=yes"))))
    await settle(3)
    changed = await relabel(store, CODEC, "n0/00000", late="yes")
    await listing

    listed = await store.list("", CODEC, ListOptions(labelled("late=yes"), resource_version=str(changed.revision)))
    assert [item.revision for item in listed.items] == [changed.revision]
    assert [item.key for item in (await store.list("", CODEC, ListOptions(where("metadata.name=00001")))).items] == ["n1/00001"]


async def test_a_watch_is_opened_in_slices(store: Store) -> None:
    """Let others run while the objects of a watch's initial state are visited."""
    selector = CountingSelector("odd=no")

    assert await turns_of(store.watch("", CODEC, WatchOptions(Selection(selector), send_initial_events=True))) >= SIZE // 256
    assert not selector.matched


async def test_old_renderings_are_dropped_in_slices(store: CachedStore) -> None:
    """Let others run while the objects lose the renderings of a version that is no longer used, and keep the others."""
    other = WidgetCodec()
    await store.list("", other, ListOptions())
    view = store.cache.view(other)
    assert all(entry.cached(view) for entry in store.cache.range(""))
    del other

    assert await turns_of(store.cache.tick()) >= SIZE // 128
    assert not any(entry.cached(view) for entry in store.cache.range(""))
    assert all(entry.cached(store.cache.view(CODEC)) for entry in store.cache.range(""))

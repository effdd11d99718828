"""Dispatch of changes to watchers."""

import asyncio
import logging
import time

import pytest

from apiext.base.meta import limits
from apiext.base.meta.encoding import json_codec
from apiext.storage.cacher import dispatcher
from apiext.storage.cacher.dispatcher import Dispatcher
from apiext.storage.interface import EVERYTHING, Event
from apiext.storage.rendering.interest import Interest
from apiext.storage.rendering.object_change import ObjectChange
from apiext.storage.rendering.renderer import Renderer
from apiext.storage.rendering.stored_entry import read
from apiext.storage.rendering.version_view import VersionView
from apiext.storage.rendering.watch_queue import WatchQueue
from tests.support.builders.widgets import WidgetCodec, widget
from tests.support.event_loop import Clock, settle, turns_of, until

CODEC = WidgetCodec()
RENDERER = Renderer("/registry/example.com/widgets/")
WATCHERS = 200
EVERY = Interest(view=VersionView(CODEC, RENDERER), codec=CODEC, scope="", selection=EVERYTHING)


@pytest.fixture(autouse=True)
def without_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make no pause of the test count as a silence, however slow the machine is."""
    monkeypatch.setattr(dispatcher, "SILENT_PAUSES", 1_000_000)


def change(revision: int) -> ObjectChange:
    """Return the creation of an object."""
    entry = read(RENDERER, f"default/w{revision}", json_codec.dumps(widget(f"default/w{revision}")), revision)
    return ObjectChange(key=entry.key, revision=revision, entry=entry, previous=None)


class Watcher(WatchQueue[Event]):
    """A watcher that records the revisions of each batch."""

    def __init__(self, dispatching: Dispatcher) -> None:
        super().__init__()
        self.batches: list[list[int]] = []
        self.full = asyncio.Event()
        dispatching.join(self, EVERY)

    def push(self, batch: list[Event], size: int) -> None:
        """Implement WatchQueue.push."""
        super().push(batch, size)
        self.batches.append([event.revision for event in batch])
        self.full.set()


async def test_batches_changes_in_quick_succession() -> None:
    """Dispatch the first change after a silence at once, and those right after it as one batch."""
    dispatching = Dispatcher(clock=time.monotonic, bookmark_interval=60.0)
    watcher, *_ = [Watcher(dispatching) for _ in range(WATCHERS)]
    dispatching.dispatch([change(1)])
    await settle()
    assert watcher.batches == [[1]]
    watcher.full.clear()
    for revision in range(2, 5):
        dispatching.dispatch([change(revision)])
    assert watcher.batches == [[1]]
    async with asyncio.timeout(30):
        await watcher.full.wait()

    assert watcher.batches == [[1], [2, 3, 4]]


async def test_does_not_repeat_pending_changes_to_a_newcomer() -> None:
    """Dispatch the pending changes before a watcher joins."""
    dispatching = Dispatcher(clock=time.monotonic, bookmark_interval=60.0)
    watcher, *_ = [Watcher(dispatching) for _ in range(WATCHERS)]
    for revision in range(1, 4):
        dispatching.dispatch([change(revision)])
    late = Watcher(dispatching)
    dispatching.dispatch([change(4)])
    dispatching.end()
    await until(lambda: late.finished)

    assert watcher.batches == [[1], [2, 3], [4]]
    assert late.batches == [[4]]
    assert watcher.finished


async def test_wakes_many_watchers_in_several_turns() -> None:
    """Let other tasks run between the watchers of a change, and lose and repeat no event of later changes and newcomers."""
    dispatching = Dispatcher(clock=time.monotonic, bookmark_interval=60.0)
    watchers = [Watcher(dispatching) for _ in range(10 * WATCHERS)]

    async def send() -> None:
        for revision in range(1, 6):
            dispatching.dispatch([change(revision)])
            watchers.append(Watcher(dispatching))
            await asyncio.sleep(0)
        dispatching.end()
        await until(lambda: watchers[-1].finished)

    assert await turns_of(send()) >= 10 * WATCHERS / 100
    assert {str([revision for batch in watcher.batches for revision in batch]) for watcher in watchers[: 10 * WATCHERS]} == {
        str([1, 2, 3, 4, 5])
    }
    assert [watcher.batches for watcher in watchers[10 * WATCHERS :]] == [[[2], [3], [4], [5]], [[3], [4], [5]], [[4], [5]], [[5]], []]


async def test_bookmarks_do_not_overtake_changes() -> None:
    """Send no bookmark while changes wait to be sent."""
    clock = Clock()
    dispatching = Dispatcher(clock=clock, bookmark_interval=60.0)
    watcher, *_ = [Watcher(dispatching) for _ in range(WATCHERS)]
    dispatching.schedule_bookmarks(watcher, EVERY, sent=0, timeout=0)
    clock.now += 61
    dispatching.dispatch([change(1)])
    dispatching.send_bookmarks(1)
    assert watcher.batches == []
    await settle()
    dispatching.send_bookmarks(1)

    assert watcher.batches == [[1], [1]]


async def test_large_reloads_are_sent_in_slices() -> None:
    """Send thousands of changes in several batches, each limited in number and bytes."""
    dispatching = Dispatcher(clock=time.monotonic, bookmark_interval=60.0)
    watcher = Watcher(dispatching)
    dispatching.dispatch([change(revision) for revision in range(1, 3000)])
    dispatching.end()
    await until(lambda: watcher.finished)

    assert [revision for batch in watcher.batches for revision in batch] == list(range(1, 3000))
    assert max(map(len, watcher.batches)) <= 256


async def test_ends_watches_that_cannot_be_served_in_time(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """End the watches when too many changes wait to be sent; later watches get later changes."""
    monkeypatch.setattr(limits, "MAX_UNSENT_BYTES", 1000)
    caplog.set_level(logging.CRITICAL)
    dispatching = Dispatcher(clock=time.monotonic, bookmark_interval=60.0)
    watcher, *_ = [Watcher(dispatching) for _ in range(WATCHERS)]
    # changes of any size wait if none wait already
    dispatching.dispatch([change(revision) for revision in range(1, 1001)])
    finished = [watcher.finished]
    dispatching.dispatch([change(1001)])
    Watcher(dispatching)
    finished.append(watcher.finished)
    assert finished == [False, True]
    await settle()

    late = Watcher(dispatching)
    dispatching.dispatch([change(3000)])
    dispatching.end()
    await until(lambda: late.finished)
    assert late.batches == [[3000]]

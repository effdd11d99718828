"""Dispatch of changes to watchers."""

import asyncio
import time

import pytest

from apiext.meta import json_codec
from apiext.storage.cacher import dispatcher
from apiext.storage.cacher.dispatcher import Dispatcher
from apiext.storage.change import Change, Interest
from apiext.storage.entry import read
from apiext.storage.interface import EVERYTHING, Event
from apiext.storage.rendering import Renderer
from apiext.storage.view import View
from apiext.storage.watch_queue import WatchQueue
from tests.support.builders.widgets import WidgetCodec, widget

CODEC = WidgetCodec()
RENDERER = Renderer("/registry/example.com/widgets/")
WATCHERS = 200


@pytest.fixture(autouse=True)
def without_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make no pause of the test count as a silence, however slow the machine is."""
    monkeypatch.setattr(dispatcher, "_SILENCE", 1_000_000)


def change(revision: int) -> Change:
    """Return the creation of an object."""
    entry = read(RENDERER, f"default/w{revision}", json_codec.dumps(widget(f"default/w{revision}")), revision)
    return Change(key=entry.key, revision=revision, entry=entry, previous=None)


class Watcher(WatchQueue[Event]):
    """A watcher that records the revisions of each batch."""

    def __init__(self, dispatching: Dispatcher) -> None:
        super().__init__()
        self.batches: list[list[int]] = []
        self.full = asyncio.Event()
        dispatching.join(self, Interest(view=View(CODEC, RENDERER), codec=CODEC, scope="", selection=EVERYTHING))

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

    assert watcher.batches == [[1], [2, 3], [4]]
    assert late.batches == [[4]]

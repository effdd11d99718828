"""When changes go out to watchers."""

import asyncio

from apiext.meta import json_codec
from apiext.storage.cacher.dispatcher import Audience
from apiext.storage.change import Change, Interest
from apiext.storage.entry import read
from apiext.storage.interface import EVERYTHING, Event
from apiext.storage.rendering import Renderer
from apiext.storage.value.identity import IdentityTransformer
from apiext.storage.view import View
from apiext.storage.watch_queue import WatchQueue
from tests.support.builders.widgets import WidgetCodec, widget

CODEC = WidgetCodec()
RENDERER = Renderer(prefix="/registry/example.com/widgets/", transformer=IdentityTransformer())
WATCHERS = 200


def change(revision: int) -> Change:
    """A creation."""
    entry = read(RENDERER, f"default/w{revision}", json_codec.dumps(widget(f"default/w{revision}")), revision)
    return Change(key=entry.key, revision=revision, entry=entry, previous=None)


class Watcher(WatchQueue):
    """Notes the revisions of each batch that it is given."""

    def __init__(self, everybody: Audience) -> None:
        super().__init__()
        self.batches: list[list[int]] = []
        self.full = asyncio.Event()
        everybody.join(self, Interest(view=View(CODEC, RENDERER), codec=CODEC, scope="", selection=EVERYTHING))

    def push(self, batch: list[Event], size: int) -> None:
        """See WatchQueue."""
        super().push(batch, size)
        self.batches.append([event.revision for event in batch])
        self.full.set()


async def test_changes_in_quick_succession_go_out_together() -> None:
    """The first change after a silence goes out at once; those right behind it make one batch a little later."""
    everybody = Audience(bookmark_interval=60.0)
    watcher, *_ = [Watcher(everybody) for _ in range(WATCHERS)]
    everybody.dispatch([change(1)])
    assert watcher.batches == [[1]]
    watcher.full.clear()
    for revision in range(2, 5):
        everybody.dispatch([change(revision)])
    assert watcher.batches == [[1]]
    async with asyncio.timeout(10):
        await watcher.full.wait()

    assert watcher.batches == [[1], [2, 3, 4]]


async def test_a_newcomer_is_not_told_what_waits() -> None:
    """What waits goes out before somebody joins, who has been given it already."""
    everybody = Audience(bookmark_interval=60.0)
    watcher, *_ = [Watcher(everybody) for _ in range(WATCHERS)]
    for revision in range(1, 4):
        everybody.dispatch([change(revision)])
    late = Watcher(everybody)
    everybody.dispatch([change(4)])
    everybody.end()

    assert watcher.batches == [[1], [2, 3], [4]]
    assert late.batches == [[4]]

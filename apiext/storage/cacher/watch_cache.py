"""The objects of one resource in memory (apiserver pkg/storage/cacher/watch_cache.go)."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, insort
from typing import TYPE_CHECKING, Final

from apiext.meta import errors
from apiext.storage import entry as entries
from apiext.storage import keys
from apiext.storage.backend import CompactedError
from apiext.storage.cacher.dispatcher import Audience
from apiext.storage.cacher.history import History
from apiext.storage.cacher.sorted_view import Shelf
from apiext.storage.change import Change
from apiext.storage.keyrange import prefix_end
from apiext.storage.view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from apiext.storage.backend import Backend, BackendEvent
    from apiext.storage.cacher.feed import Feed
    from apiext.storage.entry import Entry
    from apiext.storage.interface import Codec, Item
    from apiext.storage.rendering import Renderer

_PAGE: Final = 1000
_FEW: Final = 64
"""Changes that are quicker to work in one by one than to begin anew."""


class Cache:
    """Every object's latest entry under its relative key, sorted; the recent changes; and who watches them.

    Filled by a list when first used, from then on by the feed, whose revision is the cache's own.
    """

    def __init__(
        self,
        *,
        backend: Backend,
        renderer: Renderer,
        feed: Feed,
        clock: Callable[[], float],
        bookmark_interval: float,
    ) -> None:
        self._backend = backend
        self._renderer = renderer
        self._feed = feed
        self._clock = clock
        self._base = 0
        self._loading: asyncio.Task[None] | None = None
        self._early: list[BackendEvent] | None = None
        self._views: dict[int, View] = {}
        self._shelves: dict[View, Shelf] = {}
        self._released: list[View] = []
        self._fresh: dict[str, tuple[View, Item]] = {}
        self.entries: dict[str, Entry] = {}
        self.keys: list[str] = []
        self.history = History(clock=clock)
        self.audience = Audience(bookmark_interval=bookmark_interval)
        self.generation = 0
        """The number of changes there have been."""
        self.changed_at = 0
        """The revision of the latest change."""
        self.loaded = False
        self.closed = False

    @property
    def revision(self) -> int:
        """The state shown is the store's at this revision."""
        return max(self._base, self._feed.revision)

    # --- filling ----------------------------------------------------------------------------------------------------

    async def load(self) -> bool:
        """Fill the cache, once, for all who wait for it; False when it has been closed.

        Raises BackendError; the next call then tries again.
        """
        if not self.loaded and not self.closed:
            await asyncio.wait([loading := self.begin_loading()])
            if not loading.cancelled():
                loading.result()
        return self.loaded

    def begin_loading(self) -> asyncio.Task[None]:
        """Start to fill the cache, if nobody has."""
        if self._loading is None or (self._loading.done() and not self.loaded):
            self._loading = asyncio.get_running_loop().create_task(self._load())
            # whoever waits sees the error; when nobody does, the next read tries again
            self._loading.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._loading

    async def _load(self) -> None:
        self._early = []
        self._feed.follow(self._renderer.prefix, self)
        try:
            state, revision = await self._list(0)
        except BaseException:
            self._feed.unfollow(self._renderer.prefix, self)
            raise
        self.entries = state
        self.keys = list(state)
        self._base = self.changed_at = revision
        self.history.begin(revision)
        early, self._early = self._early, None
        self.loaded = True
        self.apply(early or [])

    async def _list(self, revision: int) -> tuple[dict[str, Entry], int]:
        """The backend's state at a revision (0: the latest)."""
        prefix = self._renderer.prefix
        while True:
            state: dict[str, Entry] = {}
            start, at = "", revision
            try:
                while True:
                    result = await self._backend.list(prefix, start=start, revision=at, limit=_PAGE)
                    at = at or result.revision
                    for pair in result.items:
                        key = pair.key[len(prefix) :]
                        state[key] = entries.read(self._renderer, key, pair.value, pair.revision)
                    if not result.more:
                        return state, at
                    start = f"{result.items[-1].key}\0"
            except CompactedError:
                if revision:
                    raise

    async def reload(self, revision: int) -> None:
        """Implements Follower.reload: the differences reach the watchers as changes."""
        if self._loading is not None:
            await asyncio.wait([self._loading])
        # a list that was made later has seen all that was lost
        if not self.loaded or self._base >= revision:
            return
        state, revision = await self._list(revision)
        changes = [
            Change(key=key, revision=entry.revision, entry=entry, previous=self.entries.get(key))
            for key, entry in state.items()
            if key not in self.entries or self.entries[key].revision != entry.revision
        ]
        changes.sort(key=lambda change: change.revision)
        changes += [
            Change(key=key, revision=revision, entry=None, previous=entry) for key, entry in self.entries.items() if key not in state
        ]
        self._base = revision
        self._commit(changes)
        # what happened in between, and was undone again, is nowhere: nobody may resume there, nor list what was then
        self.history.begin(revision)

    # --- following --------------------------------------------------------------------------------------------------

    def apply(self, events: Sequence[BackendEvent]) -> None:
        """Implements Follower.apply."""
        if self._early is not None:
            self._early.extend(events)
        if not self.loaded:
            return
        changes: list[Change] = []
        # a key may come twice in one batch
        latest: dict[str, Entry | None] = {}
        for event in events:
            # a start after a failure, or one that a list was ahead of, brings changes that are in the state already
            if event.revision <= self.changed_at:
                continue
            key = event.key[len(self._renderer.prefix) :]
            previous = latest[key] if key in latest else self.entries.get(key)
            entry = self._entry(key, event)
            if entry is not None or previous is not None:
                changes.append(Change(key=key, revision=event.revision, entry=entry, previous=previous))
                latest[key] = entry
        self._commit(changes)
        if self._fresh and events:
            reached = events[-1].revision
            self._fresh = {key: made for key, made in self._fresh.items() if made[1].revision > reached}

    def _entry(self, key: str, event: BackendEvent) -> Entry | None:
        if event.value is None:
            return None
        entry = entries.read(self._renderer, key, event.value, event.revision)
        made = self._fresh.get(key)
        if made is not None and made[1].revision == event.revision:
            entry.adopt(*made)
        return entry

    def _commit(self, changes: Sequence[Change]) -> None:
        if not changes:
            return
        for change in changes:
            if change.entry is None:
                del self.entries[change.key]
                del self.keys[bisect_left(self.keys, change.key)]
            else:
                if change.key not in self.entries:
                    insort(self.keys, change.key)
                self.entries[change.key] = change.entry
            self.history.add(change)
        self.generation += len(changes)
        self.changed_at = max(self.changed_at, changes[-1].revision)
        self.audience.dispatch(changes)

    def adopt(self, view: View, item: Item) -> None:
        """Use what a write has rendered, when its change arrives or if it has."""
        if not self.loaded or not item.revision:
            return
        entry = self.entries.get(item.key)
        if entry is not None and entry.revision == item.revision:
            if entry.ready(view) is None:
                entry.adopt(view, item)
        elif item.revision > self.changed_at:
            self._fresh[item.key] = (view, item)

    # --- reading ----------------------------------------------------------------------------------------------------

    def view(self, codec: Codec) -> View:
        """The view of a codec; it lives as long as somebody holds the codec."""
        view = self._views.get(id(codec))
        if view is None:
            identity = id(codec)

            def released(view: View) -> None:
                self._views.pop(identity, None)
                self._shelves.pop(view, None)
                self._released.append(view)

            view = self._views[identity] = View(codec, self._renderer, released)
        return view

    def shelf(self, view: View) -> Shelf | None:
        """All items of a view, up to date and in the order of the keys; None when some have yet to be rendered."""
        shelf = self._shelves.get(view)
        if shelf is None:
            shelf = self._shelves[view] = Shelf(view)
        behind = shelf.behind(self.generation)
        if behind == 0:
            return shelf
        if behind is not None and behind <= min(len(self.history), _FEW):
            done = shelf.update(self.history.latest(behind), self.generation)
        else:
            done = shelf.fill(self.range(""), self.generation)
        return shelf if done else None

    def place(self, scope: str, start: str = "") -> slice:
        """Where the keys of a prefix stand, from one relative to it."""
        first = bisect_left(self.keys, scope + start) if scope or start else 0
        end = bisect_left(self.keys, prefix_end(scope), lo=first) if scope else len(self.keys)
        return slice(first, end)

    def range(self, scope: str, start: str = "") -> Sequence[Entry]:
        """The entries of a prefix in order, from a key relative to it."""
        if keys.is_single(scope):
            entry = self.entries.get(scope)
            return [entry] if entry is not None else []
        return [self.entries[key] for key in self.keys[self.place(scope, start)]]

    def range_at(self, revision: int, scope: str, start: str = "") -> Sequence[Entry]:
        """Like `range`, as it was at a revision; raises StatusError 410 when the history does not reach back so far."""
        undone = self.history.undo(revision)
        begin = scope + start
        past = {key: entry for key, entry in undone.items() if keys.covers(scope, key) and key >= begin}
        state = list(self.range(scope, start))
        for key, entry in past.items():
            place = bisect_left(state, key, key=_key)
            known = place < len(state) and state[place].key == key
            state[place : place + known] = [entry] if entry is not None else []
        return state

    # --- housekeeping -----------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Send the bookmarks that are due, and let go what is not needed any more."""
        now = self._clock()
        self.audience.send_bookmarks(self.revision, now)
        self.history.trim()
        released, self._released = self._released, []
        for view in released:
            for entry in self.entries.values():
                entry.forget(view)
            for change in self.history.all():
                for past in (change.entry, change.previous):
                    if past is not None:
                        past.forget(view)

    def close(self, error: errors.StatusError | None = None) -> None:
        """End the watches and follow no more."""
        self.closed = True
        self.loaded = False
        self._feed.unfollow(self._renderer.prefix, self)
        if self._loading is not None:
            self._loading.cancel()
        self.audience.end(error)


def _key(entry: Entry) -> str:
    return entry.key

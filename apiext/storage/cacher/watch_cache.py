"""The objects of one resource in memory (apiserver pkg/storage/cacher/watch_cache.go)."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from operator import attrgetter
from typing import Final
from weakref import WeakValueDictionary

from apiext.base.meta.steps import Steps, at_once
from apiext.base.scheduling.gradual_list import GradualList
from apiext.base.scheduling.tasks import SharedWork
from apiext.base.scheduling.time_slice import Pace, in_slices, paced
from apiext.storage import keys
from apiext.storage.backend import Backend, BackendEvent, CompactedError
from apiext.storage.cacher import lost_changes
from apiext.storage.cacher.dispatcher import Dispatcher
from apiext.storage.cacher.feed import BackendFeed
from apiext.storage.cacher.history import History
from apiext.storage.cacher.sorted_view import SortedView
from apiext.storage.errors import CorruptObjectError
from apiext.storage.interface import Codec, Item, Selection
from apiext.storage.keys import prefix_end
from apiext.storage.paged_reads import pages
from apiext.storage.rendering import stored_entry as entries
from apiext.storage.rendering.interest import is_everything
from apiext.storage.rendering.object_change import ObjectChange
from apiext.storage.rendering.released_views import forget
from apiext.storage.rendering.renderer import Renderer, at_revision
from apiext.storage.rendering.stored_entry import EncryptedEntry, StoredEntry
from apiext.storage.rendering.version_view import VersionView
from apiext.storage.store_times import STORE_TIMES, timed_read

"""Entries counted at once."""


class WriteRenderings:
    """Keeps renderings of writes until their events arrive. An event may precede the end of its write."""

    __slots__ = ("_expected", "_made")

    def __init__(self) -> None:
        self._made: dict[str, tuple[VersionView, Item]] = {}
        self._expected: dict[tuple[str, bytes], tuple[VersionView, Item]] = {}

    def add(self, view: VersionView, item: Item) -> None:
        """Keep the rendering of a write whose event has not arrived."""
        self._made[item.key] = (view, item)

    @contextmanager
    def expected(self, view: VersionView, raw: bytes, draft: Item) -> Iterator[None]:
        """Use a rendering without resourceVersion for an event with these stored bytes that comes within the block."""
        what = draft.key, raw
        self._expected[what] = (view, draft)
        try:
            yield
        finally:
            self._expected.pop(what, None)

    def give(self, entry: StoredEntry) -> None:
        """Let an entry of an event adopt the rendering of its write, if there is one."""
        made = self._made.get(entry.key)
        if made is not None and made[1].revision == entry.revision:
            entry.adopt(*made)
        elif self._expected and (draft := self._expected.get((entry.key, entry.raw))) is not None:
            entry.adopt(draft[0], at_revision(draft[1], entry.revision))

    def drop(self, reached: int) -> None:
        """Drop the renderings of writes up to a revision: their events have arrived."""
        if self._made:
            self._made = {key: made for key, made in self._made.items() if made[1].revision > reached}


class StoredTotals:
    """The number of entries by apiVersion, and their bytes in total."""

    __slots__ = ("api_versions", "stored_bytes")

    def __init__(self) -> None:
        self.api_versions: dict[str, int] = {}
        """The number of entries by the apiVersion in their stored bytes."""
        self.stored_bytes = 0

    @classmethod
    def steps(cls, entries: Iterable[StoredEntry]) -> Steps[StoredTotals]:
        """Return the totals of entries."""
        totals = cls()
        for number, entry in enumerate(entries):
            totals.stored_bytes += entry.stored_bytes
            totals._version(entry.api_version, 1)
            if not number % _STEP:
                yield
        return totals

    def apply(self, change: ObjectChange) -> None:
        """Count a change."""
        before, after = change.previous, change.entry
        if before is not None:
            self.stored_bytes -= before.stored_bytes
        if after is not None:
            self.stored_bytes += after.stored_bytes
        if before is not None and after is not None and before.api_version == after.api_version:
            return
        if after is not None:
            self._version(after.api_version, 1)
        if before is not None:
            self._version(before.api_version, -1)

    def _version(self, api_version: str, difference: int) -> None:
        count = self.api_versions.get(api_version, 0) + difference
        if count:
            self.api_versions[api_version] = count
        else:
            del self.api_versions[api_version]


_STEP: Final = 64
"""Changes applied or undone at once."""
_MIN_INCREMENTAL: Final = 64
"""Number of changes up to which the update of a sorted view is always faster than a fill."""
_FEW: Final = 512
"""Entries that a fill takes without a pause."""
_FILL_SPEED: Final = 32
"""Entries that a fill takes in the time in which an update applies one change."""

_KEY: Final = attrgetter("key")


class _State(GradualList[StoredEntry]):
    """Entries that readers of one generation share. It must not be changed."""

    __slots__ = ("__weakref__",)


class WatchCache:
    """The latest entry of every object, sorted by relative key; recent changes; and the dispatcher.

    Loaded by a list at the first use, then updated by the feed.
    """

    def __init__(
        self,
        *,
        backend: Backend,
        renderer: Renderer,
        feed: BackendFeed,
        clock: Callable[[], float],
        bookmark_interval: float,
    ) -> None:
        self._backend = backend
        self._renderer = renderer
        self._feed = feed
        self._base = 0
        self._loading: asyncio.Task[None] | None = None
        self._events_while_loading: list[BackendEvent] | None = None
        self._views: dict[int, VersionView] = {}
        self._sorted_views: dict[VersionView, SortedView] = {}
        self._fills: SharedWork[bool] = SharedWork()
        self._released: list[VersionView] = []
        self._states: WeakValueDictionary[tuple[int, str, str], _State] = WeakValueDictionary()
        """The entries that readers currently hold, by generation and range."""
        self.renderings = WriteRenderings()
        self._ahead: dict[VersionView, tuple[Codec, str]] = {}
        """The scopes that readers want in their views once the cache is loaded."""
        self.entries: dict[str, StoredEntry] = {}
        self._ordered: GradualList[StoredEntry] = GradualList()
        """The entries by key: the state for a reader is a slice, which takes 1 ms for 100,000 entries."""
        self.totals = StoredTotals()
        self.history = History(clock=clock)
        self.dispatcher = Dispatcher(clock=clock, bookmark_interval=bookmark_interval)
        self.generation = 0
        """The number of changes so far."""
        self.changed_at = 0
        """The revision of the latest change."""
        self.loaded = False
        self.closed = False

    @property
    def revision(self) -> int:
        """Return the store's revision that the cache has reached."""
        return max(self._base, self._feed.revision)

    async def load(self, codec: Codec | None = None, scope: str = "") -> bool:
        """Load the cache once for all callers. Return False if it was closed.

        With a codec, the objects below `scope` are rendered during the load, for the caller to read.

        Raises:
            BackendError: the backend does not answer; the next call tries again.
        """
        if not self.loaded and not self.closed:
            if codec is not None:
                view = self.view(codec)
                self._ahead[view] = codec, scope if self._ahead.get(view, (codec, scope))[1] == scope else ""
            with timed_read():
                await asyncio.wait([loading := self.begin_loading()])
            if not loading.cancelled():
                loading.result()
        return self.loaded

    def begin_loading(self) -> asyncio.Task[None]:
        """Start to load the cache unless this has been done."""
        if self._loading is None or (self._loading.done() and not self.loaded):
            self._loading = asyncio.get_running_loop().create_task(self._load())
            # waiting readers get the error; without any, the next read retries
            self._loading.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._loading

    async def _load(self) -> None:
        # all requests wait for the load, none makes it
        STORE_TIMES.set(None)
        self._events_while_loading = []
        self._feed.follow(self._renderer.prefix, self)
        try:
            state, revision = await self._list(0)
            self.totals = await in_slices(StoredTotals.steps(state.values()))
        except BaseException:
            self._feed.unfollow(self._renderer.prefix, self)
            raise
        finally:
            self._ahead.clear()
        self.entries = state
        self._ordered = GradualList(state.values())
        self._base = self.changed_at = revision
        self.history.begin(revision)
        early, self._events_while_loading = self._events_while_loading, None
        self.loaded = True
        self.apply(early or [])

    async def _list(self, revision: int) -> tuple[dict[str, StoredEntry], int]:
        """List the backend at a revision (0: the latest)."""
        prefix = self._renderer.prefix
        while True:
            state: dict[str, StoredEntry] = {}
            at = revision
            try:
                async for result in pages(self._backend, prefix, revision=revision):
                    at = at or result.revision
                    pairs = [(pair.key[len(prefix) :], pair) for pair in result.items]
                    page = [entries.read(self._renderer, key, pair.value, pair.revision) for key, pair in pairs]
                    state |= zip(map(_KEY, page), page, strict=True)
                    await self._render_ahead(page)
            except CompactedError:
                if revision:
                    raise
            else:
                return state, at

    async def _render_ahead(self, page: Sequence[StoredEntry]) -> None:
        """Render what waiting readers want of a page, while the backend reads the next one."""
        wanted = tuple(self._ahead.items())
        async for view, scope, entry in paced((view, scope, entry) for view, (_, scope) in wanted for entry in page):
            if keys.covers(scope, entry.key) and view.is_ready(entry):
                # the reader gets the error
                with suppress(CorruptObjectError):
                    view.item(entry)

    async def reload(self, revision: int, *, anew: bool = False) -> None:
        """Implement FeedFollower.reload: dispatch the differences as changes, or if all is `anew`, end all watches."""
        if self._loading is not None:
            await asyncio.wait([self._loading])
        # a later list already includes the lost changes
        if not self.loaded or (self._base >= revision and not anew):
            return
        before = self.revision
        state, _ = await self._list(revision)
        changes = await lost_changes.derive(self.entries, before, state, revision)
        if anew:
            self.dispatcher.expire_all(before, revision)
        else:
            # their clients know a state in the middle of the lost changes
            self.dispatcher.expire(before, revision)
        self._base = revision
        self._commit(changes)
        self.changed_at = revision
        # changes in between are lost: no watch or list may refer to an earlier revision
        self.history.begin(revision, sealed=revision)

    def apply(self, events: Sequence[BackendEvent]) -> None:
        """Implement FeedFollower.apply."""
        if self._events_while_loading is not None:
            self._events_while_loading.extend(events)
        if not self.loaded:
            return
        changes: list[ObjectChange] = []
        # a batch may change a key twice
        latest: dict[str, StoredEntry | None] = {}
        for event in events:
            # skip changes from before the list or the last applied event
            if event.revision <= self.changed_at:
                continue
            key = event.key[len(self._renderer.prefix) :]
            previous = latest[key] if key in latest else self.entries.get(key)
            entry = self._entry(key, event)
            if entry is not None or previous is not None:
                changes.append(ObjectChange(key=key, revision=event.revision, entry=entry, previous=previous))
                latest[key] = entry
        self._commit(changes)
        if events:
            self.renderings.drop(events[-1].revision)

    def _entry(self, key: str, event: BackendEvent) -> StoredEntry | None:
        if event.value is None:
            return None
        entry = entries.read(self._renderer, key, event.value, event.revision)
        # the error of an entry that is corrupt is the reader's
        if not isinstance(entry, EncryptedEntry):
            self.renderings.give(entry)
        return entry

    def _commit(self, changes: Sequence[ObjectChange]) -> None:
        if not changes:
            return
        ordered = self._ordered
        for change in changes:
            place = bisect_left(ordered, change.key, key=_KEY)
            if change.entry is None:
                del self.entries[change.key], ordered[place]
            else:
                ordered[place : place + (change.key in self.entries)] = [change.entry]
                self.entries[change.key] = change.entry
            self.totals.apply(change)
            self.history.add(change)
        self.generation += len(changes)
        self.changed_at = max(self.changed_at, changes[-1].revision)
        self.dispatcher.dispatch(changes)

    def replace(self, old: StoredEntry, new: StoredEntry) -> None:
        """Replace an unreadable entry by a readable one of the same revision, unless it has changed meanwhile."""
        if self.entries.get(old.key) is old:
            self.entries[old.key] = new
            self._ordered[bisect_left(self._ordered, old.key, key=_KEY)] = new
            self.totals.apply(ObjectChange(key=new.key, revision=new.revision, entry=new, previous=old))
            self._states.clear()
            for sorted_view in self._sorted_views.values():
                sorted_view.clear()

    def add_rendering(self, view: VersionView, item: Item) -> None:
        """Cache the rendering of a write, for the entry of its change."""
        if not self.loaded or not item.revision:
            return
        entry = self.entries.get(item.key)
        if entry is not None and entry.revision == item.revision:
            if entry.cached(view) is None:
                entry.adopt(view, item)
        elif item.revision > self.changed_at:
            self.renderings.add(view, item)

    def view(self, codec: Codec) -> VersionView:
        """Return the view of a codec; it is released with the codec."""
        view = self._views.get(id(codec))
        if view is None:
            view = self._views[id(codec)] = VersionView(codec, self._renderer, partial(self._release, id(codec)))
        return view

    def keep_view(self, old: Codec, new: Codec) -> None:
        """Move a codec's view, with its renderings, to another codec that renders equally."""
        view = self._views.pop(id(old), None)
        if view is not None:
            self._views[id(new)] = view
            view.use(new, partial(self._release, id(new)))

    def _release(self, identity: int, view: VersionView) -> None:
        self._views.pop(identity, None)
        self._sorted_views.pop(view, None)
        self._released.append(view)

    async def sorted_view(self, view: VersionView, selection: Selection) -> SortedView | None:
        """Return the sorted view of the present generation, with an index for a selection; None if an item is not rendered yet."""
        sorted_view = self._sorted_views.get(view)
        if sorted_view is None:
            sorted_view = self._sorted_views[view] = SortedView(view)
        lag = sorted_view.lag(self.generation)
        outdated = lag is None or lag > max(_MIN_INCREMENTAL, len(self.entries) // _FILL_SPEED)
        if outdated and not await self._fill(view, sorted_view):
            return None
        if not await self._catch_up(sorted_view):
            return None
        if is_everything(selection):
            return sorted_view
        await sorted_view.prepare(selection)
        return sorted_view if await self._catch_up(sorted_view) else None

    async def _fill(self, view: VersionView, sorted_view: SortedView) -> bool:
        if len(self.entries) <= _FEW:
            return at_once(sorted_view.fill(self.range(""), self.generation))
        return await self._fills.run(view, lambda: in_slices(sorted_view.fill(self.range(""), self.generation)))

    async def _catch_up(self, sorted_view: SortedView) -> bool:
        """Apply the missing changes to a sorted view. Return False if that is impossible."""
        pace: Pace | None = None
        while lag := sorted_view.lag(self.generation):
            if pace is None:
                pace = Pace()
            elif pace.due:
                await pace.pause()
                continue
            if lag > self.history.added or not sorted_view.update(self.history.latest(lag)[:_STEP]):
                return False
        return lag == 0

    def range(self, scope: str, start: str = "") -> Sequence[StoredEntry]:
        """Return the entries of a prefix in order, from a start key relative to it."""
        if keys.is_single(scope):
            entry = self.entries.get(scope)
            return [entry] if entry is not None else []
        what = (self.generation, scope, start)
        # watches keep their initial state until their clients have read it
        state = self._states.get(what)
        if state is None:
            state = self._states[what] = _State(self._ordered[self._place(scope, start)])
        return state

    def _place(self, scope: str, start: str) -> slice:
        """Return where the entries of a prefix are, from a relative start key."""
        first = bisect_left(self._ordered, scope + start, key=_KEY) if scope or start else 0
        end = bisect_left(self._ordered, prefix_end(scope), lo=first, key=_KEY) if scope else len(self._ordered)
        return slice(first, end)

    def range_at(self, revision: int, scope: str, start: str = "") -> Steps[Sequence[StoredEntry]]:
        """Return the entries of a prefix at a past revision. Later changes do not matter.

        Raises:
            StatusError: 410 if the history begins later.
        """
        begin, changes, state = scope + start, self.history.since(revision), self.range(scope, start)
        past: dict[str, StoredEntry | None] = {}
        for number, change in enumerate(reversed(changes)):
            # of a key's changes, the first one has the entry at the revision
            if keys.covers(scope, change.key) and change.key >= begin:
                past[change.key] = change.previous
            if not number % _STEP:
                yield
        found: list[StoredEntry] = []
        first = 0
        for key in sorted(past):
            place = bisect_left(state, key, lo=first, key=_KEY)
            found += state[first:place]
            entry = past[key]
            if entry is not None:
                found.append(entry)
            first = place + (place < len(state) and state[place].key == key)
            yield
        return [*found, *state[first:]]

    async def tick(self) -> None:
        """Send due bookmarks, trim the history, drop renderings of released views, and release sorted views without readers."""
        self.dispatcher.send_bookmarks(self.revision)
        self.history.trim()
        for sorted_view in self._sorted_views.values():
            # the history lacks its missing changes, so the next list must refill it; until then it only keeps old objects alive
            if (sorted_view.lag(self.generation) or 0) > self.history.added:
                sorted_view.clear()
        released, self._released = self._released, []
        if released:
            await in_slices(forget(released, self.range(""), self.history.all()))

    def close(self) -> None:
        """End all watches, leave the feed, and release the objects."""
        self.closed = True
        self.loaded = False
        self._feed.unfollow(self._renderer.prefix, self)
        if self._loading is not None:
            self._loading.cancel()
        self.dispatcher.end()
        # views refer to this cache: it would keep the objects until the next full garbage collection
        self._views.clear()
        self._sorted_views.clear()
        self.entries, self._ordered = {}, GradualList()
        self.history.begin(self.revision, sealed=self.revision)

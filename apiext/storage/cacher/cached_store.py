"""The typed Store over a watch cache (apiserver pkg/storage/cacher: cacher.go, delegator.go)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from apiext.meta import errors
from apiext.storage import keys, list_plan, rendering, versioner
from apiext.storage.cacher.listing import from_entries, from_shelf
from apiext.storage.cacher.watch_cache import Cache
from apiext.storage.change import Interest
from apiext.storage.interface import CorruptObjectError, EventType, KeyNotFoundError
from apiext.storage.watch_queue import WatchQueue, ended, failed
from apiext.storage.writer import State

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from apiext.meta.json_codec import Object
    from apiext.storage.backend import Backend
    from apiext.storage.barrier import Barrier
    from apiext.storage.cacher.feed import Feed
    from apiext.storage.change import Change
    from apiext.storage.direct_store import DirectStore
    from apiext.storage.entry import Entry
    from apiext.storage.interface import Codec, Event, Item, ListOptions, ListResult, Preconditions, Watch, WatchOptions
    from apiext.storage.list_plan import ListPlan
    from apiext.storage.view import View
    from apiext.storage.write_guards import WriteGuard

_BOOKMARK_INTERVAL: Final = 60.0


class CachedStore:
    """Implements interface.Store: reads from memory, writes through to the backend.

    A read without resourceVersion asks the shared barrier how far the store is and waits for the cache to be there.
    """

    def __init__(
        self,
        *,
        backend: Backend,
        direct: DirectStore,
        feed: Feed,
        barrier: Barrier,
        clock: Callable[[], float] = time.monotonic,
        bookmark_interval: float = _BOOKMARK_INTERVAL,
    ) -> None:
        self.direct = direct
        self._feed = feed
        self._barrier = barrier
        self._clock = clock
        self.cache = Cache(backend=backend, renderer=direct.renderer, feed=feed, clock=clock, bookmark_interval=bookmark_interval)

    # --- reads ------------------------------------------------------------------------------------------------------

    async def get(self, key: str, codec: Codec, *, resource_version: str = "") -> Item:
        """Implements Store.get."""
        cache = self.cache
        if not cache.loaded:
            self._fill()
            return await self.direct.get(key, codec, resource_version=resource_version)
        if not resource_version:
            revision = await self._barrier.revision()
            if revision > cache.revision and not await self._caught_up(revision):
                return await self.direct.get(key, codec)
        elif resource_version != "0":
            await self._wait(versioner.parse_plainly(resource_version))
        # let go while this waited: nothing feeds it any more
        if cache.closed:
            return await self.direct.get(key, codec, resource_version=resource_version)
        entry = cache.entries.get(key)
        if entry is None:
            raise KeyNotFoundError(self.direct.prefix + key, "key not found")
        return entry.item(cache.view(codec))

    async def _wait(self, revision: int) -> None:
        """Return when the cache is not older than a revision; raises StatusError 504."""
        if revision > self.cache.revision:
            await self._feed.wait(revision)

    async def _caught_up(self, revision: int) -> bool:
        """Whether the cache reaches a revision that the store has, soon enough."""
        try:
            await self._wait(revision)
        except errors.StatusError:
            return False
        return True

    async def list(self, prefix: str, codec: Codec, options: ListOptions) -> ListResult:
        """Implements Store.list."""
        plan = list_plan.plan(prefix, options)
        cache = self.cache
        if not await cache.load():
            return await self.direct.serve(plan, codec)
        if plan.exact:
            return await self._list_exactly(plan, codec)
        if plan.consistent:
            if not await self._caught_up(await self._barrier.revision()):
                return await self.direct.serve(plan, codec)
        else:
            await self._wait(plan.minimum)
        if cache.closed:
            return await self.direct.serve(plan, codec)
        # the reference's cache has never paged a list that may be of any age
        limit = 0 if options.resource_version == "0" else plan.limit
        view, revision = cache.view(codec), cache.revision
        shelf = None if keys.is_single(plan.scope) else cache.shelf(view)
        if shelf is not None:
            return from_shelf(plan, shelf, cache.place(plan.scope, plan.start), limit=limit, revision=revision)
        entries = cache.range(plan.scope, plan.start)
        return await from_entries(plan, entries, view, limit=limit, resource=self.direct.resource, revision=revision)

    async def _list_exactly(self, plan: ListPlan, codec: Codec) -> ListResult:
        """A list at one revision: from the cache and its history, from the backend when that does not reach back."""
        cache = self.cache
        await self._wait(plan.exact)
        if plan.exact < cache.history.floor or cache.closed:
            return await self.direct.serve(plan, codec)
        view = cache.view(codec)
        unchanged = plan.exact >= cache.changed_at
        shelf = cache.shelf(view) if unchanged and not keys.is_single(plan.scope) else None
        if shelf is not None:
            place = cache.place(plan.scope, plan.start)
            return from_shelf(plan, shelf, place, limit=plan.limit, revision=plan.exact)
        entries = cache.range_at(plan.exact, plan.scope, plan.start)
        resource = self.direct.resource
        return await from_entries(plan, entries, view, limit=plan.limit, resource=resource, revision=plan.exact)

    # --- watches ----------------------------------------------------------------------------------------------------

    async def watch(self, prefix: str, codec: Codec, options: WatchOptions) -> Watch:
        """Implements Store.watch."""
        wanted = versioner.parse_plainly(options.resource_version)
        if not await self.cache.load():
            return ended()
        initial = options.send_initial_events
        after = 0
        try:
            if initial is False:
                after = wanted or await self._present(options)
            elif initial or not wanted:
                await self._wait(wanted or await self._present(options))
            else:
                after = wanted
            # nobody feeds the watches of a cache that was let go meanwhile
            return self._open(prefix, codec, options, after=after) if not self.cache.closed else ended()
        except errors.StatusError as error:
            return failed(error)

    async def _present(self, options: WatchOptions) -> int:
        """The revision that "" and "0" stand for: the store's, and whatever the cache has."""
        return self.cache.revision if options.resource_version else await self._barrier.revision()

    def _open(self, prefix: str, codec: Codec, options: WatchOptions, *, after: int) -> WatchQueue:
        """Begin after a revision, or with the present state at 0. Nothing is awaited: no change falls between."""
        cache = self.cache
        now = cache.revision
        interest = Interest(
            view=cache.view(codec),
            codec=codec,
            scope=keys.narrow(prefix, options.selection),
            selection=options.selection,
            after=after if after > now else 0,
        )
        if after:
            backlog = _resumed(interest, cache.history.since(after))
        else:
            announced = bool(options.send_initial_events) and options.allow_bookmarks
            backlog = _initial(interest, cache.range(interest.scope), now if announced else 0)
        watch = WatchQueue(backlog=backlog, closed=lambda watch: cache.audience.leave(watch, interest))
        cache.audience.join(watch, interest)
        if options.allow_bookmarks:
            cache.audience.expect_bookmarks(watch, interest, begun=after or now, timeout=options.timeout, now=self._clock())
        return watch

    # --- writes -----------------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Have the cache filled from the first use on, so that its history has what a client watches from: its own writes."""
        if not self.cache.loaded and not self.cache.closed:
            self.cache.begin_loading()

    def _begin(self, key: str, codec: Codec, *, dry_run: bool) -> State | None:
        """The cached state of an object, for a first try; none for a dry run, which no write would prove right."""
        self._fill()
        entry = self.cache.entries.get(key)
        if entry is None or dry_run or not self.cache.loaded:
            return None
        item = entry.ready(self.cache.view(codec))
        try:
            return State(raw=entry.raw, revision=entry.revision, current=False, item=item)
        except CorruptObjectError:
            return None

    async def create(self, key: str, obj: Object, codec: Codec, *, dry_run: bool = False) -> Item:
        """Implements Store.create."""
        self._fill()
        item = await self.direct.create(key, obj, codec, dry_run=dry_run)
        if not dry_run:
            self.cache.adopt(self.cache.view(codec), item)
        return item

    async def guaranteed_update(
        self,
        key: str,
        codec: Codec,
        update: Callable[[Object, int], Awaitable[Object]],
        *,
        preconditions: Preconditions | None = None,
        ignore_not_found: bool = False,
        dry_run: bool = False,
    ) -> tuple[Item, bool]:
        """Implements Store.guaranteed_update."""
        item, created = await self.direct.guaranteed_update(
            key,
            codec,
            update,
            preconditions=preconditions,
            ignore_not_found=ignore_not_found,
            dry_run=dry_run,
            begin=self._begin(key, codec, dry_run=dry_run),
        )
        if not dry_run:
            self.cache.adopt(self.cache.view(codec), item)
        return item, created

    async def delete(
        self,
        key: str,
        codec: Codec,
        *,
        preconditions: Preconditions | None = None,
        validate: Callable[[Object], Awaitable[None]] | None = None,
        dry_run: bool = False,
    ) -> Item:
        """Implements Store.delete."""
        begin = self._begin(key, codec, dry_run=dry_run)
        return await self.direct.delete(key, codec, preconditions=preconditions, validate=validate, dry_run=dry_run, begin=begin)

    async def delete_unreadable(self, key: str, codec: Codec, *, dry_run: bool = False) -> None:
        """Implements Store.delete_unreadable."""
        await self.direct.delete_unreadable(key, codec, dry_run=dry_run)

    def guard_writes(self, guard: WriteGuard) -> None:
        """Implements Store.guard_writes."""
        self.direct.guard_writes(guard)

    async def count(self) -> int:
        """Implements Store.count."""
        return len(self.cache.entries) if self.cache.loaded else await self.direct.count()

    def close(self, error: errors.StatusError | None = None) -> None:
        """Let the cache go and end its watches, with a Status where there is one; what is asked later, the backend answers."""
        self.cache.close(error)


def _initial(interest: Interest, entries: Sequence[Entry], bookmark_at: int) -> Iterator[Event]:
    """What exists, as ADDED events, and the bookmark that says so (0: none)."""
    view: View = interest.view
    for entry in entries:
        if interest.wants(entry):
            yield rendering.event(EventType.ADDED, entry.item(view))
    if bookmark_at:
        yield rendering.bookmark(view.gvk, bookmark_at, initial_events_end=True)


def _resumed(interest: Interest, changes: Sequence[Change]) -> Iterator[Event]:
    """What a watcher has missed."""
    for change in changes:
        if interest.covers(change.key):
            event = interest.event(change)
            change.settle()
            if event is not None:
                yield event

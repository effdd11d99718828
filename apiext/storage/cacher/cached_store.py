"""The typed Store over a watch cache (apiserver pkg/storage/cacher: cacher.go, delegator.go)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from apiext.meta import errors
from apiext.meta.gvk import GroupResource
from apiext.meta.json_codec import Object
from apiext.storage import keys, list_plan, rendering, versioner
from apiext.storage.backend import Backend
from apiext.storage.barrier import Barrier
from apiext.storage.cacher.feed import BackendFeed
from apiext.storage.cacher.listing import from_entries, from_sorted_view
from apiext.storage.cacher.watch_cache import WatchCache
from apiext.storage.change import Change, Interest
from apiext.storage.converting_watch import ConvertingWatch
from apiext.storage.direct_reader import DirectReader
from apiext.storage.entry import Entry
from apiext.storage.interface import (
    DEFAULT_WRITE,
    Codec,
    CorruptObjectError,
    Event,
    EventType,
    Item,
    KeyNotFoundError,
    ListOptions,
    ListResult,
    Watch,
    WatchOptions,
    WriteOptions,
)
from apiext.storage.list_plan import ListPlan
from apiext.storage.rendering import Renderer
from apiext.storage.watch_queue import WatchQueue, ended, failed
from apiext.storage.writer import ObjectState, Writer


class CachedStore(Writer):
    """Implements Store over a watch cache: reads from memory, writes to the backend.

    A read without resourceVersion asks the shared barrier for the store's revision and waits until the cache reaches it.
    """

    def __init__(
        self,
        *,
        backend: Backend,
        renderer: Renderer,
        resource: GroupResource,
        feed: BackendFeed,
        barrier: Barrier,
        clock: Callable[[], float],
        bookmark_interval: float,
    ) -> None:
        super().__init__(backend=backend, renderer=renderer)
        self._direct = DirectReader(backend=backend, renderer=renderer, resource=resource)
        self._feed = feed
        self._barrier = barrier
        self.cache = WatchCache(backend=backend, renderer=renderer, feed=feed, clock=clock, bookmark_interval=bookmark_interval)

    async def get(self, key: str, codec: Codec, *, resource_version: str = "") -> Item:
        """Implement Store.get."""
        cache = self.cache
        if not cache.loaded:
            self._start_loading()
            return await self._direct.get(key, codec, resource_version=resource_version)
        if not resource_version:
            revision = await self._barrier.revision()
            if revision > cache.revision and not await self._reaches(revision):
                return await self._direct.get(key, codec)
        elif resource_version != "0":
            await self._wait(versioner.parse_for_watch(resource_version))
        # a dropped cache is not updated any more
        if cache.closed:
            return await self._direct.get(key, codec, resource_version=resource_version)
        entry = cache.entries.get(key)
        if entry is None:
            raise KeyNotFoundError(self._direct.prefix + key, "key not found")
        view = cache.view(codec)
        if view.inline:
            return view.item(entry)
        (shown,) = await view.items([entry])
        if isinstance(shown, Item):
            return shown
        raise shown

    async def _wait(self, revision: int) -> None:
        """Wait until the cache reaches a revision.

        Raises:
            StatusError: 504 if it does not in time.
        """
        if revision > self.cache.revision:
            await self._feed.wait(revision)

    async def _reaches(self, revision: int) -> bool:
        """Report whether the cache reaches a revision of the store in time."""
        try:
            await self._wait(revision)
        except errors.StatusError:
            return False
        return True

    async def list(self, prefix: str, codec: Codec, options: ListOptions) -> ListResult:
        """Implement Store.list."""
        plan = list_plan.plan(prefix, options)
        cache = self.cache
        if not await cache.load():
            return await self._direct.list(plan, codec)
        if plan.exact:
            return await self._list_exact(plan, codec)
        if plan.consistent:
            if not await self._reaches(await self._barrier.revision()):
                return await self._direct.list(plan, codec)
        else:
            await self._wait(plan.minimum)
        if cache.closed:
            return await self._direct.list(plan, codec)
        # the reference's cache does not page lists of any age
        limit = 0 if options.resource_version == "0" else plan.limit
        return await self._list_at(cache.revision, plan, codec, limit=limit)

    async def _list_exact(self, plan: ListPlan, codec: Codec) -> ListResult:
        """List at one revision: from the cache and its history, or from the backend if the history is too short."""
        await self._wait(plan.exact)
        if plan.exact < self.cache.history.floor or self.cache.closed:
            return await self._direct.list(plan, codec)
        return await self._list_at(plan.exact, plan, codec, limit=plan.limit)

    async def _list_at(self, revision: int, plan: ListPlan, codec: Codec, *, limit: int) -> ListResult:
        cache = self.cache
        view, past = cache.view(codec), revision < cache.changed_at
        sorted_view = None if past or keys.is_single(plan.scope) else cache.sorted_view(view)
        if sorted_view is not None:
            return from_sorted_view(plan, sorted_view, cache.key_range(plan.scope, plan.start), limit=limit, revision=revision)
        entries = cache.range_at(revision, plan.scope, plan.start) if past else cache.range(plan.scope, plan.start)
        return await from_entries(plan, entries, view, limit=limit, resource=self._direct.resource, revision=revision)

    async def watch(self, prefix: str, codec: Codec, options: WatchOptions) -> Watch:
        """Implement Store.watch."""
        wanted = versioner.parse_for_watch(options.resource_version)
        if not await self.cache.load():
            return ended()
        initial = options.send_initial_events
        after = 0
        try:
            if initial is False:
                after = wanted or await self._current_revision(options)
            elif initial or not wanted:
                await self._wait(wanted or await self._current_revision(options))
            else:
                after = wanted
            # a dropped cache does not feed its watches
            return self._open(prefix, codec, options, after=after) if not self.cache.closed else ended()
        except errors.StatusError as error:
            return failed(error)

    async def _current_revision(self, options: WatchOptions) -> int:
        """Return the revision of resourceVersion "" (the store's) or "0" (the cache's)."""
        return self.cache.revision if options.resource_version else await self._barrier.revision()

    def _open(self, prefix: str, codec: Codec, options: WatchOptions, *, after: int) -> Watch:
        """Start a watch after a revision, or with the present state at 0. It must not await: no change may come between."""
        cache = self.cache
        now = cache.revision
        interest = Interest(
            view=cache.view(codec),
            codec=codec,
            scope=keys.narrow(prefix, options.selection),
            selection=options.selection,
            after=after if after > now else 0,
        )
        announced = bool(options.send_initial_events) and options.allow_bookmarks
        if after:
            missed = cache.history.since(after)
            backlog, sent = _resumed(interest, missed), missed[-1].revision if missed else after
        else:
            backlog, sent = _initial(interest, cache.range(interest.scope), now if announced else 0), now
        watch: WatchQueue[Any] = WatchQueue(backlog=backlog, closed=lambda watch: cache.dispatcher.leave(watch, interest))
        cache.dispatcher.join(watch, interest)
        if options.allow_bookmarks:
            cache.dispatcher.schedule_bookmarks(watch, interest, sent=sent, timeout=options.timeout)
        return watch if interest.view.inline else ConvertingWatch(watch, interest)

    def _start_loading(self) -> None:
        """Start to load the cache at the first use, so that its history covers the client's own writes."""
        if not self.cache.loaded and not self.cache.closed:
            self.cache.begin_loading()

    def cached_state(self, key: str, codec: Codec) -> ObjectState | None:
        """Return the cached state of an object, and its rendering if there is one."""
        entry = self.cache.entries.get(key)
        if entry is None or not self.cache.loaded:
            return None
        try:
            return ObjectState(raw=entry.raw, revision=entry.revision, current=False, item=entry.cached(self.cache.view(codec)))
        except CorruptObjectError:
            return None

    def written(self, codec: Codec, item: Item) -> None:
        """Keep the rendering of a written object for the event of the write."""
        self.cache.add_rendering(self.cache.view(codec), item)

    async def create(self, key: str, obj: Object, codec: Codec, options: WriteOptions = DEFAULT_WRITE) -> Item:
        """Implement Store.create."""
        self._start_loading()
        return await super().create(key, obj, codec, options)

    async def _initial_state(self, key: str, codec: Codec, options: WriteOptions) -> ObjectState:
        self._start_loading()
        return await super()._initial_state(key, codec, options)

    async def count(self) -> int:
        """Implement Store.count."""
        return len(self.cache.entries) if self.cache.loaded else await self._direct.count()

    def close(self) -> None:
        """Drop the cache and end its watches; later reads use the backend."""
        self.cache.close()


def _initial(interest: Interest, entries: Sequence[Entry], bookmark_at: int) -> Iterator[Event | Change]:
    """Yield ADDED events for existing objects, then the bookmark that ends them (0: none)."""
    view = interest.view
    if not view.inline:
        yield from (Change(key=entry.key, revision=entry.revision, entry=entry, previous=None) for entry in entries)
    else:
        for entry in entries:
            if interest.wants(entry):
                yield rendering.event(EventType.ADDED, view.item(entry))
    if bookmark_at:
        yield rendering.bookmark(view.gvk, bookmark_at, initial_events_end=True)


def _resumed(interest: Interest, changes: Sequence[Change]) -> Iterator[Event | Change]:
    """Yield the events of changes that a watcher has missed, or the changes where these have to be converted first."""
    for change in changes:
        if not interest.covers(change.key):
            continue
        if not interest.view.inline:
            yield change
            continue
        event = interest.event(change)
        change.drop_events()
        if event is not None:
            yield event

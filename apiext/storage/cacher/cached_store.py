"""The typed Store over a watch cache (apiserver pkg/storage/cacher: cacher.go, delegator.go)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, Final

from apiext.base.meta import errors
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.gvk import GroupResource
from apiext.base.scheduling.time_slice import in_slices
from apiext.storage import keys, list_plan, versioner
from apiext.storage.backend import Backend, BackendError, ProgressUnreliableError, WriteResult
from apiext.storage.barrier import Barrier
from apiext.storage.cacher.feed import BackendFeed
from apiext.storage.cacher.listing import from_entries, from_sorted_view
from apiext.storage.cacher.refill import HistoryRefill
from apiext.storage.cacher.rereading import read_again
from apiext.storage.cacher.watch_cache import WatchCache
from apiext.storage.corrupt_objects import Corruption
from apiext.storage.direct.reader import DirectReader
from apiext.storage.errors import CorruptObjectError, KeyNotFoundError, UnknownPastError
from apiext.storage.interface import (
    DEFAULT_WRITE,
    EVERYTHING,
    Codec,
    Event,
    EventType,
    Item,
    ListOptions,
    ListResult,
    ServerStore,
    Watch,
    WatchOptions,
    WriteOptions,
)
from apiext.storage.list_plan import ListPlan
from apiext.storage.rendering import event_lines
from apiext.storage.rendering.converting_watch import ConvertingWatch
from apiext.storage.rendering.interest import Interest
from apiext.storage.rendering.object_change import ObjectChange
from apiext.storage.rendering.renderer import Renderer
from apiext.storage.rendering.stored_entry import EncryptedEntry, StoredEntry
from apiext.storage.rendering.version_view import VersionView
from apiext.storage.rendering.watch_queue import WatchQueue, ended, failed
from apiext.storage.writer import ObjectState, WriteGuard, Writer

_NO_PROGRESS: Final = "a watch stream was requested by the client but the required storage feature RequestWatchProgress is disabled"
"""The reference's answer. client-go then lists."""
_RETRY_AFTER: Final = 1
"""Seconds until a client repeats a watch that needed the store while the store did not answer."""
CONVERTED_AT_ONCE: Final = 1500
"""Objects that a new watch converts before it looks for failures: as many batches as are converted at a time."""


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
        guard: WriteGuard | None = None,
    ) -> None:
        super().__init__(backend=backend, renderer=renderer, guard=guard)
        self._direct = DirectReader(backend=backend, renderer=renderer, resource=resource)
        self._feed = feed
        self._barrier = barrier
        self.rewrites = False
        """Whether an update without a change may have to write: with the current key of an encryption."""
        self._generation = 0
        """That of the keys with which unreadable objects were read last."""
        self.cache = WatchCache(backend=backend, renderer=renderer, feed=feed, clock=clock, bookmark_interval=bookmark_interval)
        self._refill = HistoryRefill(backend=backend, renderer=renderer, cache=self.cache)

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
        elif resource_version != "0" and not await self._wait(versioner.parse_for_watch(resource_version)):
            return await self._direct.get(key, codec, resource_version=resource_version)
        # a dropped cache gets no updates
        if cache.closed:
            return await self._direct.get(key, codec, resource_version=resource_version)
        entry = cache.entries.get(key)
        if entry is None:
            raise KeyNotFoundError(self._direct.prefix + key, "key not found")
        view = cache.view(codec)
        item = entry.cached(view)
        if item is None and isinstance(entry, EncryptedEntry):
            # its key may be known now
            return await self._direct.get(key, codec)
        return item or await view.shown(entry)

    async def read_again(self, generation: int) -> None:
        """Read unreadable objects again, once for each generation of the keys that decrypt them.

        Raises:
            BackendError: the backend does not answer.
        """
        if self.cache.loaded and self._generation != generation:
            self._generation = generation
            try:
                await read_again(self.cache, self._backend, self.renderer)
            except BaseException:
                self._generation = 0
                raise

    async def _wait(self, revision: int) -> bool:
        """Wait until the cache reaches a revision. Return False if the store reports no progress: the cache may never learn of it.

        Raises:
            StatusError: 504 if this takes too long.
        """
        if revision > self.cache.revision:
            try:
                await self._feed.wait(revision)
            except ProgressUnreliableError:
                return False
        return True

    async def _reaches(self, revision: int) -> bool:
        """Report whether the cache reaches a revision of the store in time."""
        try:
            return await self._wait(revision)
        except errors.StatusError:
            return False

    async def list(self, prefix: str, codec: Codec, options: ListOptions) -> ListResult:
        """Implement Store.list."""
        plan = list_plan.plan(prefix, options)
        cache = self.cache
        # the reference's cache does not page lists at resourceVersion 0
        limit = 0 if options.resource_version == "0" else plan.limit
        # a page does not wait for the rendering of all objects
        if not await cache.load(None if limit else codec, plan.scope):
            return await self._direct.list(plan, codec)
        if plan.consistent:
            reached = await self._reaches(await self._barrier.revision())
        else:
            reached = await self._wait(plan.exact or plan.minimum)
        if not reached or cache.closed:
            return await self._direct.list(plan, codec)
        if 0 < plan.exact < cache.changed_at:
            return await self._list_past(plan, codec)
        return await self._list_latest(plan, codec, limit=limit)

    async def _list_past(self, plan: ListPlan, codec: Codec) -> ListResult:
        """List at a past revision: from the history, or from the backend if the history is too short."""
        if plan.exact < self.cache.history.floor:
            return await self._direct.list(plan, codec)
        view = self.cache.view(codec)
        entries = await in_slices(self.cache.range_at(plan.exact, plan.scope, plan.start))
        return await from_entries(plan, entries, view, limit=plan.limit, resource=self._direct.resource, revision=plan.exact)

    async def _list_latest(self, plan: ListPlan, codec: Codec, *, limit: int) -> ListResult:
        cache = self.cache
        view = cache.view(codec)
        sorted_view = None if keys.is_single(plan.scope) else await cache.sorted_view(view, plan.selection)
        # the cache may have changed before the sorted view was complete, but not after
        if cache.closed:
            return await self._direct.list(plan, codec)
        if 0 < plan.exact < cache.changed_at:
            return await self._list_past(plan, codec)
        revision = plan.exact or cache.revision
        if sorted_view is not None:
            return await from_sorted_view(plan, sorted_view, limit=limit, revision=revision)
        entries = cache.range(plan.scope, plan.start)
        return await from_entries(plan, entries, view, limit=limit, resource=self._direct.resource, revision=revision)

    async def watch(self, prefix: str, codec: Codec, options: WatchOptions) -> Watch:
        """Implement Store.watch.

        Raises:
            StatusError: 429 while the store does not answer and the watch needs it, or while an object cannot be read or converted.
        """
        wanted, initial, after = versioner.parse_for_watch(options.resource_version), options.send_initial_events, 0
        try:
            if not await self.cache.load():
                return ended()
            if not initial:
                await self._refill.reach(wanted)
        except BackendError as error:
            # the reference's answer before its cache is loaded: clients resume, but after any other error they would list again
            raise _initializing(error) from error
        view, scope = self.cache.view(codec), keys.narrow(prefix, options.selection)
        self._check_readable(view, scope)
        try:
            if initial is False:
                after = wanted or await self._current_revision(options)
            elif initial or not wanted:
                reached = await self._wait(wanted or await self._current_revision(options))
                if not reached and initial and (wanted or options.allow_bookmarks):
                    return failed(errors.StatusError(500, "InternalError", _NO_PROGRESS))
            else:
                after = wanted
        except errors.StatusError as error:
            return failed(error) if not self.cache.closed else ended()
        if not view.inline:
            await self._convert_all(view, scope)
        try:
            await self._render_missing(view, scope, after)
            # a dropped cache sends nothing to its watches
            return self._open(prefix, codec, options, after=after) if not self.cache.closed else ended()
        except errors.StatusError as error:
            return failed(error) if not self.cache.closed else ended()

    def _check_readable(self, view: VersionView, scope: str) -> None:
        """Raise StatusError (429) if an object in the watch's scope is known to be unreadable."""
        cache = self.cache
        found = [error for entry, error in view.failures.items() if cache.entries.get(entry.key) is entry and keys.covers(scope, entry.key)]
        Corruption(self._direct.resource, found).check_watch()

    async def _convert_all(self, view: VersionView, scope: str) -> None:
        """Convert the objects in the watch's scope, as the reference does before a version has watches.

        Raises:
            StatusError: 429 if one cannot be converted. The rest is then left for the client's next attempt.
        """
        if await self.cache.sorted_view(view, EVERYTHING) is not None:
            return
        missing = await view.unready(self.cache.range(scope))
        for first in range(0, len(missing), CONVERTED_AT_ONCE):
            found: list[CorruptObjectError] = []
            for shown in await view.items(missing[first : first + CONVERTED_AT_ONCE]):
                if isinstance(shown, errors.StatusError):
                    raise _initializing(shown)
                if isinstance(shown, CorruptObjectError):
                    found.append(shown)
            Corruption(self._direct.resource, found).check_watch()

    async def _render_missing(self, view: VersionView, scope: str, after: int) -> None:
        """Render the large objects of a watch's initial state. Later changes are rendered with their events."""
        if not view.inline:
            return
        changes = self.cache.history.since(after) if after else ()
        found = (change.entry for change in changes if change.entry is not None and keys.covers(scope, change.key))
        missing = await view.unready(found if after else self.cache.range(scope))
        if missing:
            await view.items(missing)

    async def _current_revision(self, options: WatchOptions) -> int:
        """Return the current revision for resourceVersion "" (the store's) or "0" (the cache's)."""
        return self.cache.revision if options.resource_version else await self._barrier.revision()

    def _open(self, prefix: str, codec: Codec, options: WatchOptions, *, after: int) -> Watch:
        """Start a watch after a revision, or with the current state if that is 0. Must not await: it would miss changes."""
        cache = self.cache
        now = cache.revision
        interest = Interest(
            view=cache.view(codec),
            codec=codec,
            scope=keys.narrow(prefix, options.selection),
            selection=options.selection,
            after=after if after > now else 0,
            stats=cache.dispatcher.shards,
        )
        announced = bool(options.send_initial_events) and options.allow_bookmarks
        if after:
            missed = cache.history.since(after)
            backlog, sent = _resumed(interest, missed, cache), missed[-1].revision if missed else after
        else:
            backlog, sent = _initial(interest, cache.range(interest.scope), now if announced else 0), now
        watch: WatchQueue[Any] = WatchQueue(
            backlog=backlog, closed=lambda watch: cache.dispatcher.leave(watch, interest), initialized=options.initialized
        )
        cache.dispatcher.join(watch, interest)
        if options.allow_bookmarks:
            cache.dispatcher.schedule_bookmarks(watch, interest, sent=sent, timeout=options.timeout)
        return watch if interest.view.inline else ConvertingWatch(watch, interest)

    def _start_loading(self) -> None:
        """Start to load the cache at first use: the history then includes the client's own writes."""
        if not self.cache.loaded and not self.cache.closed:
            self.cache.begin_loading()

    def keep_renderings(self, old: Codec, new: Codec) -> None:
        """Keep the cache's renderings for the new codec."""
        self.cache.keep_view(old, new)

    def cached_state(self, key: str, codec: Codec) -> ObjectState | None:
        """Return the cached state of an object, with its rendering if there is one."""
        entry = self.cache.entries.get(key)
        if entry is None or not self.cache.loaded:
            return None
        try:
            return ObjectState(raw=entry.raw, revision=entry.revision, current=False, item=entry.cached(self.cache.view(codec)))
        except CorruptObjectError:
            return None

    async def is_latest(self, key: str, revision: int) -> bool:
        """Implement Store.is_latest. Simultaneous calls and reads share the question to the backend."""
        cache = self.cache
        if self.rewrites or not cache.loaded:
            return False
        now = await self._barrier.revision()
        if now > cache.revision and not await self._reaches(now):
            return False
        entry = cache.entries.get(key)
        return not cache.closed and entry is not None and entry.revision == revision

    def cached_item(self, key: str, codec: Codec) -> Item | None:
        """Implement Store.cached_item."""
        cache = self.cache
        entry = cache.entries.get(key)
        return entry.cached(cache.view(codec)) if entry is not None and cache.loaded and not cache.closed else None

    def written(self, codec: Codec, item: Item) -> None:
        """Keep the rendering of a written object for the event of the write."""
        self.cache.add_rendering(self.cache.view(codec), item)

    def _put(self, codec: Codec, full: str, raw: bytes, expected: int, draft: Item | None) -> Coroutine[Any, Any, WriteResult]:
        """Write bytes."""
        write = super()._put(codec, full, raw, expected, draft)
        return write if draft is None else self._with_draft(codec, raw, draft, write)

    async def _with_draft(self, codec: Codec, raw: bytes, draft: Item, write: Coroutine[Any, Any, WriteResult]) -> WriteResult:
        """Write bytes. The event may precede the backend's answer: the draft saves it a second conversion."""
        with self.cache.renderings.expected(self.cache.view(codec), raw, draft):
            return await write

    def create(self, key: str, obj: Object, codec: Codec, options: WriteOptions = DEFAULT_WRITE) -> Coroutine[Any, Any, Item]:
        """Implement Store.create."""
        self._start_loading()
        return super().create(key, obj, codec, options)

    def for_workers(self, codec: Codec) -> ServerStore:
        """Implement Store.for_workers."""
        self._start_loading()
        return super().for_workers(codec)

    def _initial_state(self, key: str, codec: Codec, options: WriteOptions) -> Coroutine[Any, Any, ObjectState]:
        self._start_loading()
        return super()._initial_state(key, codec, options)

    async def latest_cache(self) -> WatchCache | None:
        """Return the cache once it has every write acknowledged before the call. Return None if it is not loaded or too late.

        Raises:
            BackendError: the backend does not answer.
        """
        if not self.cache.loaded or not await self._reaches(await self._barrier.revision()):
            return None
        # the cache may have been closed meanwhile
        return None if self.cache.closed else self.cache

    async def count(self) -> int:
        """Implement Store.count."""
        return len(self.cache.entries) if self.cache.loaded else await self._direct.count()

    def close(self) -> None:
        """Drop the cache and end its watches. Later reads use the backend."""
        self.cache.close()
        self._refill.close()


def _initializing(error: Exception) -> errors.StatusError:
    return errors.too_many_requests(f"storage is (re)initializing: {error}", _RETRY_AFTER)


def _initial(interest: Interest, entries: Sequence[StoredEntry], bookmark_at: int) -> Iterator[Event | ObjectChange | None]:
    """Yield ADDED events for existing objects, None for each that is not selected, then the bookmark that ends them (0: none)."""
    view = interest.view
    if not view.inline:
        yield from (ObjectChange(key=entry.key, revision=entry.revision, entry=entry, previous=None) for entry in entries)
    else:
        for entry in entries:
            yield event_lines.event(EventType.ADDED, view.item(entry)) if interest.wants(entry) else None
    if bookmark_at:
        yield event_lines.bookmark(view.gvk, bookmark_at, initial_events_end=True)


def _resumed(interest: Interest, changes: Sequence[ObjectChange], cache: WatchCache) -> Iterator[Event | ObjectChange | None]:
    """Yield the events of changes that a watcher has missed, or the changes where these have to be converted first, or else None.

    Raises StatusError: 410 for an unreadable past state, which only a list can skip.
    """
    for change in changes:
        if not interest.covers(change.key):
            yield None
        elif not interest.view.inline:
            yield change
        else:
            try:
                event = interest.event(change)
            except CorruptObjectError as error:
                present = change.entry is not None and cache.entries.get(change.key) is change.entry
                if present and not isinstance(error, UnknownPastError):
                    raise
                raise errors.expired(f"too old resource version: {change.revision - 1} ({cache.revision})") from error
            change.drop_events()
            yield event

"""The typed Store straight over a backend, for `--watch-cache=false` (apiserver pkg/storage/etcd3/store.go).

Watch: apiserver pkg/storage/etcd3/watcher.go.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from apiext.base.meta import errors, limits
from apiext.base.meta.gvk import GroupResource
from apiext.storage import keys, list_plan, versioner
from apiext.storage.backend import Backend, BackendError, BackendEvent, CompactedError
from apiext.storage.direct.reader import DirectReader
from apiext.storage.errors import RENDERING_ERRORS, CorruptObjectError
from apiext.storage.interface import Codec, Event, EventType, Item, ListOptions, ListResult, Watch, WatchOptions
from apiext.storage.rendering import converting_watch, event_lines, stored_entry
from apiext.storage.rendering.interest import Interest
from apiext.storage.rendering.object_change import ObjectChange
from apiext.storage.rendering.renderer import Renderer
from apiext.storage.rendering.stored_entry import StoredEntry
from apiext.storage.rendering.version_view import VersionView
from apiext.storage.rendering.watch_queue import WatchQueue
from apiext.storage.writer import WriteGuard, Writer

_EXPIRED: Final = "The resourceVersion for the provided watch is too old."
_PAGE_KEYS: Final = 1000
_BEFORE_END_SECONDS: Final = 2.0


class DirectWatch(WatchQueue[Event]):
    """Reads the state for initial events, then follows the backend. Errors end the watch with an ERROR event.

    Raises:
        StatusError: 400 from the constructor, for a bad resourceVersion.
    """

    def __init__(
        self,
        *,
        backend: Backend,
        renderer: Renderer,
        codec: Codec,
        scope: str,
        options: WatchOptions,
        bookmark_interval: float,
        closed: Callable[[WatchQueue[Event]], None],
    ) -> None:
        super().__init__(closed=self._stop, initialized=options.initialized)
        self._on_closed = closed
        self._backend = backend
        self._renderer = renderer
        self._options = options
        self._requested = versioner.parse_for_watch(options.resource_version)
        self._bookmark_interval = bookmark_interval
        self._interest = Interest(view=VersionView(codec, renderer), codec=codec, scope=scope, selection=options.selection)
        # a single key is watched by its prefix, because the backend matches prefixes
        self._prefix = renderer.prefix + (scope[: scope.rfind("/") + 1] if keys.is_single(scope) else scope)
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._start_revision = self._revision = 0

    async def start(self) -> None:
        """Read the initial state and start following the backend.

        Raises:
            BackendError: the backend does not answer.
        """
        try:
            self._start_revision = self._revision = await self._read_initial()
        except errors.StatusError as error:
            self.fail(error)
            return
        self._task = asyncio.get_running_loop().create_task(self._run())
        self._schedule_bookmark(self._options.timeout)

    def _stop(self, _: WatchQueue[Event]) -> None:
        self._on_closed(self)
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()

    async def _read_initial(self) -> int:
        """Queue the initial events. Return the revision from which to follow."""
        revision, initial = self._requested, self._options.send_initial_events
        if initial is None:
            initial = not revision
        if not initial:
            return revision or await self._backend.revision()
        entries, current, error = await self._state()
        if revision > current:
            raise errors.too_large_resource_version(revision, current, 1)
        self._backlog = self._initial(entries, current, error)
        return current

    async def _state(self) -> tuple[list[StoredEntry], int, CorruptObjectError | errors.StatusError | None]:
        """Return the entries and their revision; an error for the one after them that cannot be converted."""
        start, revision = "", 0
        entries: list[StoredEntry] = []
        while True:
            result = await self._backend.list(self._prefix, start=start, revision=revision, limit=_PAGE_KEYS)
            revision = revision or result.revision
            page = [(pair.key[len(self._renderer.prefix) :], pair) for pair in result.items]
            read = [stored_entry.read(self._renderer, key, pair.value, pair.revision) for key, pair in page if self._interest.covers(key)]
            view = self._interest.view
            unready = [each for each in read if not view.is_ready(each)]
            shown = dict(zip(unready, await view.items(unready), strict=True))
            for each in read:
                item = shown.get(each)
                if item is not None and not isinstance(item, Item):
                    return entries, revision, item
                entries.append(each)
            if not result.more:
                return entries, revision, None
            start = f"{result.items[-1].key}\0"

    def _initial(self, entries: list[StoredEntry], revision: int, error: Exception | None) -> Iterator[Event | None]:
        """Yield the initial events. Raises the error after them."""
        view = self._interest.view
        for each in entries:
            yield event_lines.event(EventType.ADDED, view.item(each)) if self._interest.wants(each) else None
        if error is not None:
            raise error
        if self._options.send_initial_events and self._options.allow_bookmarks:
            yield event_lines.bookmark(view.gvk, revision, initial_events_end=True)

    async def _run(self) -> None:
        try:
            await self._follow()
            self.finish()
        except CompactedError:
            self.fail(errors.expired(_EXPIRED))
        except RENDERING_ERRORS as error:
            self.fail(event_lines.status_error(error))
        except BackendError as error:
            self.fail(errors.internal(str(error)))

    async def _follow(self) -> None:
        async with contextlib.aclosing(self._backend.watch(self._prefix, start=self._revision + 1, previous=True)) as batches:
            async for batch in batches:
                if self._interest.view.inline and sum(event.size for event in batch.events) <= limits.MAX_INLINE_RENDERING_BYTES:
                    self._send(batch.events)
                else:
                    await self._convert_and_send(batch.events)
                self._revision = max(self._revision, batch.revision)
                if self.finished:
                    return

    def _send(self, happened: Sequence[BackendEvent]) -> None:
        events: list[Event] = []
        try:
            for each in happened:
                change = self._change(each)
                event = self._interest.event(change) if self._interest.covers(change.key) else None
                if event is not None:
                    events.append(event)
        finally:
            # send the events before a corrupt object
            self._push(events)

    async def _convert_and_send(self, happened: Sequence[BackendEvent]) -> None:
        changes = [change for change in map(self._change, happened) if self._interest.covers(change.key)]
        events, error = await converting_watch.convert(self._interest, changes)
        self._push(events)
        if error is not None:
            raise error

    def _change(self, event: BackendEvent) -> ObjectChange:
        key = event.key[len(self._renderer.prefix) :]
        now, before = None, None
        if event.value is not None:
            now = stored_entry.read(self._renderer, key, event.value, event.revision)
        if event.previous is not None:
            before = stored_entry.read(self._renderer, key, event.previous.value, event.previous.revision)
        return ObjectChange(key=key, revision=event.revision, entry=now, previous=before)

    def _push(self, events: list[Event]) -> None:
        if events:
            self.push(events, sum(len(event.line) for event in events))

    def _schedule_bookmark(self, remaining: float) -> None:
        """Schedule a bookmark at the end of the interval, or shortly before the end of the watch if that is sooner."""
        if not self._options.allow_bookmarks or self.finished:
            return
        wait = self._bookmark_interval
        if remaining:
            wait = min(wait, remaining - _BEFORE_END_SECONDS)
        if wait > 0:
            self._timer = asyncio.get_running_loop().call_later(wait, self._bookmark, remaining and remaining - wait)

    def _bookmark(self, remaining: float) -> None:
        if self._revision > self._start_revision:
            self._push([event_lines.bookmark(self._interest.view.gvk, self._revision)])
        self._schedule_bookmark(remaining)


class DirectStore(Writer):
    """Implements Store without a cache: every read asks the backend, every watch opens a watch of the backend."""

    def __init__(
        self,
        *,
        backend: Backend,
        renderer: Renderer,
        resource: GroupResource,
        bookmark_interval: float,
        guard: WriteGuard | None = None,
    ) -> None:
        super().__init__(backend=backend, renderer=renderer, guard=guard)
        self._reader = DirectReader(backend=backend, renderer=renderer, resource=resource)
        self._bookmark_interval = bookmark_interval
        self._watches: set[WatchQueue[Event]] = set()
        self._closed = False

    async def get(self, key: str, codec: Codec, *, resource_version: str = "") -> Item:
        """Implement Store.get."""
        return await self._reader.get(key, codec, resource_version=resource_version)

    async def list(self, prefix: str, codec: Codec, options: ListOptions) -> ListResult:
        """Implement Store.list."""
        return await self._reader.list(list_plan.plan(prefix, options), codec)

    async def watch(self, prefix: str, codec: Codec, options: WatchOptions) -> Watch:
        """Implement Store.watch."""
        watch = DirectWatch(
            backend=self._backend,
            renderer=self.renderer,
            codec=codec,
            scope=keys.narrow(prefix, options.selection),
            options=options,
            bookmark_interval=self._bookmark_interval,
            closed=self._watches.discard,
        )
        await watch.start()
        if self._closed:
            watch.close()
        elif not watch.finished:
            self._watches.add(watch)
        return watch

    def close(self) -> None:
        """End all watches, current and future ones."""
        self._closed = True
        for watch in tuple(self._watches):
            watch.finish()

    async def count(self) -> int:
        """Implement Store.count."""
        return await self._reader.count()

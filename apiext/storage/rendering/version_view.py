"""The objects of a resource as one codec renders them."""

from __future__ import annotations

import asyncio
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from apiext.base.meta import errors, limits
from apiext.base.meta.gvk import GroupVersionKind
from apiext.base.scheduling.inline_work import InlineWork, unlimited_work
from apiext.base.scheduling.small_requests import SMALL_REQUESTS
from apiext.base.scheduling.tasks import shared_task
from apiext.base.scheduling.time_slice import Pace
from apiext.base.scheduling.tracebacks import without_frames
from apiext.storage.errors import RENDERING_ERRORS, CorruptObjectError
from apiext.storage.interface import Codec, Item, RemoteCodec, RenderingJob, RenderResult, StoredBytes
from apiext.storage.rendering.renderer import Renderer, WaitingLimit, at_revision, with_revision
from apiext.storage.rendering.stored_entry import StoredEntry

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.scheduling.call_log import CallLog
    from apiext.storage.interface import Conversion

_STEP: Final = 256
"""Entries that are looked at between two looks at the clock."""
_KEPT_FAILURES: Final = 100
"""Entries that a view knows to be unreadable: as many as the error of a list names."""


_MAX_ENTRIES: Final = 500
"""Entries of a batch."""
_MAX_BYTES: Final = 512 * 1024
"""Bytes of the entries of a batch of several: the event loop encodes what a webhook gets in one piece."""
_LONG_SECONDS: Final = 5.0
"""Seconds that a batch should take at most: webhooks have 30. Those after one that took longer are smaller."""
_FEW: Final = 16
"""Entries of a reader that is served before long lists."""
_RUNNING: Final = 4
"""Batches that are rendered at a time."""
_RUNNING_BULK: Final = _RUNNING - 1
"""Batches of long lists that are rendered at a time; the rest is free for other readers."""

Results = dict[StoredEntry, RenderResult]


async def render_all(renderer: Renderer, codec: Codec, stored: Sequence[StoredBytes], log: CallLog | None = None) -> list[RenderResult]:
    """Return the renderings of stored objects; in the place of one that fails stands its error. Webhooks are called by the log."""
    pace = Pace()
    results: dict[int, RenderResult] = {}
    decoded: dict[int, Object] = {}
    for place, (key, data, revision) in enumerate(stored):
        try:
            if codec.conversion is None:
                results[place] = renderer.item(codec, key, data, revision)
            else:
                decoded[place] = renderer.decode(codec, key, data, revision)
        except RENDERING_ERRORS as error:
            # with this frame it would be a reference cycle
            results[place] = without_frames(error)
        if pace.due:
            await pace.pause()
    if codec.conversion is not None and decoded:
        converted = await _converted(codec.conversion, list(decoded.values()), log)
        for place, obj in zip(decoded, converted, strict=True):
            key, _, revision = stored[place]
            results[place] = _rendered(renderer, codec, key, obj, revision)
            if pace.due:
                await pace.pause()
    return [results[place] for place in range(len(stored))]


async def _converted(
    conversion: Conversion, objects: Sequence[Object], log: CallLog | None
) -> Sequence[Object | ValueError | errors.StatusError]:
    try:
        return await conversion.from_storage(objects, log)
    except errors.StatusError as error:
        return [error] * len(objects)


def _rendered(renderer: Renderer, codec: Codec, key: str, obj: Object | ValueError | errors.StatusError, revision: int) -> RenderResult:
    if isinstance(obj, errors.StatusError):
        return obj
    if isinstance(obj, ValueError):
        return renderer.corrupt(key, revision, obj)
    try:
        return renderer.render(codec, key, obj, revision)
    except RENDERING_ERRORS as error:
        return error


class BatchView(Protocol):
    """A view whose entries are rendered in batches."""

    async def render_batch(self, codec: Codec, entries: Sequence[StoredEntry]) -> Results:
        """Return the result of each entry."""


@dataclass(slots=True, eq=False)
class Batch:
    """Entries that are rendered together; `view` and `codec` stay in use until then."""

    view: BatchView
    codec: Codec
    done: asyncio.Future[Results]
    entries: list[StoredEntry] = field(default_factory=list)
    size: int = 0
    task: asyncio.Task[None] | None = None

    def add(self, entry: StoredEntry, most: int) -> bool:
        """Add an entry; return False if the batch is full, with `most` entries or the limit of bytes."""
        if self.entries and (len(self.entries) >= most or self.size + entry.size > _MAX_BYTES):
            return False
        self.entries.append(entry)
        self.size += entry.size
        return True


class RenderQueue:
    """Renders each entry once for all readers that want it at the same time.

    Readers of few entries who come while all places are taken share the next batch. A reader that is cancelled does not cancel the
    others' batch. The view owns the queue; a reference back would be a cycle, and the renderings of a former definition would stay.
    """

    __slots__ = ("_batches", "_bulk", "_few", "_limit", "_most", "_running", "_running_bulk", "_silent_since", "_waiting")

    def __init__(self, limit: WaitingLimit | None = None) -> None:
        """Create the queue of a view."""
        self._limit = limit
        self._batches: dict[StoredEntry, Batch] = {}
        self._most = _MAX_ENTRIES
        """Entries of a new batch."""
        self._few: deque[Batch] = deque()
        self._bulk: deque[Batch] = deque()
        self._running = self._running_bulk = self._waiting = 0
        self._silent_since = 0.0
        """When the latest batch ended, or the first one began after a time without any."""

    async def results(self, view: BatchView, codec: Codec, entries: Sequence[StoredEntry]) -> Results:
        """Return the renderings, or the errors, of entries that the view has not rendered yet."""
        SMALL_REQUESTS.end()
        pending = await self._batched(view, codec, entries)
        limit = self._limit
        if limit is not None and self._waiting >= limit.readers and time.monotonic() - self._silent_since > limit.seconds:
            return dict.fromkeys(entries, limit.refusal())
        results: Results = {}
        self._waiting += 1
        try:
            while pending:
                # no variable: it would be a reference cycle through the traceback of the exception
                results |= await asyncio.shield(pending.popleft())
        finally:
            self._waiting -= 1
        return results

    async def _batched(self, view: BatchView, codec: Codec, entries: Sequence[StoredEntry]) -> deque[asyncio.Future[Results]]:
        """Put entries into batches, and return the results of these."""
        pace = Pace()
        queue = self._few if len(entries) <= _FEW else self._bulk
        batches: dict[Batch, None] = {}
        try:
            for entry in entries:
                batch = self._batches.get(entry)
                if batch is None and entry.cached(view) is None:
                    batch = self._batches[entry] = self._add(view, codec, entry, queue)
                if batch is not None:
                    batches[batch] = None
                    if queue is self._few and batch in self._bulk:
                        self._bulk.remove(batch)
                        self._few.append(batch)
                if pace.due:
                    await pace.pause()
        finally:
            # also when the reader is cancelled: its batches would keep the codec in use
            self._start()
        return deque(batch.done for batch in batches)

    def _add(self, view: BatchView, codec: Codec, entry: StoredEntry, queue: deque[Batch]) -> Batch:
        """Add an entry to the last batch of a queue, or to a new one."""
        last = queue[-1] if queue else None
        if last is None or last.codec is not codec or not last.add(entry, self._most):
            last = Batch(view, codec, asyncio.get_running_loop().create_future())
            last.add(entry, self._most)
            queue.append(last)
        return last

    def _start(self) -> None:
        while self._running < _RUNNING and (self._few or (self._bulk and self._running_bulk < _RUNNING_BULK)):
            bulk = not self._few
            batch = (self._bulk if bulk else self._few).popleft()
            self._silent_since = self._silent_since if self._running else time.monotonic()
            self._running += 1
            self._running_bulk += bulk
            batch.task = shared_task(self._run(batch, bulk=bulk))

    async def _run(self, batch: Batch, *, bulk: bool) -> None:
        begin = time.monotonic()
        try:
            batch.done.set_result(await batch.view.render_batch(batch.codec, batch.entries))
        except BaseException as error:
            batch.done.set_exception(error)
            # nobody waits when all readers were cancelled
            batch.done.exception()
            raise
        finally:
            for entry in batch.entries:
                del self._batches[entry]
            self._silent_since = time.monotonic()
            self._adapt(len(batch.entries), self._silent_since - begin)
            self._running -= 1
            self._running_bulk -= bulk
            self._start()
            # the variable would be a reference cycle through the traceback of the exception
            del batch

    def _adapt(self, count: int, seconds: float) -> None:
        """Make later batches smaller after one that took long, and larger again after a quick one."""
        if seconds > _LONG_SECONDS:
            self._most = max(1, min(self._most, int(count * _LONG_SECONDS / seconds)))
        elif count == self._most and seconds < _LONG_SECONDS / 4:
            self._most = min(_MAX_ENTRIES, self._most * 2)


class VersionView:
    """Renders entries with a codec.

    A view refers to its codec weakly: readers and watchers hold the codec.
    """

    __slots__ = ("__weakref__", "_codec", "_queue", "_remote", "_renderer", "failures", "gvk", "inline")

    def __init__(self, codec: Codec, renderer: Renderer, released: Callable[[VersionView], None] | None = None) -> None:
        self.gvk: GroupVersionKind = codec.gvk
        self.inline: bool = codec.conversion is None
        """Whether `item` can be used for small entries at once; otherwise all entries are rendered by `items` first."""
        self._renderer = renderer
        self._queue: RenderQueue | None = None
        self.use(codec, released)

    def use(self, codec: Codec, released: Callable[[VersionView], None] | None) -> None:
        """Render with a codec, instead of one that renders equally; `released` is called when it is garbage."""
        self._remote = codec.remote
        self._codec = weakref.ref(codec, None if released is None else lambda _: released(self))
        self.failures: dict[StoredEntry, CorruptObjectError] = {}
        """The errors of the last entries that could not be decoded, in an inline view; a conversion may succeed later."""

    def _held(self) -> Codec:
        codec = self._codec()
        if codec is None:
            raise AssertionError("the codec of a view in use is garbage")
        return codec

    def is_ready(self, entry: StoredEntry) -> bool:
        """Report whether `item` returns at once: the entry is rendered, or small in an inline view. Otherwise use `items`."""
        if entry.cached(self) is not None:
            return True
        return self.inline and not self._is_large(entry)

    async def unready(self, entries: Iterable[StoredEntry]) -> list[StoredEntry]:
        """Return the entries for which `is_ready` is false."""
        pace = Pace()
        found: list[StoredEntry] = []
        for number, entry in enumerate(entries, start=1):
            if not self.is_ready(entry):
                found.append(entry)
            if not number % _STEP:
                await pace.checkpoint()
        return found

    def _is_large(self, entry: StoredEntry) -> bool:
        return self._remote is not None and entry.size > limits.MAX_INLINE_RENDERING_BYTES

    def item(self, entry: StoredEntry) -> Item:
        """Return the rendering of an entry, which keeps it. In a view that is not inline, it must be cached.

        Raises:
            CorruptObjectError: the entry cannot be decoded.
        """
        item = entry.cached(self)
        if item is None:
            try:
                item = entry.adopt(self, self.render(entry, entry.revision))
            except CorruptObjectError as error:
                self._remember(entry, error)
                raise
        return item

    def _remember(self, entry: StoredEntry, error: CorruptObjectError) -> None:
        if len(self.failures) >= _KEPT_FAILURES and entry not in self.failures:
            del self.failures[next(iter(self.failures))]
        self.failures[entry] = CorruptObjectError(error.key, error.message)

    def at(self, entry: StoredEntry, revision: int) -> Item:
        """Return an entry's object with another resourceVersion, as in a DELETED event. Raises as `item`."""
        item = entry.cached(self)
        if item is not None and entry.is_stored_as_shown(self):
            return with_revision(item, revision)
        return self.render(entry, revision) if item is None and self.inline else at_revision(self.item(entry), revision)

    def render(self, entry: StoredEntry, revision: int) -> Item:
        """Render an entry's object with a resourceVersion, in an inline view. Raises as `item`."""
        if not self.inline:
            raise AssertionError("an entry is used before it was converted")
        # also for others than the current request, whose time may be limited
        with unlimited_work():
            return self._renderer.item(self._held(), entry.key, entry.raw, revision)

    async def shown(self, entry: StoredEntry) -> Item:
        """Return the rendering of an entry, which keeps it.

        Raises:
            CorruptObjectError: the entry cannot be decoded or converted.
            StatusError: the converter cannot be used, or the worker process failed.
        """
        if self.is_ready(entry):
            return self.item(entry)
        (shown,) = await self.items([entry])
        if isinstance(shown, Item):
            return shown
        try:
            raise shown
        finally:
            # the variable would be a reference cycle through the traceback
            del shown

    async def items(self, entries: Sequence[StoredEntry]) -> list[RenderResult]:
        """Return the renderings of entries; in the place of one that fails stands its error.

        Entries keep their renderings. An entry that several readers want at the same time is converted once.
        """
        if self._queue is None:
            self._queue = RenderQueue(self._renderer.waiting)
        results = await self._queue.results(self, self._held(), entries)
        for entry, result in results.items() if self.inline else ():
            if isinstance(result, CorruptObjectError):
                self._remember(entry, result)
        return [entry.cached(self) or results[entry] for entry in entries]

    async def render_batch(self, codec: Codec, entries: Sequence[StoredEntry]) -> dict[StoredEntry, RenderResult]:
        """Render entries after one conversion of them all; with a large one, they are rendered in a worker process."""
        pace = Pace()
        shown: dict[StoredEntry, RenderResult] = {}
        stored: dict[StoredEntry, StoredBytes] = {}
        for entry in entries:
            try:
                stored[entry] = (entry.key, entry.raw, entry.revision)
            except CorruptObjectError as error:
                shown[entry] = error
            if pace.due:
                await pace.pause()
        remote = self._remote
        if remote is None:
            return shown | self._adopted(stored, await render_all(self._renderer, codec, list(stored.values())))
        large = [entry for entry in stored if self._is_large(entry)]
        if large and not self.inline:
            return shown | await self._render_remotely(stored, self._job(remote, stored))
        for entry in large:
            one = {entry: stored.pop(entry)}
            shown |= await self._render_remotely(one, self._job(remote, one))
        if self.inline:
            # for all readers, also if the first one is a write whose time is limited
            with unlimited_work():
                return shown | self._adopted(stored, await render_all(self._renderer, codec, list(stored.values())))
        job = self._job(remote, stored)
        with InlineWork(trusting=True):
            return shown | self._adopted(stored, await render_all(self._renderer, codec, list(stored.values()), job))
        return shown | await self._render_remotely(stored, job)

    def _job(self, remote: RemoteCodec, stored: Mapping[StoredEntry, StoredBytes]) -> RenderingJob:
        return remote.job(self._renderer.prefix, list(stored.values()))

    async def _render_remotely(self, stored: Mapping[StoredEntry, StoredBytes], job: RenderingJob) -> dict[StoredEntry, RenderResult]:
        """Render entries in a worker process."""
        try:
            results = await job.run()
        except RENDERING_ERRORS as error:
            return dict.fromkeys(stored, error)
        return self._adopted(stored, results)

    def _adopted(self, entries: Iterable[StoredEntry], results: Sequence[RenderResult]) -> dict[StoredEntry, RenderResult]:
        return {
            entry: entry.adopt(self, result) if isinstance(result, Item) else result for entry, result in zip(entries, results, strict=True)
        }

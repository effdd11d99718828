"""Batches of entries to render, a few of them at a time: what a reader of few objects wants comes before long lists."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from apiext.base.scheduling.small_requests import SMALL_REQUESTS
from apiext.base.scheduling.tasks import shared_task
from apiext.base.scheduling.time_slice import Pace
from apiext.storage.interface import Codec, RenderResult
from apiext.storage.rendering.stored_entry import StoredEntry
from apiext.storage.rendering.waiting_limit import WaitingLimit

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

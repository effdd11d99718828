"""Reads past changes from the store into the history, for watches that resume after a restart."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import deque
from contextlib import aclosing, suppress
from typing import Final

from apiext.base.meta.log import get_logger
from apiext.base.scheduling.tasks import end_tasks, shared_task
from apiext.base.scheduling.time_slice import Pace
from apiext.storage.backend import Backend, BackendError, BackendEvent, CompactedError, ProgressUnreliableError, UnavailableError
from apiext.storage.cacher.history import MAX_CHANGES
from apiext.storage.cacher.watch_cache import WatchCache
from apiext.storage.rendering import stored_entry as entries
from apiext.storage.rendering.object_change import ObjectChange
from apiext.storage.rendering.renderer import Renderer
from apiext.storage.rendering.stored_entry import StoredEntry

MAX_SECONDS: Final = 10.0
"""Seconds of one read. A cache of 32 MiB takes about one second."""
PROGRESS_INTERVAL_SECONDS: Final = 0.05
"""Seconds between two requests for progress."""
_FIRST_REVISION: Final = 1
"""Nothing is stored at this revision. A watch from it gets 410, as in the reference."""

_LOG: Final = get_logger(__name__)


class HistoryRefill:
    """Extends the history into the past as far as watches need, the store is not compacted, and memory allows.

    All waiting watches share one read of the store. It begins at the lowest revision from which they resume.
    """

    def __init__(self, *, backend: Backend, renderer: Renderer, cache: WatchCache) -> None:
        self._backend = backend
        self._renderer = renderer
        self._cache = cache
        self._wanted: list[int] = []
        self._reading: asyncio.Task[None] | None = None
        self._answered = False
        """Whether the store has sent anything for the last read."""
        self._expired = _FIRST_REVISION
        """The history cannot reach back to this revision."""

    async def reach(self, revision: int) -> None:
        """Extend the history back to a revision if the store still has the changes since then.

        Raises:
            BackendError: the backend does not answer.
        """
        if not self._lacks(revision):
            return
        self._wanted.append(revision)
        try:
            while self._lacks(revision):
                if self._reading is None:
                    self._reading = shared_task(self._read_lowest())
                await asyncio.wait([reading := self._reading])
                if not reading.cancelled():
                    reading.result()
        finally:
            self._wanted.remove(revision)

    def _lacks(self, revision: int) -> bool:
        """Report whether a read may extend the history to a revision."""
        history = self._cache.history
        expired = max(self._expired, history.sealed - 1)
        return expired < revision < history.floor <= revision + MAX_CHANGES and not self._cache.closed

    async def _read_lowest(self) -> None:
        """Extend the history to the lowest start revision of the waiting watches."""
        after = min(filter(self._lacks, self._wanted), default=0)
        try:
            if after:
                async with asyncio.timeout(MAX_SECONDS):
                    await self._read(after)
                if after < self._cache.history.floor:
                    self._expire(self._cache.history.floor - 1)
        except CompactedError as error:
            # a watch may start at the compacted revision itself
            self._expire(max(after, error.compact_revision - 2))
        except TimeoutError as error:
            if not self._answered:
                raise UnavailableError("the store does not send changes of the past") from error
            self._expire(after)
        except ProgressUnreliableError:
            self._expire(after)
        finally:
            self._reading = None

    def _expire(self, revision: int) -> None:
        """Answer 410 to later watches from this revision or an earlier one: a read did not reach it."""
        self._expired = max(self._expired, revision)
        _LOG.debug("watches up to this revision expired", prefix=self._renderer.prefix, revision=revision)

    async def _read(self, after: int) -> None:
        """Read the changes from a revision up to the history. Keep the latest that fit into the history."""
        self._answered = False
        # fails at once without progress reports
        await self._backend.request_progress()
        asking = asyncio.get_running_loop().create_task(self._ask_for_progress())
        history = self._cache.history
        changes: deque[ObjectChange] = deque()
        latest: dict[str, StoredEntry] = {}
        size, pace = 0, Pace()
        try:
            async with aclosing(self._backend.watch(self._renderer.prefix, start=after + 1, previous=True)) as batches:
                async for batch in batches:
                    self._answered = True
                    for event in batch.events:
                        changes.append(change := self._change(event, latest))
                        size += change.size
                        while changes and size > history.free:
                            dropped = changes.popleft()
                            size, after = size - dropped.size, dropped.revision
                        await pace.checkpoint()
                    # the history may have dropped changes meanwhile
                    if batch.revision >= history.floor:
                        found = list(changes)
                        count = bisect_right(found, history.floor, key=lambda change: change.revision)
                        history.prepend(found[:count], floor=min(after, history.floor))
                        return
        finally:
            await end_tasks(asking)

    async def _ask_for_progress(self) -> None:
        """Request progress: there may be no change before the history's, and etcd drops requests while a watch catches up."""
        while True:
            await asyncio.sleep(PROGRESS_INTERVAL_SECONDS)
            with suppress(BackendError):
                await self._backend.request_progress()

    def _change(self, event: BackendEvent, latest: dict[str, StoredEntry]) -> ObjectChange:
        """Return the change of an event; `latest` has the entries of earlier ones."""
        key = event.key[len(self._renderer.prefix) :]
        replaced, previous, entry = event.previous, None, None
        if replaced is not None:
            previous = self._entry(key, replaced.value, replaced.revision, latest)
        if event.value is not None:
            entry = latest[key] = self._entry(key, event.value, event.revision, latest)
        else:
            latest.pop(key, None)
        return ObjectChange(key=key, revision=event.revision, entry=entry, previous=previous)

    def _entry(self, key: str, value: bytes, revision: int, latest: dict[str, StoredEntry]) -> StoredEntry:
        """Return the entry of a state, the cache's own if it has it."""
        for known in (latest.get(key), self._cache.entries.get(key)):
            if known is not None and known.revision == revision:
                return known
        return entries.read(self._renderer, key, value, revision)

    def close(self) -> None:
        """Stop reading. The waiting watches continue with the history as it is."""
        if self._reading is not None:
            self._reading.cancel()

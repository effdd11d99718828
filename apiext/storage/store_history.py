"""Goes on with a store whose data was replaced under the server: by a restored snapshot, an old disk, or an older copy of a file.

Clients, caches and informers take revisions for one growing sequence. So the replaced data gets an offset above all revisions that
anyone has seen (storage/backends/revision_offset.py): older ones are answered 410, every cache reads its objects again, and each object
that came back is newer than what was known of it. All servers on the store agree on the offset by its record.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

import orjson

from apiext.base.meta.errors import StatusError
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.backoff import Backoff
from apiext.base.scheduling.tasks import end_tasks
from apiext.base.scheduling.ticks import until_tick
from apiext.storage.backend import BackendError, HistoryLostError
from apiext.storage.backends.paused_backend import PausedBackend
from apiext.storage.backends.revision_offset import OFFSET_MEMBER, OFFSET_RECORD, OffsetBackend, next_offset, offset_of, recorded_offset
from apiext.storage.replicas.host_records import HostRecords

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.storage.backend import BackendEvent
    from apiext.storage.backends.measured_backend import MeasuredBackend
    from apiext.storage.cacher.feed import BackendFeed

_TICK_SECONDS: Final = 1.0
_PAUSES: Final = (0.05, 2.0)
"""Seconds before the first repetition of a failed step, and before later ones."""

_LOG: Final = get_logger(__name__)


class StoreHistory:
    """Notices that the data of a store was replaced, and goes on with the present data. Implements FeedFollower for the offset's record."""

    def __init__(self, backend: MeasuredBackend, prefix: str, feed: BackendFeed | None) -> None:
        """Follow the data of a backend; `feed` is the one of all caches, None without any."""
        self.problem = ""
        """Why the objects are being read again; empty while the caches follow the store."""
        self._backend = backend
        self._chain = backend.inner
        self._base = offset_of(self._chain)
        """The offset within the backend."""
        self._offset = self._base
        """The present offset."""
        self._feed = feed
        self._records = HostRecords(self._chain, prefix)
        self._repair: asyncio.Task[None] | None = None
        self._is_paused = False
        self._checking: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to follow."""
        self._backend.on_lost = self.report
        if self._feed is not None:
            feed = self._feed
            feed.on_lost = self.report
            self._backend.reached = lambda: feed.revision
            for key in self._records.keys(OFFSET_RECORD):
                feed.follow(key[: key.rfind("/") + 1], self)
        self._checking = asyncio.create_task(self._check(), name="store-history")

    async def close(self) -> None:
        """Stop."""
        await end_tasks(*(task for task in (self._checking, self._repair) if task is not None))

    async def _check(self) -> None:
        while True:
            await until_tick(_TICK_SECONDS)
            try:
                self._backend.check_history()
            except HistoryLostError as error:
                self.report(str(error))
            except BackendError as error:
                _LOG.debug("store history not checked", error=str(error))

    # --- other servers --------------------------------------------------------------------------------------------------

    def apply(self, events: Sequence[BackendEvent]) -> None:
        """Notice that another server has begun a new offset."""
        keys = self._records.keys(OFFSET_RECORD)
        for event in events:
            if event.key in keys and event.value is not None:
                self._compare(_offset(event.value))

    async def reload(self, revision: int, *, anew: bool = False) -> None:
        """Compare the record after changes were lost."""
        if not anew:
            self._compare(await recorded_offset(self._records))

    def _compare(self, recorded: object) -> None:
        if isinstance(recorded, int) and recorded > self._offset:
            self.report("another server found that the store's data was replaced")

    # --- repair ---------------------------------------------------------------------------------------------------------

    def report(self, reason: str) -> None:
        """Stop to use what was read, because the store's data was replaced, and read everything again."""
        if self._is_paused:
            return
        self._is_paused = True
        self.problem = reason
        _LOG.error("store data replaced, reading all objects again", reason=reason)
        newest = max(self._backend.newest_revision, self._feed.revision if self._feed is not None else 0)
        paused = self._backend.inner = PausedBackend(self._chain, reason)
        former, self._repair = self._repair, asyncio.create_task(self._go_on(paused, newest), name="store-repair")
        if former is not None:
            former.cancel()

    async def _go_on(self, paused: PausedBackend, newest: int) -> None:
        backoff = Backoff(*_PAUSES)
        while True:
            try:
                present = await self._chain.start_over() - self._base
                self._offset = await self._agree(present, newest)
                self._backend.inner = OffsetBackend(self._chain, self._offset - self._base)
                self._is_paused = False
                paused.go_on(self._backend.inner)
                break
            except BackendError as error:
                _LOG.warning("replaced store cannot be read, retrying", error=str(error), retry_after=backoff.next)
                await backoff.pause()
        backoff.reset()
        while self.problem:
            try:
                revision = await self._backend.revision()
                if self._feed is not None:
                    await self._feed.wait(revision)
            except (BackendError, StatusError):
                await backoff.pause()
            else:
                self.problem = ""
                _LOG.warning("all objects read again", revision=revision)

    async def _agree(self, present: int, newest: int) -> int:
        """Return the offset for the revision `present` of the data, above `newest`: another server's, or a new one, which is recorded."""
        recorded = await recorded_offset(self._records) or 0
        is_usable = recorded > self._offset and recorded + present > newest
        wanted = recorded if is_usable else next_offset(max(newest, recorded + present), time.time())

        def raised(record: dict[str, Any]) -> dict[str, Any]:
            found = record.get(OFFSET_MEMBER)
            return record if isinstance(found, int) and found >= wanted else {**record, OFFSET_MEMBER: wanted}

        await self._records.change(OFFSET_RECORD, raised)
        return await recorded_offset(self._records) or wanted


def _offset(value: bytes) -> object:
    try:
        record = orjson.loads(value)
    except ValueError:
        return None
    return record.get(OFFSET_MEMBER) if isinstance(record, dict) else None

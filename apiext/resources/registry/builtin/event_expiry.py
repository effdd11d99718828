"""Expiry of events after their last write (kube-apiserver's --event-ttl).

The reference attaches a lease to each event and renews it with each write; no time in the object counts. Here the revision of
an event gives its age: marks in the store record the store's revision at some times.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from apiext.base.meta import errors
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.time_slice import paced
from apiext.storage.backend import BackendError
from apiext.storage.errors import InvalidObjectError, KeyNotFoundError, StorageError
from apiext.storage.interface import ListOptions, Preconditions, WriteOptions

if TYPE_CHECKING:
    from apiext.storage.interface import Codec, Item, Store
    from apiext.storage.replicas.host_records import HostRecords

_RECORD: Final = "event-expiry"
_MAX_INTERVAL_SECONDS: Final = 60.0
"""Longest time between two sweeps. The reference's leases also end up to a minute late."""
MIN_INTERVAL_SECONDS: Final = 1.0
"""Shortest time between two sweeps."""
_INTERVAL_SHARE: Final = 0.05
"""Time between two sweeps as a share of the limit."""
_FIRST_SWEEP_SECONDS: Final = 5.0
"""Time of the first sweep after the start: a server with frequent restarts must expire events too."""
_MAX_MARKS: Final = 240
"""Marks within the age limit: the time of a write is known to 1/240 of it."""
_TOGETHER: Final = 64
"""Concurrent deletions. They share the store's commits, so deletions keep up with writes."""
_CLOCK_JUMP_SECONDS: Final = 5.0
"""Least difference between the wall clock's and the monotonic clock's progress that counts as a change of the wall clock."""

_Mark = tuple[int, float]
"""A revision, and a time in seconds since the epoch: all writes up to the revision were made before it."""

_LOG: Final = get_logger(__name__)


class EventExpiry:
    """Deletes events that were not written for `ttl` seconds, regardless of finalizers, as the end of a lease does."""

    def __init__(
        self,
        store: Store,
        codec: Codec,
        records: HostRecords,
        *,
        ttl: float,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Set the age limit in seconds. Marks survive restarts, so they have wall-clock times; changes of the clock are corrected."""
        self._store = store
        self._codec = codec
        self._records = records
        self._ttl = ttl
        self._clock = clock
        self._monotonic = monotonic
        self._offset = clock() - monotonic()

    async def run(self) -> None:
        """Sweep periodically until cancelled. The next sweep retries a failed one."""
        interval = max(MIN_INTERVAL_SECONDS, min(_MAX_INTERVAL_SECONDS, self._ttl * _INTERVAL_SHARE))
        pause = min(interval, _FIRST_SWEEP_SECONDS)
        while True:
            await asyncio.sleep(pause)
            pause = interval
            try:
                await self.sweep()
            except (errors.StatusError, StorageError, BackendError) as error:
                _LOG.warning("event expiry failed, retrying", error=str(error))
            except Exception:  # noqa: BLE001 -- or events would pile up for ever
                _LOG.exception("event expiry failed, retrying")

    async def sweep(self) -> int:
        """Mark the time of the current revision and delete the expired events. Return their number.

        Raises:
            StatusError, StorageError, BackendError: the store cannot be read or written.
        """
        listed = await self._store.list("", self._codec, ListOptions(resource_version="0"))
        now = self._clock()
        known = await self._marks()
        marks = self._corrected(known, now)
        expired = max((revision for revision, at in marks if at <= now - self._ttl), default=0)
        marks = [mark for mark in marks if mark[0] >= expired]
        marked, at = marks[-1] if marks else (0, 0.0)
        unmarked, old = False, []
        async for item in paced(listed.items):
            unmarked = unmarked or item.revision > marked
            if item.revision <= expired:
                old.append(item)
        deleted = 0
        for first in range(0, len(old), _TOGETHER):
            deleted += sum(await asyncio.gather(*map(self._delete, old[first : first + _TOGETHER])))
        if unmarked and now - at >= self._ttl / _MAX_MARKS:
            marks.append((listed.revision, now))
        if marks != known:
            await self._records.put(_RECORD, {"marks": marks})
        return deleted

    async def _marks(self) -> list[_Mark]:
        record = await self._records.get(_RECORD) or {}
        return [(revision, at) for revision, at in record.get("marks", ())]

    def _corrected(self, marks: list[_Mark], now: float) -> list[_Mark]:
        """Shift the marks if the clock was changed while this server ran. No mark is in the future."""
        offset = now - self._monotonic()
        jump = offset - self._offset
        self._offset = offset
        if abs(jump) < _CLOCK_JUMP_SECONDS:
            jump = 0.0
        return [(revision, min(at + jump, now)) for revision, at in marks]

    async def _delete(self, item: Item) -> int:
        unchanged = WriteOptions(preconditions=Preconditions(resource_version=str(item.revision)))
        try:
            await self._store.delete(item.key, self._codec, unchanged)
        except (KeyNotFoundError, InvalidObjectError):
            return 0
        return 1

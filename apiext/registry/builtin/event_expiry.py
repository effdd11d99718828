"""Expiry of events after their last write (kube-apiserver's --event-ttl).

The reference attaches a lease to each event and renews it with each write; no time in the object counts. Here the revision of
an event tells its age: marks in the store say which revision the store had reached at which time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from apiext.meta import errors
from apiext.meta.log import get_logger
from apiext.scheduling.time_slice import paced
from apiext.storage.backend import BackendError
from apiext.storage.interface import InvalidObjectError, KeyNotFoundError, ListOptions, Preconditions, StorageError, WriteOptions

if TYPE_CHECKING:
    from apiext.storage.interface import Codec, Item, Store
    from apiext.storage.replicas.host_records import HostRecords

_RECORD: Final = "event-expiry"
_MAX_INTERVAL_SECONDS: Final = 60.0
"""Longest time between two sweeps; the reference's leases also last up to a minute longer than the limit."""
_MIN_INTERVAL_SECONDS: Final = 1.0
_INTERVAL_SHARE: Final = 0.05
"""Time between two sweeps as a share of the limit."""
_FIRST_SWEEP_SECONDS: Final = 5.0
"""Time of the first sweep after the start: a server that is restarted often must expire events too."""
_MAX_MARKS: Final = 240
"""Marks within the limit of age: the time of a write is known to a 240th of it."""
_TOGETHER: Final = 64
"""Concurrent deletions, which share the store's commits: as many events expire as were written."""
_CLOCK_JUMP_SECONDS: Final = 5.0
"""Difference between the progress of the wall clock and of the monotonic clock from which the former was changed."""

_Mark = tuple[int, float]
"""A revision, and a time in seconds since the epoch before which it and all earlier ones were written."""

_LOG: Final = get_logger(__name__)


class EventExpiry:
    """Deletes the events that were not written for a time, whatever finalizers they have, as the end of a lease does."""

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
        """Set the limit of age in seconds. Marks survive restarts, so times are of the wall clock; changes of it are corrected."""
        self._store = store
        self._codec = codec
        self._records = records
        self._ttl = ttl
        self._clock = clock
        self._monotonic = monotonic
        self._offset = clock() - monotonic()

    async def run(self) -> None:
        """Sweep periodically until cancelled; a failed sweep is retried at the next interval."""
        interval = max(_MIN_INTERVAL_SECONDS, min(_MAX_INTERVAL_SECONDS, self._ttl * _INTERVAL_SHARE))
        pause = min(interval, _FIRST_SWEEP_SECONDS)
        while True:
            await asyncio.sleep(pause)
            pause = interval
            try:
                await self.sweep()
            except (errors.StatusError, StorageError, BackendError) as error:
                _LOG.warning("events cannot be expired", error=str(error))
            except Exception:  # noqa: BLE001 -- or events would pile up for ever
                _LOG.exception("events cannot be expired")

    async def sweep(self) -> int:
        """Mark the time of the present revision, and delete the events that are too old; return their number.

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
        """Move the marks with the clock if it was changed while this server runs; none is in the future."""
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

"""Runs the garbage collector of a store on one of its servers.

Two collectors at a time would do no harm: each write names the state that it replaces.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from apiext.base.meta.log import get_logger
from apiext.base.scheduling.backoff import Backoff
from apiext.base.scheduling.tasks import end_tasks
from apiext.base.scheduling.ticks import until_tick
from apiext.storage.backend import BackendError
from apiext.storage.watch_events import repeat

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.api.garbagecollector.garbage_collector import GarbageCollector
    from apiext.resources.definitions.definition import Definition
    from apiext.storage.factory import StoreFactory
    from apiext.storage.replicas.lock import ReplicaLock

_LOG: Final = get_logger(__name__)
_TURN_SECONDS: Final = 15.0
"""Seconds between two looks at the lock: most of the time until a server takes over from one that is gone, as in the reference."""
PAUSES: Final = (0.2, 15.0)
"""Seconds before the first retry while the store does not answer, and the longest before later ones."""


class GarbageCollection:
    """Runs a garbage collector as long as this server has the lock; without a lock, always."""

    def __init__(self, collector: Callable[[], GarbageCollector], stores: StoreFactory, lock: ReplicaLock | None) -> None:
        """Set what makes a collector for each start, and after each loss of changes."""
        self._make = collector
        self._stores = stores
        self._lock = lock
        self._current: GarbageCollector | None = None
        """The collector that runs, None on a server that waits for its turn."""
        self._failures = 0
        """Failed attempts of former collectors to read all objects."""

    @property
    def leads(self) -> bool:
        """Return whether this server collects."""
        return self._current is not None

    @property
    def followed(self) -> int:
        """Return the number of objects that the collector follows."""
        return len(self._current.graph.nodes) if self._current is not None else 0

    @property
    def failures(self) -> int:
        """Return the number of failed attempts to read all objects."""
        return self._failures + (self._current.builder.failures if self._current is not None else 0)

    async def run(self) -> None:
        """Collect whenever it is this server's turn, until cancelled."""
        if self._lock is None:
            await self._collect()
            return
        collecting: asyncio.Task[None] | None = None
        backoff = Backoff(*PAUSES)
        try:
            while True:
                try:
                    leads = await self._lock.acquire()
                except BackendError as error:
                    _LOG.warning("lock of the garbage collector cannot be read, retrying", error=str(error), retry_after=backoff.next)
                    await backoff.pause()
                    continue
                backoff.reset()
                if leads and collecting is None:
                    collecting = asyncio.create_task(self._collect(), name="garbage-collection")
                elif not leads and collecting is not None:
                    await end_tasks(collecting)
                    collecting = None
                await until_tick(_TURN_SECONDS)
        finally:
            if collecting is not None:
                await end_tasks(collecting)

    async def _collect(self) -> None:
        """Collect until cancelled, with a new graph whenever changes were lost."""
        await repeat(self._collect_once, log=_LOG, failed="garbage collection failed, retrying", pauses=PAUSES)

    async def _collect_once(self, backoff: Backoff) -> None:
        collector = self._current = self._make()
        try:
            end = await self._stores.follow_all(collector.builder)
            try:
                await collector.run()
                backoff.reset()
            finally:
                end()
        finally:
            self._failures = self.failures
            self._current = None

    def take_definition(self, _old: Definition | None, new: Definition | None) -> None:
        """Take a changed definition: its kind may be that of owners; implements catalog.Listener."""
        if new is not None and new.is_established and self._current is not None:
            for version in new.versions:
                self._current.graph.locate_again(f"{new.group}/{version.name}", new.names.kind)

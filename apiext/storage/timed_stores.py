"""Stores that add the time of waiting for the backend to that of the requests that wait; imported only with audit."""

from __future__ import annotations

import time

from apiext.storage.barrier import Barrier
from apiext.storage.factory import StoreFactory
from apiext.storage.store_times import STORE_TIMES


class TimedBarrier(Barrier):
    """Measures for each request how long it waits for the store's revision."""

    async def revision(self) -> int:
        """Return a revision as Barrier.revision."""
        times = STORE_TIMES.get()
        if times is None:
            return await super().revision()
        begin = time.perf_counter()
        try:
            known = self._backend.known_revision()
            # without another coroutine if the backend knows it
            return known if known is not None else await super().revision()
        finally:
            times.reads += time.perf_counter() - begin


class TimedStores(StoreFactory):
    """Creates stores as StoreFactory, on a TimedBackend."""

    barrier_type = TimedBarrier

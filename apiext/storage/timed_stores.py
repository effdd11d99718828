"""Stores that add the time of waiting for the backend to that of the requests that wait; imported only with audit."""

from __future__ import annotations

from apiext.storage.factory import StoreFactory
from apiext.storage.store_times import STORE_TIMES


class TimedStores(StoreFactory):
    """Creates stores as StoreFactory, on a TimedBackend, whose readers also measure how long they wait for the store's revision."""

    times = staticmethod(STORE_TIMES.get)

"""A backend that adds the time of its calls to that of the requests that make them (apiserver pkg/storage/etcd3/latency_tracker.go)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from apiext.storage.backends.measured_backend import MeasuredBackend
from apiext.storage.store_times import STORE_TIMES

if TYPE_CHECKING:
    from apiext.storage.backends.measured_backend import CallLabels

_READ: Final = "get"
"""The reference leaves lists out. Of the question for the revision each reader has its own time: the Barrier measures it."""
_WRITES: Final = frozenset({"create", "update", "delete"})


class TimedBackend(MeasuredBackend):
    """Measures calls as MeasuredBackend, and for the current request."""

    def _observe(self, operation: str, key: str, begin: float) -> CallLabels:
        times = STORE_TIMES.get()
        if times is not None:
            if operation == _READ:
                times.reads += time.perf_counter() - begin
            elif operation in _WRITES:
                times.writes += time.perf_counter() - begin
        return super()._observe(operation, key, begin)

"""A backend whose calls are counted (apiserver pkg/storage/etcd3/metrics)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Final, TypeVar

from apiext.base.scheduling.histogram import Histogram
from apiext.storage import keys
from apiext.storage.backend import (
    AlarmsError,
    Backend,
    BackendError,
    CompactedError,
    FutureRevisionError,
    Guard,
    KeyValue,
    NotStreamedError,
    RangeResult,
    ValueTooLargeError,
    WriteResult,
)
from apiext.storage.backends.forwarding_backend import ForwardingBackend
from apiext.storage.store_times import STORE_TIMES

BUCKETS: Final = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60)
"""Upper bounds of etcd_request_duration_seconds, in seconds."""

_ANSWERS: Final = (CompactedError, FutureRevisionError, ValueTooLargeError)
"""Errors of a backend that works."""
_Answer = TypeVar("_Answer")

CallLabels = tuple[str, str, str]
"""Operation, group and resource. Calls that concern no resource have an empty group and resource."""


class CallStatistics:
    """The calls of a backend since the start."""

    def __init__(self) -> None:
        self.durations: Final[dict[CallLabels, Histogram]] = {}
        self.errors: Final[Counter[CallLabels]] = Counter()
        """Calls that the backend did not answer. Unlike those of the reference they leave out refusals, such as of a compacted revision."""


class MeasuredBackend(ForwardingBackend):
    """Implements Backend in front of another one. Measures reads and writes, and notices a store whose revision goes back.

    Every call is linearizable, so an answer has at least the revision that any answer had before the call.
    """

    def __init__(self, backend: Backend, prefix: str) -> None:
        """Measure the calls of a backend; `prefix` is that of all keys."""
        super().__init__(backend)
        self._root = keys.root(prefix)
        self._newest = 0
        self.reached: Callable[[], int] = int
        """Returns the revision up to which changes were read elsewhere, by watches."""
        self.on_lost: Callable[[str], None] = _ignore
        """Called with the reason when an answer shows that the store's data went back."""
        self.statistics: Final = CallStatistics()
        self.alarms: tuple[str, ...] = ()
        """Kinds of the alarms of etcd, when `writable` was called last and etcd answered."""

    @property
    def newest_revision(self) -> int:
        """Return the newest revision of the store that an answer had."""
        return max(self._newest, self.inner.known_revision() or 0)

    async def get(self, key: str) -> tuple[KeyValue | None, int]:
        """Implement Backend.get."""
        inner, floor = self.inner, self._newest
        found = await self._measure("get", key, inner.get(key))
        self._saw(found[1], floor, inner)
        return found

    async def list(self, prefix: str, *, start: str = "", revision: int = 0, limit: int = 0) -> RangeResult:
        """Implement Backend.list."""
        inner, floor = self.inner, 0 if revision else self._newest
        found = await self._measure("list", prefix, inner.list(prefix, start=start, revision=revision, limit=limit))
        self._saw(found.revision, floor, inner)
        return found

    def stream(self, prefix: str, *, start: str, revision: int) -> AsyncGenerator[Sequence[KeyValue]] | None:
        """Implement Backend.stream. A stream counts as one call, until its end."""
        found = self.inner.stream(prefix, start=start, revision=revision)
        return self._measured_stream(prefix, found) if found is not None else None

    async def _measured_stream(self, prefix: str, stream: AsyncGenerator[Sequence[KeyValue]]) -> AsyncGenerator[Sequence[KeyValue]]:
        begin = time.perf_counter()
        try:
            async with aclosing(stream):
                async for items in stream:
                    yield items
        except NotStreamedError:
            raise
        except _ANSWERS:
            self._observe("listStream", prefix, begin)
            raise
        except BackendError:
            self.statistics.errors[self._observe("listStream", prefix, begin)] += 1
            raise
        self._observe("listStream", prefix, begin)

    async def count(self, prefix: str) -> int:
        """Implement Backend.count."""
        return await self._measure("count", prefix, self.inner.count(prefix))

    async def create(self, key: str, value: bytes, *, guard: Guard | None = None) -> WriteResult:
        """Implement Backend.create."""
        inner, floor = self.inner, self._newest
        written = await self._measure("create", key, inner.create(key, value, guard=guard))
        self._saw(written.revision, floor, inner)
        return written

    async def update(self, key: str, value: bytes, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """Implement Backend.update."""
        inner, floor = self.inner, self._newest
        written = await self._measure("update", key, inner.update(key, value, expected=expected, guard=guard))
        self._saw(written.revision, floor, inner)
        return written

    async def delete(self, key: str, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """Implement Backend.delete."""
        inner, floor = self.inner, self._newest
        written = await self._measure("delete", key, inner.delete(key, expected=expected, guard=guard))
        self._saw(written.revision, floor, inner)
        return written

    async def writable(self) -> None:
        """Implement Backend.writable."""
        try:
            await self.inner.writable()
        except AlarmsError as error:
            self.alarms = error.kinds
            raise
        self.alarms = ()

    async def revision(self) -> int:
        """Implement Backend.revision."""
        inner, floor = self.inner, max(self._newest, self.reached())
        revision = await self._measure("getCurrentResourceVersion", "", inner.revision())
        self._saw(revision, floor, inner)
        return revision

    async def _measure(self, operation: str, key: str, call: Awaitable[_Answer]) -> _Answer:
        begin = time.perf_counter()
        try:
            answer = await call
        except _ANSWERS:
            self._observe(operation, key, begin)
            raise
        except BackendError:
            self.statistics.errors[self._observe(operation, key, begin)] += 1
            raise
        self._observe(operation, key, begin)
        return answer

    def _observe(self, operation: str, key: str, begin: float) -> CallLabels:
        """Count a call. A first part of the key without a dot names a resource, else a group."""
        first, _, rest = key.removeprefix(self._root).partition("/")
        labels = (operation, first, rest.partition("/")[0]) if "." in first else (operation, "", first)
        durations = self.statistics.durations
        histogram = durations.get(labels)
        if histogram is None:
            histogram = durations[labels] = Histogram(BUCKETS)
        histogram.observe(time.perf_counter() - begin)
        return labels

    def _saw(self, revision: int, floor: int, inner: Backend) -> None:
        """Take the store's revision in an answer of `inner`. Below `floor`, which was known before the call, no history goes on."""
        if revision > self._newest:
            self._newest = revision
        elif revision < floor and inner is self.inner:
            self.on_lost(f"the store's revision went back from {floor} to {revision}")


def _ignore(_reason: str) -> None:
    """Do nothing."""


_READ: Final = "get"
"""The reference leaves lists out. Of the question for the revision each reader has its own time: the Barrier measures it."""
_WRITES: Final = frozenset({"create", "update", "delete"})


class TimedBackend(MeasuredBackend):
    """Measures calls as MeasuredBackend, and for the current request (apiserver pkg/storage/etcd3/latency_tracker.go)."""

    def _observe(self, operation: str, key: str, begin: float) -> CallLabels:
        times = STORE_TIMES.get()
        if times is not None:
            if operation == _READ:
                times.reads += time.perf_counter() - begin
            elif operation in _WRITES:
                times.writes += time.perf_counter() - begin
        return super()._observe(operation, key, begin)

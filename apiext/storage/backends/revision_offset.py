"""A backend whose revisions begin above those of another store.

Revisions must not go back for clients when a store takes over objects from another one. So all revisions are the store's own plus an
offset above any revision of the other store. Lower revisions count as compacted.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Generator, Sequence
from typing import Final

from apiext.base.meta import host_annotations
from apiext.storage.backend import (
    Backend,
    BackendError,
    BackendEvent,
    CompactedError,
    FutureRevisionError,
    Guard,
    HistoryLostError,
    KeyValue,
    RangeResult,
    WatchBatch,
    WriteResult,
)
from apiext.storage.backends.forwarding_backend import ForwardingBackend
from apiext.storage.replicas.host_records import HostRecords

OFFSET_RECORD: Final = "revision-base"
"""Name of the record with the offset."""
OFFSET_MEMBER: Final = "base"
"""Its member with the offset."""
_NEVER: Final = -1
"""A revision without any key."""


class OffsetBackend(ForwardingBackend):
    """Implements Backend over another one, with an offset in all revisions."""

    def __init__(self, backend: Backend, offset: int) -> None:
        super().__init__(backend)
        self.offset: Final = offset

    def _inner(self, revision: int) -> int:
        """Return a revision without the offset; 0 stays 0. Raise CompactedError if it is not above the offset."""
        if not revision:
            return 0
        if revision <= self.offset:
            raise CompactedError(self.offset + 1)
        return revision - self.offset

    def _expected(self, revision: int) -> int:
        """Return the expected revision of a key without the offset."""
        return revision and (revision - self.offset if revision > self.offset else _NEVER)

    def _pair(self, pair: KeyValue | None) -> KeyValue | None:
        return None if pair is None else KeyValue(pair.key, pair.value, pair.revision + self.offset, pair.stale)

    def _outer_result(self, result: WriteResult) -> WriteResult:
        return WriteResult(result.succeeded, result.revision + self.offset, self._pair(result.current), result.guard_failed)

    def _guard(self, guard: Guard | None) -> Guard | None:
        return guard and Guard(guard.key, self._expected(guard.expected), guard.is_large)

    @contextlib.contextmanager
    def _outer_errors(self) -> Generator[None]:
        try:
            yield
        except FutureRevisionError as error:
            raise FutureRevisionError(error.current + self.offset) from error
        except HistoryLostError:
            raise
        except CompactedError as error:
            raise CompactedError(error.compact_revision + self.offset) from error

    async def get(self, key: str) -> tuple[KeyValue | None, int]:
        """Implement Backend.get."""
        pair, revision = await self.inner.get(key)
        return self._pair(pair), revision + self.offset

    async def list(self, prefix: str, *, start: str = "", revision: int = 0, limit: int = 0) -> RangeResult:
        """Implement Backend.list."""
        offset, at = self.offset, self._inner(revision)
        with self._outer_errors():
            found = await self.inner.list(prefix, start=start, revision=at, limit=limit)
        items = [KeyValue(pair.key, pair.value, pair.revision + offset, pair.stale) for pair in found.items]
        return RangeResult(items, found.revision + offset, found.count)

    def stream(self, prefix: str, *, start: str, revision: int) -> AsyncGenerator[Sequence[KeyValue]] | None:
        """Implement Backend.stream."""
        found = self.inner.stream(prefix, start=start, revision=self._inner(revision))
        return self._outer_stream(found) if found is not None else None

    async def _outer_stream(self, stream: AsyncGenerator[Sequence[KeyValue]]) -> AsyncGenerator[Sequence[KeyValue]]:
        with self._outer_errors():
            async with contextlib.aclosing(stream):
                async for items in stream:
                    yield [KeyValue(pair.key, pair.value, pair.revision + self.offset, pair.stale) for pair in items]

    async def create(self, key: str, value: bytes, *, guard: Guard | None = None) -> WriteResult:
        """Implement Backend.create."""
        return self._outer_result(await self.inner.create(key, value, guard=self._guard(guard)))

    async def update(self, key: str, value: bytes, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """Implement Backend.update."""
        own = self._expected(expected)
        return self._outer_result(await self.inner.update(key, value, expected=own, guard=self._guard(guard)))

    async def delete(self, key: str, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """Implement Backend.delete."""
        own = self._expected(expected)
        return self._outer_result(await self.inner.delete(key, expected=own, guard=self._guard(guard)))

    async def watch(self, prefix: str, *, start: int = 0, previous: bool = False) -> AsyncGenerator[WatchBatch]:
        """Implement Backend.watch."""
        try:
            begin = self._inner(start)
        except CompactedError as error:
            raise HistoryLostError(f"the revision {start} is that of other data", is_known=True) from error
        with self._outer_errors():
            async with contextlib.aclosing(self.inner.watch(prefix, start=begin, previous=previous)) as batches:
                async for batch in batches:
                    yield WatchBatch([self._event(event) for event in batch.events], batch.revision + self.offset)

    def _event(self, event: BackendEvent) -> BackendEvent:
        return BackendEvent(event.key, event.revision + self.offset, event.value, self._pair(event.previous))

    async def revision(self) -> int:
        """Implement Backend.revision."""
        return await self.inner.revision() + self.offset

    def known_revision(self) -> int | None:
        """Implement Backend.known_revision."""
        known = self.inner.known_revision()
        return None if known is None else known + self.offset

    async def compact(self, revision: int) -> None:
        """Implement Backend.compact."""
        with self._outer_errors():
            await self.inner.compact(max(revision - self.offset, 1))

    async def start_over(self) -> int:
        """Implement Backend.start_over."""
        return await self.inner.start_over() + self.offset


def offset_of(backend: Backend) -> int:
    """Return the offset in a chain of backends, 0 without one."""
    link: object = backend
    while isinstance(link, ForwardingBackend):
        if isinstance(link, OffsetBackend):
            return link.offset
        link = link.inner
    return 0


async def with_offset(backend: Backend, prefix: str, *, begin: bool) -> Backend:
    """Return the backend with the recorded offset; `begin` records one if there is none. Without an offset, return it unchanged.

    Raises:
        BackendError: the store does not answer, or its record is invalid.
    """
    records = HostRecords(backend, prefix)
    initial = {OFFSET_MEMBER: host_annotations.REVISION_BASE}
    if begin:
        await records.agree(OFFSET_RECORD, initial)
    offset = await recorded_offset(records)
    return backend if offset is None else OffsetBackend(backend, offset)


async def recorded_offset(records: HostRecords) -> int | None:
    """Return the recorded offset, None without one. It never falls, so of two the greater one counts.

    Raises:
        BackendError: the store does not answer, or its record is invalid.
    """
    offsets: list[int] = []
    for record in await records.records(OFFSET_RECORD):
        offset = record.get(OFFSET_MEMBER)
        if type(offset) is not int or offset < 0:
            raise BackendError(f"invalid revision offset in {records.key(OFFSET_RECORD)}: not a positive integer")
        offsets.append(offset)
    return max(offsets, default=None)


# --- offsets of restored stores (decision: revisions never go back) ---------------------------------------------------

# A client may have seen any revision that the lost store reached after the backup, and those of earlier restorations of the same backup.
# The offset is therefore at least the time in microseconds since 1970: no store writes that often, so each restoration begins above all
# revisions that clients have seen. All of them are still integers that every JSON parser reads exactly, until the year 2255.

_MARGIN: Final = 10**12
"""Distance from the highest revision known, for a clock that is wrong: thirty years of a thousand writes a second."""
_MAX: Final = 2**53 - 10**13
"""The highest offset. Revisions above it stay exact in JSON for ten trillion writes."""


def next_offset(highest: int, now: float) -> int:
    """Return the offset above the highest known revision, at a time in seconds since 1970.

    Raises:
        BackendError: there is none that is exact in JSON.
    """
    offset = max(int(now * 1_000_000), highest + _MARGIN)
    if offset > _MAX:
        raise BackendError(f"the store's revisions cannot grow above {highest}: JSON parsers would round them")
    return offset

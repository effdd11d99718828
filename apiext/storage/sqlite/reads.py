"""Reads: of the latest state in place, of much in pieces, so that the loop is never held for long."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import asynccontextmanager
from typing import Final

from apiext.storage.backend import BackendError, BackendEvent, CompactedError, FutureRevisionError, KeyValue, RangeResult
from apiext.storage.keyrange import prefix_end
from apiext.storage.sqlite import schema

_PIECE: Final = 100
_PIECE_BYTES: Final = 1 << 20
"""Rows and bytes read before other tasks get their turn: about a millisecond's work."""
_COUNT_IN_PLACE: Final = 10_000
"""Keys that are counted in the loop's thread (a third of a millisecond); more are counted in another."""
_SPARE: Final = 4
"""Readers kept open for the next one who needs one."""
_READERS: Final = 16
"""Readers at work at the same time; who comes later waits."""


class Reads:
    """Everything that reads the file.

    A statement that ends in one go uses the one reader of the loop's thread. What is read in pieces holds a reader of its
    own, in a transaction, so that all pieces are of one state whatever is written or compacted meanwhile.
    A thread of its own for each read would cost more than most reads: some 100 microseconds against 10.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._reader = connect()
        self._spare: list[sqlite3.Connection] = []
        self._permits = asyncio.Semaphore(_READERS)
        self._counters: ThreadPoolExecutor | None = None
        self.compacted = self._reader.execute(schema.COMPACTED).fetchone()[0]
        """Revisions before this one are gone, or about to go."""
        self.latest = 0
        """The newest revision any read has seen; it may be ahead of what has been published."""
        self._see(self._reader)

    def get(self, key: str) -> KeyValue | None:
        """The latest value of a key."""
        row = self._reader.execute(schema.GET, (key,)).fetchone()
        if row is None:
            return None
        self.latest = max(self.latest, row[0])
        return KeyValue(key, row[1], row[0])

    def forgotten(self) -> int:
        """The revision up to which the past has been removed from the file."""
        forgotten: int = self._reader.execute(schema.FORGOTTEN).fetchone()[0]
        return forgotten

    async def count(self, prefix: str) -> int:
        """Number of keys with the prefix."""
        async with self._snapshot() as reader:
            return await self._count(reader, prefix, prefix_end(prefix), 0)

    async def scan(self, prefix: str, *, start: str, revision: int, limit: int) -> RangeResult:
        """As `Backend.list`."""
        low, high = max(prefix, start), prefix_end(prefix)
        async with self._snapshot() as reader:
            latest = self._see(reader)
            if revision > latest:
                raise FutureRevisionError(latest)
            if 0 < revision < self.compacted:
                raise CompactedError(self.compacted)
            if revision == latest:
                revision = 0  # the same, by the shorter way
            items = await _collect(_select(reader, low, high, revision, limit))
            count = len(items)
            if limit and count == limit:
                count = await self._count(reader, low, high, revision)
            return RangeResult(items, revision or latest, count)

    def changes(self, prefix: str, first: int, last: int) -> list[BackendEvent]:
        """The changes of a prefix from one revision to another, both inclusive.

        Raises:
            CompactedError: the first is gone.
        """
        if first < self.compacted:
            raise CompactedError(self.compacted)
        rows = self._reader.execute(schema.CHANGES, (first, last, prefix, prefix_end(prefix)))
        return [
            BackendEvent(key, revision, value, None if before is None else KeyValue(key, before, previous))
            for key, revision, value, previous, before in rows
        ]

    def close(self) -> None:
        """Close every reader that is not in use; those in use are closed when they are given back."""
        if self._counters is not None:
            self._counters.shutdown(wait=False)
        for reader in (self._reader, *self._spare):
            reader.close()
        self._spare = []
        self._connect = _closed

    def _see(self, reader: sqlite3.Connection) -> int:
        (latest,) = reader.execute(schema.REVISION).fetchone()
        self.latest = max(self.latest, latest or schema.FIRST_REVISION)
        return latest or schema.FIRST_REVISION

    @asynccontextmanager
    async def _snapshot(self) -> AsyncIterator[sqlite3.Connection]:
        async with self._permits:
            reader = self._spare.pop() if self._spare else self._connect()
            whole = False
            try:
                reader.execute("BEGIN")
                yield reader
                whole = True
            except BackendError:
                whole = True
                raise
            finally:
                if whole and len(self._spare) < _SPARE and self._connect is not _closed:
                    reader.execute("COMMIT")
                    self._spare.append(reader)
                else:
                    reader.close()

    async def _count(self, reader: sqlite3.Connection, low: str, high: str, revision: int) -> int:
        if not revision:
            count: int = reader.execute(schema.COUNT, (low, high, _COUNT_IN_PLACE)).fetchone()[0]
            if count < _COUNT_IN_PLACE:
                return count
        if self._counters is None:
            self._counters = ThreadPoolExecutor(2, "apiext-sqlite-count")
        statement, last = (schema.COUNT_AT, revision) if revision else (schema.COUNT, -1)
        counting = self._counters.submit(lambda: reader.execute(statement, (low, high, last)).fetchone()[0])
        try:
            return int(await asyncio.wrap_future(counting))
        except asyncio.CancelledError:
            # The reader must not be closed under the thread; an interrupted statement ends at once.
            reader.interrupt()
            wait((counting,))
            raise


def _select(reader: sqlite3.Connection, low: str, high: str, revision: int, limit: int) -> sqlite3.Cursor:
    if revision:
        return reader.execute(schema.LIST_AT, (low, high, revision, limit or -1))
    return reader.execute(schema.LIST, (low, high, limit or -1))


async def _collect(rows: sqlite3.Cursor) -> list[KeyValue]:
    items: list[KeyValue] = []
    size, piece = 0, 0
    for key, value, revision in rows:
        items.append(KeyValue(key, value, revision))
        size += len(value)
        if len(items) - piece >= _PIECE or size > _PIECE_BYTES:
            size, piece = 0, len(items)
            await asyncio.sleep(0)
    return items


def _closed() -> sqlite3.Connection:
    raise sqlite3.ProgrammingError("the store is closed")

"""Reads of the latest or an older state. Long ones run in pieces, which block the event loop only briefly."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import asynccontextmanager
from typing import Final

from apiext.storage.backend import BackendError, BackendEvent, CompactedError, FutureRevisionError, KeyValue, RangeResult
from apiext.storage.keys import prefix_end
from apiext.storage.sqlite import schema

_PIECE_ROWS: Final = 100
_PIECE_BYTES: Final = 1 << 20
"""Limits of a piece: about a millisecond's work. Other tasks run between pieces."""
_MAX_INLINE_COUNT: Final = 10_000
"""Keys to count on the event loop (a third of a millisecond). A thread counts more."""
_MAX_IDLE_READERS: Final = 4
"""Idle connections kept open."""
_MAX_READERS: Final = 16
"""Connections in use at the same time. Further reads wait."""


class Reads:
    """All reads of the file.

    A read of one statement uses a shared connection. A read in pieces has its own connection and transaction: all pieces show one
    state in spite of writes and compactions. All reads run on the event loop: passing one to a thread costs more than most reads,
    some 100 microseconds against 10.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._reader = connect()
        self._idle: list[sqlite3.Connection] = []
        self._permits = asyncio.Semaphore(_MAX_READERS)
        self._counters: ThreadPoolExecutor | None = None
        self.compacted = self._reader.execute(schema.COMPACTED).fetchone()[0]
        """Revisions before this one are compacted."""
        self.latest = 0
        """The newest revision that any read has seen; it may be ahead of the published one."""
        self._read_latest(self._reader)

    def get(self, key: str) -> KeyValue | None:
        """Return the latest value of a key, None if it is absent.

        Raises:
            sqlite3.Error: the statement failed.
            UnicodeError: the key is not valid Unicode.
        """
        row = self._reader.execute(schema.GET, (key,)).fetchone()
        if row is None:
            return None
        self.latest = max(self.latest, row[0])
        return KeyValue(key, row[1], row[0])

    def refresh(self) -> None:
        """Reload what another process changes: the latest and the compacted revision."""
        self._read_latest(self._reader)
        self.compacted = self._reader.execute(schema.COMPACTED).fetchone()[0]

    def stored_revision(self) -> int:
        """Return the latest revision in the file."""
        return int(self._reader.execute(schema.REVISION).fetchone()[0] or schema.FIRST_REVISION)

    async def drain(self) -> None:
        """Wait until no read uses its own connection any more. Later reads fail, after `close`."""
        for _ in range(_MAX_READERS):
            await self._permits.acquire()

    def deleted_up_to(self) -> int:
        """Return the revision up to which compaction has deleted rows. It is below `compacted` after an interruption."""
        return int(self._reader.execute(schema.DELETED_UP_TO).fetchone()[0])

    def following(self, revision: int) -> int:
        """Return the next revision in the log, 0 if there is none."""
        return int(self._reader.execute(schema.FOLLOWING, (revision,)).fetchone()[0] or 0)

    async def count(self, prefix: str) -> int:
        """Return the number of keys with the prefix."""
        async with self._snapshot() as reader:
            return await self._count(reader, prefix, prefix_end(prefix), 0)

    async def scan(self, prefix: str, *, start: str, revision: int, limit: int) -> RangeResult:
        """See `Backend.list`.

        Raises:
            FutureRevisionError: the revision is above the latest.
            CompactedError: the revision was compacted.
        """
        low, high = max(prefix, start), prefix_end(prefix)
        async with self._snapshot() as reader:
            latest = self._read_latest(reader)
            if revision > latest:
                raise FutureRevisionError(latest)
            if 0 < revision < self.compacted:
                raise CompactedError(self.compacted)
            if revision == latest:
                revision = 0  # a faster statement with the same result
            if revision:
                rows = reader.execute(schema.LIST_AT, (low, high, revision, limit or -1))
            else:
                rows = reader.execute(schema.LIST, (low, high, limit or -1))
            items = await _collect(rows)
            count = len(items)
            if limit and count == limit:
                count = await self._count(reader, low, high, revision)
            return RangeResult(items, revision or latest, count)

    def changes(self, prefix: str, first: int, last: int, *, previous: bool) -> list[BackendEvent]:
        """Return the changes of a prefix from one revision to another, both inclusive.

        Raises:
            CompactedError: the first revision, or with `previous` a replaced value, was compacted.
        """
        if first < self.compacted:
            raise CompactedError(self.compacted)
        events: list[BackendEvent] = []
        for key, revision, value, replaced, before in self._reader.execute(schema.CHANGES, (first, last, prefix, prefix_end(prefix))):
            if previous and replaced and before is None:
                raise CompactedError(revision)
            events.append(BackendEvent(key, revision, value, None if before is None else KeyValue(key, before, replaced)))
        return events

    def close(self) -> None:
        """Close all idle connections. Reads close the others."""
        if self._counters is not None:
            self._counters.shutdown(wait=False)
        for reader in (self._reader, *self._idle):
            reader.close()
        self._idle = []
        self._connect = _closed

    def _read_latest(self, reader: sqlite3.Connection) -> int:
        """Return the store's latest revision in this connection's view."""
        (latest,) = reader.execute(schema.REVISION).fetchone()
        self.latest = max(self.latest, latest or schema.FIRST_REVISION)
        return latest or schema.FIRST_REVISION

    @asynccontextmanager
    async def _snapshot(self) -> AsyncIterator[sqlite3.Connection]:
        async with self._permits:
            reader = self._idle.pop() if self._idle else self._connect()
            reusable = False
            try:
                reader.execute("BEGIN")
                yield reader
                reusable = True
            except BackendError:
                reusable = True
                raise
            finally:
                if reusable and len(self._idle) < _MAX_IDLE_READERS and self._connect is not _closed:
                    reader.execute("COMMIT")
                    self._idle.append(reader)
                else:
                    reader.close()

    async def _count(self, reader: sqlite3.Connection, low: str, high: str, revision: int) -> int:
        if not revision:
            count: int = reader.execute(schema.COUNT, (low, high, _MAX_INLINE_COUNT)).fetchone()[0]
            if count < _MAX_INLINE_COUNT:
                return count
        if self._counters is None:
            self._counters = ThreadPoolExecutor(2, "apiext-sqlite-count")
        statement, last = (schema.COUNT_AT, revision) if revision else (schema.COUNT, -1)
        counting = self._counters.submit(lambda: reader.execute(statement, (low, high, last)).fetchone()[0])
        try:
            return int(await asyncio.wrap_future(counting))
        except asyncio.CancelledError:
            # The thread uses the connection until the interrupted statement ends, which it does at once.
            reader.interrupt()
            wait((counting,))
            raise


async def _collect(rows: sqlite3.Cursor) -> list[KeyValue]:
    items: list[KeyValue] = []
    size, piece = 0, 0
    for key, value, revision in rows:
        items.append(KeyValue(key, value, revision))
        size += len(value)
        if len(items) - piece >= _PIECE_ROWS or size > _PIECE_BYTES:
            size, piece = 0, len(items)
            await asyncio.sleep(0)
    return items


def _closed() -> sqlite3.Connection:
    raise sqlite3.ProgrammingError("the store is closed")

"""The embedded Backend."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Self

from apiext.storage.backend import Guard, KeyValue, RangeResult, UnavailableError, WatchBatch, WriteResult
from apiext.storage.sqlite.compaction import Compaction
from apiext.storage.sqlite.conditional_write import Write
from apiext.storage.sqlite.database_file import StoreFile
from apiext.storage.sqlite.errors import translate
from apiext.storage.sqlite.reads import Reads
from apiext.storage.sqlite.watch import watch
from apiext.storage.sqlite.watch_broadcast import Broadcaster
from apiext.storage.sqlite.writer import Writer


class SQLiteBackend:
    """A Backend in one file, used by one process and from one event loop."""

    def __init__(self, file: StoreFile, *, deadline: float) -> None:
        """Use `open`."""
        self._file = file
        self._reads = Reads(file.reader)
        self._broadcaster = Broadcaster(self._reads.latest)
        self._writer = Writer(
            file.writer,
            revision=self._reads.latest,
            deadline=deadline,
            committed=self._broadcaster.publish,
        )
        self._compaction = Compaction(self._writer, self._reads)
        self._aged = 0
        self._closed = False

    @classmethod
    async def open(cls, path: Path | str, *, deadline: float = 10.0) -> Self:
        """Open the store in a file, creating it and its folder where they are missing.

        `deadline` (seconds) bounds every write.

        Raises:
            StoreLockedError: another process uses it.
            StoreFileError: it cannot be opened, is not a store of this version, or is damaged.
        """
        return cls(StoreFile(Path(path)), deadline=deadline)

    async def get(self, key: str) -> tuple[KeyValue | None, int]:
        """As `Backend.get`."""
        self._check()
        try:
            found = self._reads.get(key)
        except (sqlite3.Error, UnicodeError) as error:
            raise translate(error) from error
        return found, self._latest()

    async def list(self, prefix: str, *, start: str = "", revision: int = 0, limit: int = 0) -> RangeResult:
        """As `Backend.list`."""
        self._check()
        try:
            return await self._reads.scan(prefix, start=start, revision=revision, limit=limit)
        except (sqlite3.Error, UnicodeError) as error:
            raise translate(error) from error

    async def count(self, prefix: str) -> int:
        """As `Backend.count`."""
        self._check()
        try:
            return await self._reads.count(prefix)
        except (sqlite3.Error, UnicodeError) as error:
            raise translate(error) from error

    async def create(self, key: str, value: bytes, *, guard: Guard | None = None) -> WriteResult:
        """As `Backend.create`."""
        return await self._writer.write(Write(key, value, 0, guard))

    async def update(self, key: str, value: bytes, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """As `Backend.update`."""
        return await self._writer.write(Write(key, value, expected, guard))

    async def delete(self, key: str, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """As `Backend.delete`."""
        return await self._writer.write(Write(key, None, expected, guard))

    def watch(self, prefix: str, *, start: int = 0, previous: bool = False) -> AsyncIterator[WatchBatch]:
        """As `Backend.watch`. A watch that is too slow is fed from the log: it holds little memory, and sees everything.

        Raises CompactedError also when it was so slow that what it has not seen has been compacted.
        """
        self._check()
        return watch(self._broadcaster, self._reads, prefix, start)

    async def request_progress(self) -> None:
        """As `Backend.request_progress`."""
        self._check()
        self._broadcaster.announce()

    async def revision(self) -> int:
        """As `Backend.revision`."""
        self._check()
        return self._latest()

    def known_revision(self) -> int:
        """As `Backend.known_revision`."""
        self._check()
        return self._latest()

    async def compact(self, revision: int) -> None:
        """As `Backend.compact`."""
        self._check()
        await self._compaction.compact(revision, self._latest())

    async def compact_aged(self) -> None:
        """Compact up to the revision that was the latest when this was called before: call it once in an interval.

        So whatever is younger than the interval stays readable.
        """
        aged, self._aged = self._aged, await self.revision()
        if aged:
            await self.compact(aged)

    async def healthy(self) -> None:
        """As `Backend.healthy`."""
        await self.get("")

    async def close(self) -> None:
        """As `Backend.close`. Writes asked for before are done."""
        if self._closed:
            return
        self._closed = True
        self._broadcaster.close()
        self._reads.close()
        await self._writer.close(self._file.close)

    def _check(self) -> None:
        if self._closed:
            raise UnavailableError("the store is closed")

    def _latest(self) -> int:
        # A read may see a transaction that has been committed but not been published yet.
        return max(self._broadcaster.revision, self._reads.latest)

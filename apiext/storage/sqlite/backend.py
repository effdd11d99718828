"""The embedded Backend, and the compaction of its log in small transactions."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from apiext.storage.backend import (
    FutureRevisionError,
    Guard,
    HistoryLostError,
    KeyValue,
    RangeResult,
    UnavailableError,
    WatchBatch,
    WriteResult,
)
from apiext.storage.sqlite import schema
from apiext.storage.sqlite.database_file import StoreFile
from apiext.storage.sqlite.errors import translate, unusable
from apiext.storage.sqlite.reads import Reads
from apiext.storage.sqlite.watch import Broadcaster, watch
from apiext.storage.sqlite.writer import GroupCommitWriter, Write

_COMPACTED_REVISIONS: Final = 250
"""Revisions compacted in one transaction; it delays writes by some milliseconds."""


class SQLiteBackend:
    """A Backend in one file, for one process and one event loop."""

    def __init__(self, file: StoreFile, *, deadline: float) -> None:
        """Take an open file. Callers use `open`."""
        self._deadline = deadline
        self._take(file)

    def _take(self, file: StoreFile) -> None:
        self._file = file
        self._reads = Reads(file.reader)
        self._broadcaster = Broadcaster(self._reads.latest)
        self._writer = GroupCommitWriter(
            file.writer,
            revision=self._reads.latest,
            deadline=self._deadline,
            on_commit=self._broadcaster.publish,
            verify=file.verify,
        )
        self._compaction = asyncio.Lock()
        self._aged = 0
        self._closed = False

    @classmethod
    async def open(cls, path: Path | str, *, deadline: float = 10.0) -> Self:
        """Open the store in a file. Create the file and its folder if they are missing.

        `deadline` limits a transaction, in seconds. After it, the transaction's writes and all queued ones fail.

        Raises:
            StoreLockedError: another process uses the file.
            StoreFileError: the file cannot be opened, is not a store of this version, or is damaged.
        """
        file = StoreFile(Path(path))
        try:
            return cls(file, deadline=deadline)
        except sqlite3.Error as error:
            file.close()
            raise unusable(file.path, error) from error

    async def get(self, key: str) -> tuple[KeyValue | None, int]:
        """See `Backend.get`."""
        self._check()
        try:
            found = self._reads.get(key)
        except (sqlite3.Error, UnicodeError) as error:
            raise translate(error) from error
        return found, self.known_revision()

    async def list(self, prefix: str, *, start: str = "", revision: int = 0, limit: int = 0) -> RangeResult:
        """See `Backend.list`."""
        self._check()
        try:
            return await self._reads.scan(prefix, start=start, revision=revision, limit=limit)
        except (sqlite3.Error, UnicodeError) as error:
            raise translate(error) from error

    def stream(self, prefix: str, *, start: str, revision: int) -> None:
        """Implement Backend.stream: pages are as fast."""
        return

    async def count(self, prefix: str) -> int:
        """See `Backend.count`."""
        self._check()
        try:
            return await self._reads.count(prefix)
        except (sqlite3.Error, UnicodeError) as error:
            raise translate(error) from error

    async def create(self, key: str, value: bytes, *, guard: Guard | None = None) -> WriteResult:
        """See `Backend.create`."""
        return await self._writer.write(Write(key, value, 0, guard))

    async def update(self, key: str, value: bytes, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """See `Backend.update`."""
        return await self._writer.write(Write(key, value, expected, guard))

    async def delete(self, key: str, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """See `Backend.delete`."""
        return await self._writer.write(Write(key, None, expected, guard))

    def watch(self, prefix: str, *, start: int = 0, previous: bool = False) -> AsyncGenerator[WatchBatch]:
        """See `Backend.watch`. A slow watch drops its buffer and reads the log instead: memory is bounded and no event lost.

        Raises:
            UnavailableError: the store is closed.
            CompactedError: the start revision was compacted, or for a slow watch its next events.
        """
        self._check()
        return watch(self._broadcaster, self._reads, prefix, start, previous=previous)

    async def request_progress(self) -> None:
        """See `Backend.request_progress`."""
        self._check()
        self._broadcaster.request_progress()

    async def revision(self) -> int:
        """See `Backend.revision`."""
        return self.known_revision()

    def known_revision(self) -> int:
        """See `Backend.known_revision`."""
        self._check()
        # A read may see a committed transaction before its publication.
        return max(self._broadcaster.revision, self._reads.latest)

    async def compact(self, revision: int) -> None:
        """See `Backend.compact`. After an interruption, the next compaction continues.

        The file does not shrink: SQLite reuses its free pages.

        Raises:
            FutureRevisionError: the revision is above the latest.
            UnavailableError: a transaction failed or timed out.
        """
        latest = self.known_revision()
        if revision > latest:
            raise FutureRevisionError(latest)
        async with self._compaction:
            if revision <= self._reads.compacted:
                return
            # Refuse new reads of these revisions before their rows are deleted.
            self._reads.compacted = revision
            await self._writer.run(_statements((schema.SET_COMPACTED, (revision,))))
            low = self._reads.deleted_up_to()
            while low < revision:
                high = min(low + _COMPACTED_REVISIONS, revision)
                await self._writer.run(
                    _statements(
                        (schema.DELETE_REPLACED, (low, high)),
                        (schema.DELETE_TOMBSTONES, (low, high)),
                        (schema.SET_DELETED_UP_TO, (high,)),
                    )
                )
                # skip revisions that were never written (`StoreFile`), at once
                low = max(high, min(self._reads.following(high) - 1, revision))

    async def compact_aged(self) -> None:
        """See `Backend.compact_aged`. Revisions younger than the interval between calls stay readable."""
        aged, self._aged = self._aged, await self.revision()
        if aged:
            await self.compact(aged)

    async def healthy(self) -> None:
        """See `Backend.healthy`."""
        await self.get("")

    async def writable(self) -> None:
        """See `Backend.writable`. Write to the file only if the last transaction failed."""
        self._check()
        if self._writer.failure is not None:
            await self._writer.run(_statements((schema.CHANGE, ()), (schema.CHANGE_BACK, ())))

    def check_history(self) -> None:
        """See `Backend.check_history`: another file may have the name, or another program may have written to the file."""
        self._check()
        settled = self._writer.settled_revision
        if settled is None:
            return
        self._file.check_unchanged()
        try:
            stored = self._reads.stored_revision()
        except sqlite3.Error as error:
            raise translate(error) from error
        if stored != settled:
            raise HistoryLostError(f"the store's revision changed from {settled} to {stored} by another program")

    async def start_over(self) -> int:
        """See `Backend.start_over`: close the file, and open the one that has the name now.

        Raises:
            StoreFileError: that file is missing or not a store, or cannot be opened. A missing one changes nothing.
        """
        if not self._closed:
            self._file.check_successor()
            self._broadcaster.is_lost = True
            await self._shut()
        self._take(StoreFile(self._file.path))
        return self.known_revision()

    async def close(self) -> None:
        """See `Backend.close`. Commit queued writes first."""
        if not self._closed:
            await self._shut()

    async def _shut(self) -> None:
        self._closed = True
        self._broadcaster.close()
        self._reads.close()
        if self._broadcaster.is_lost:
            # a connection that stays open would show new ones the former log
            with suppress(TimeoutError):
                async with asyncio.timeout(self._deadline):
                    await self._reads.drain()
        await self._writer.close(self._file.close)

    def _check(self) -> None:
        if self._closed:
            raise UnavailableError("the store is closed")


def _statements(*statements: tuple[str, tuple[int, ...]]) -> Callable[[sqlite3.Connection], None]:
    def job(connection: sqlite3.Connection) -> None:
        for statement, parameters in statements:
            connection.execute(statement, parameters)

    return job

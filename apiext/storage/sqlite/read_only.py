"""Reads a store's file beside the running server: without its lock, and without a write."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import ClassVar, Final, Self
from urllib.parse import quote

from apiext.storage.backend import CompactedError, KeyValue, RangeResult, UnavailableError, WatchBatch
from apiext.storage.backends.fixed_backend import ReadOnlyBackend
from apiext.storage.sqlite import schema
from apiext.storage.sqlite.errors import StoreFileError, translate
from apiext.storage.sqlite.reads import Reads

_TIMEOUT_SECONDS: Final = 5.0
"""Seconds that a connection waits while the server recovers the file, at most."""


def read_only_uri(path: Path) -> str:
    """Return the URI with which SQLite reads a store's file, also while a server writes it.

    SQLite makes a write-ahead log to read a file without one. On a file system that takes none, the file is read as it is.
    """
    try:
        is_fixed = bool(os.statvfs(path.parent).f_flag & os.ST_RDONLY) and not path.with_name(f"{path.name}-wal").exists()
    except OSError:
        # SQLite says why the file cannot be opened
        is_fixed = False
    return f"file:{quote(str(path))}?mode=ro{'&immutable=1' if is_fixed else ''}"


class ReadOnlySQLite(ReadOnlyBackend):
    """Implements the reads of Backend.

    Raises:
        UnavailableError: from watches and writes, always; from reads, if the file cannot be read.
    """

    REFUSAL: ClassVar[str] = "the store is opened for reading only"

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            StoreFileError: the file does not exist, or is not a store of this version.
        """
        self._path = path
        try:
            with self._connect() as connection:
                (application,) = connection.execute("PRAGMA application_id").fetchone()
                (version,) = connection.execute("PRAGMA user_version").fetchone()
            connection.close()
            if application != schema.APPLICATION_ID or version != schema.VERSION:
                raise StoreFileError(f"{path} is not a store of this version of apiext")
            self._reads = Reads(self._connect)
        except sqlite3.Error as error:
            raise StoreFileError(f"{path} cannot be opened: {error}") from error

    @classmethod
    async def open(cls, path: Path) -> Self:
        """Open the file on the running event loop. Raises as the constructor."""
        return cls(path)

    def _connect(self) -> sqlite3.Connection:
        uri = read_only_uri(self._path)
        return sqlite3.connect(uri, uri=True, timeout=_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False)

    async def get(self, key: str) -> tuple[KeyValue | None, int]:
        """Implement Backend.get."""
        try:
            return self._reads.get(key), await self.revision()
        except (sqlite3.Error, UnicodeError) as error:
            raise translate(error) from error

    async def list(self, prefix: str, *, start: str = "", revision: int = 0, limit: int = 0) -> RangeResult:
        """Implement Backend.list.

        Raises:
            CompactedError: the server has compacted the revision.
        """
        try:
            result = await self._reads.scan(prefix, start=start, revision=revision, limit=limit)
            # the server records a compaction before it deletes anything
            self._reads.refresh()
        except (sqlite3.Error, UnicodeError) as error:
            raise translate(error) from error
        if 0 < revision < self._reads.compacted:
            raise CompactedError(self._reads.compacted)
        return result

    def stream(self, prefix: str, *, start: str, revision: int) -> None:
        """Implement Backend.stream: pages are as fast."""
        return

    async def count(self, prefix: str) -> int:
        """Implement Backend.count."""
        try:
            return await self._reads.count(prefix)
        except (sqlite3.Error, UnicodeError) as error:
            raise translate(error) from error

    async def revision(self) -> int:
        """Implement Backend.revision."""
        return (await self.list("\\0/", limit=1)).revision

    def known_revision(self) -> int | None:
        """Implement Backend.known_revision: unknown, since the server may write at any time."""
        return None

    async def healthy(self) -> None:
        """Implement Backend.healthy."""
        await self.get("")

    async def writable(self) -> None:
        """Implement Backend.writable: nothing is ever written."""

    def check_history(self) -> None:
        """Implement Backend.check_history: each read is of the present file."""

    async def start_over(self) -> int:
        """Implement Backend.start_over."""
        return await self.revision()

    async def close(self) -> None:
        """Implement Backend.close."""
        self._reads.close()

    def watch(self, prefix: str, *, start: int = 0, previous: bool = False) -> AsyncGenerator[WatchBatch]:
        """Raise UnavailableError."""
        raise UnavailableError(self.REFUSAL)

    async def request_progress(self) -> None:
        """Raise UnavailableError."""
        raise UnavailableError(self.REFUSAL)

    async def compact(self, revision: int) -> None:
        """Raise UnavailableError."""
        raise UnavailableError(self.REFUSAL)

    async def compact_aged(self) -> None:
        """Raise UnavailableError."""
        raise UnavailableError(self.REFUSAL)

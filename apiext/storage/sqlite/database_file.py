"""Opening a store's file: what is checked, what is set, what is created."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from apiext.storage.sqlite import schema
from apiext.storage.sqlite.errors import StoreFileError
from apiext.storage.sqlite.lock import FileLock

_MAGIC: Final = b"SQLite format 3\x00"
_CHECKED: Final = 16 << 20
"""Files up to this size (bytes) are checked page by page when they are opened; that takes some 20 ms at most."""
_WRITER_CACHE: Final = 16 << 10
_READER_CACHE: Final = 4 << 10
"""Page caches, in KiB; they grow as they are used. The writer's holds a whole transaction."""


class StoreFile:
    """A store's file, locked, checked, and with its tables. Connections made from it may be used by any one thread at a time."""

    def __init__(self, path: Path) -> None:
        """Open the file, creating it and its folder where they are missing.

        Raises:
            StoreLockedError: another process uses it.
            StoreFileError: it cannot be opened, is not a store of this version, or is damaged.
        """
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreFileError(f"{path} cannot be opened: {error.strerror}") from error
        self._lock = FileLock(path)
        try:
            self.writer = self._open()
        except BaseException:
            self._lock.release()
            raise

    def reader(self) -> sqlite3.Connection:
        """A new connection that only reads."""
        connection = _connect(self.path, cache=_READER_CACHE)
        connection.execute("PRAGMA query_only = ON")
        return connection

    def close(self) -> None:
        """Close the writer and unlock; readers must be closed before. The log of the write-ahead is put into the file."""
        self.writer.close()
        self._lock.release()

    def _open(self) -> sqlite3.Connection:
        try:
            _check_header(self.path)
            writer = _connect(self.path, cache=_WRITER_CACHE)
        except (OSError, sqlite3.Error) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise StoreFileError(f"{self.path} cannot be opened: {reason}") from error
        try:
            _prepare(self.path, writer)
        except sqlite3.Error as error:
            writer.close()
            raise StoreFileError(f"{self.path} cannot be used: {error}") from error
        except StoreFileError:
            writer.close()
            raise
        return writer


def _connect(path: Path, *, cache: int) -> sqlite3.Connection:
    # No waiting for locks: the loop's thread reads and begins transactions, and nobody else is expected to hold one.
    connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA cache_size = -{cache}")
    return connection


def _check_header(path: Path) -> None:
    if not path.exists():
        # Created here, so that it is never readable to others: it holds what the API holds, secrets included.
        path.touch(mode=0o600)
        return
    with path.open("rb") as file:
        start = file.read(len(_MAGIC))
    if start and start != _MAGIC:
        raise StoreFileError(f"{path} is not a store: it is not an SQLite database")


def _prepare(path: Path, writer: sqlite3.Connection) -> None:
    (application,) = writer.execute("PRAGMA application_id").fetchone()
    (version,) = writer.execute("PRAGMA user_version").fetchone()
    (tables,) = writer.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    new = not (application or version or tables)
    if not new and application != schema.APPLICATION_ID:
        raise StoreFileError(f"{path} is not a store: it is another program's SQLite database")
    if not new and version != schema.VERSION:
        raise StoreFileError(f"{path} has format {version}; this version of apiext reads format {schema.VERSION}")
    if not new and path.stat().st_size <= _CHECKED:
        (finding,) = writer.execute("PRAGMA quick_check(1)").fetchone()
        if finding != "ok":
            raise StoreFileError(f"{path} is damaged: {' '.join(finding.split())}")
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("PRAGMA synchronous = FULL")
    writer.execute("PRAGMA cache_spill = OFF")
    if new:
        writer.execute("BEGIN IMMEDIATE")
        for statement in schema.TABLES:
            writer.execute(statement)
        writer.execute("COMMIT")

"""The store's file: opens, locks and checks it, and creates its tables."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from pathlib import Path
from typing import Final

from apiext.storage.sqlite import schema
from apiext.storage.sqlite.errors import StoreFileError, StoreLockedError

_MAGIC: Final = b"SQLite format 3\x00"
_MAX_CHECKED_BYTES: Final = 16 << 20
"""Larger files are not checked page by page at the start; for this size the check takes some 20 ms."""
_WRITER_CACHE_KIB: Final = 16 << 10
"""Page cache of the writer, large enough for a whole transaction."""
_READER_CACHE_KIB: Final = 4 << 10


class StoreFile:
    """A locked and checked file with the store's tables. One thread at a time may use its connections."""

    def __init__(self, path: Path) -> None:
        """Open the file. Create the file and its folder if they are missing.

        Raises:
            StoreLockedError: another process uses the file.
            StoreFileError: the file cannot be opened, is not a store of this version, or is damaged.
        """
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreFileError(f"{path} cannot be opened: {error.strerror}") from error
        self._lock = _lock(path)
        try:
            self.writer = self._open()
        except BaseException:
            os.close(self._lock)
            raise

    def reader(self) -> sqlite3.Connection:
        """Open another, read-only connection."""
        connection = _connect(self.path, cache=_READER_CACHE_KIB)
        connection.execute("PRAGMA query_only = ON")
        return connection

    def close(self) -> None:
        """Close the writer, which checkpoints the write-ahead log, and release the lock. Close all readers before."""
        self.writer.close()
        os.close(self._lock)

    def _open(self) -> sqlite3.Connection:
        try:
            _check_header(self.path)
            writer = _connect(self.path, cache=_WRITER_CACHE_KIB)
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


def _lock(store: Path) -> int:
    """Take an advisory lock on `<store>.lock` until its descriptor is closed. Return the descriptor.

    The file contains the last owner's process id, for the error message only. It is never removed: two processes could then lock two
    files of the same name.
    """
    path = store.with_name(store.name + ".lock")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StoreFileError(f"{store} cannot be opened: {path.name}: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        owner = os.read(descriptor, 20).decode("ascii", "replace").strip()
        os.close(descriptor)
        suffix = f" (process {owner})" if owner else ""
        raise StoreLockedError(f"{store} is in use by another process{suffix}") from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
    return descriptor


def _connect(path: Path, *, cache: int) -> sqlite3.Connection:
    # Do not wait for locks: reads and the start of transactions run on the event loop.
    connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA cache_size = -{cache}")
    return connection


def _check_header(path: Path) -> None:
    if not path.exists():
        # Never readable to other users: the objects may contain secrets.
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
    if not new and path.stat().st_size <= _MAX_CHECKED_BYTES:
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

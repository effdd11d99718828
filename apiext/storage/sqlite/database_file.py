"""The store's file: opens, locks and checks it, and creates its tables."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from struct import Struct
from typing import IO, Final
from urllib.parse import quote

from apiext.base.meta.log import get_logger
from apiext.storage.backend import HistoryLostError
from apiext.storage.sqlite import schema
from apiext.storage.sqlite.errors import StoreFileError, StoreLockedError, StoreLostError, unusable

_LOG: Final = get_logger(__name__)
_MAGIC: Final = b"SQLite format 3\x00"
_OPEN: Final = b"open\n"
"""Mark in the file of the lock while the store is open, and after a crash."""
_SKIPPED_REVISIONS: Final = 10**9
"""More than a write-ahead log can hold."""
MAX_CHECKED_BYTES: Final = 16 << 20
"""Larger files are not checked page by page at the start; for this size the check takes some 20 ms."""
_CACHE_KIB: Final = 4 << 10
"""Page cache of a connection. The system caches the file, too: random updates in 78 MB cost the same with four times as much."""

_HEAD: Final = Struct(">8xI4x8s8x")
"""Size of a page, and the salts that the log's frames have."""
_FRAME: Final = Struct(">4xI8s8x")
"""Pages of the file after a commit (0 within a transaction), and salts."""
_CERTAIN_COMMITS: Final = 2
"""A power failure tears the last transaction, which was not acknowledged; one before it had reached the disk."""


_SUFFIXES: Final = ("-wal", "-shm")


def is_store(path: Path) -> bool:
    """Report whether a file is a store of this version."""
    try:
        with closing(_bare(path)) as connection:
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.Error:
        return False
    return bool(application == schema.APPLICATION_ID and version == schema.VERSION)


def _bare(path: Path) -> sqlite3.Connection:
    """Open a file without its write-ahead log and its locks, for a moment."""
    return sqlite3.connect(f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True, isolation_level=None, timeout=0)


class OpenFile:
    """An open file, and what is known of its bytes. Look at it only while no transaction is under way."""

    def __init__(self, path: Path) -> None:
        """Remember the file that has the name.

        Raises:
            OSError: it cannot be looked up.
        """
        self._path = path
        found = path.stat()
        self._identity = found.st_dev, found.st_ino
        self._changed = found.st_mtime_ns
        """Time of the last change of the file's bytes that was looked at."""
        self._bare_revision = self._read() or 0
        """The revision in the file without its write-ahead log: checkpoints raise it."""

    @property
    def _is_replaced(self) -> bool:
        """Whether the name is that of another file, or of none."""
        try:
            found = self._path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return True
        return (found.st_dev, found.st_ino) != self._identity

    def check(self) -> None:
        """Check that the file is the same one, with the same history. A missing or unreadable file passes: writes fail already.

        Raises:
            HistoryLostError: another store has its name, or an older copy of it its bytes.
        """
        try:
            if self._is_replaced:
                if is_store(self._path):
                    raise HistoryLostError(f"{self._path} was replaced by another file")
                return
            changed = self._path.stat().st_mtime_ns
            if changed == self._changed:
                return
            revision = self._read()
            if revision is None or self._path.stat().st_mtime_ns != changed:
                return
        except OSError:
            return
        if revision < self._bare_revision:
            raise HistoryLostError(f"{self._path} was overwritten by an older copy")
        self._changed, self._bare_revision = changed, revision

    def _read(self) -> int | None:
        """Return the revision of the file itself, None while it is being written."""
        try:
            with closing(_bare(self._path)) as connection:
                return int(connection.execute(schema.REVISION).fetchone()[0] or schema.FIRST_REVISION)
        except sqlite3.Error:
            return None

    def check_successor(self) -> None:
        """Check that the file which has the name now is a store, if it is another one.

        Raises:
            StoreFileError: it is missing, or not a store.
        """
        if self._is_replaced and not is_store(self._path):
            raise StoreFileError(f"{self._path} is not a store: put a store in its place, or restart the server")

    def close(self, writer: sqlite3.Connection, log: tuple[int, int] | None) -> None:
        """Close the last connection, so that whatever has the name now stays as it is. `log` identifies the write-ahead log.

        A file that was moved away gets its log. One that was overwritten does not: the log belongs to other bytes.
        """
        aside = self._path.with_name(f"{self._path.name}.overwritten")
        is_overwritten = self._is_overwritten()
        with suppress(sqlite3.Error):
            if not is_overwritten:
                writer.execute("PRAGMA wal_checkpoint(FULL)").fetchone()
        if is_overwritten:
            # SQLite copies the log into a file only if it has its name
            self._path.rename(aside)
        try:
            writer.close()
        finally:
            if is_overwritten:
                aside.rename(self._path)
        if is_overwritten or self._is_replaced:
            self._remove_log(log)

    def _is_overwritten(self) -> bool:
        if self._is_replaced:
            return False
        revision = self._read()
        return revision is not None and revision < self._bare_revision

    def _remove_log(self, log: tuple[int, int] | None) -> None:
        """Remove the write-ahead log of the old file, which SQLite would apply to the new one, unless the new one has its own."""
        path = self._path.with_name(self._path.name + _SUFFIXES[0])
        with suppress(OSError):
            found = path.stat()
            if (found.st_dev, found.st_ino) == log:
                for suffix in _SUFFIXES:
                    self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)


def lacks_commits(log: Path, frames: int) -> bool:
    """Report whether acknowledged transactions follow the frames that SQLite has accepted after a crash: one of them is damaged.

    Raises:
        OSError: the log cannot be read.
    """
    with log.open("rb") as file:
        data = file.read(_HEAD.size)
        if len(data) < _HEAD.size:
            return False
        page_size, salts = _HEAD.unpack(data)
        size = _FRAME.size + page_size
        file.seek(_HEAD.size + frames * size)
        commits = sum(1 for pages, found in _frames(file, size) if pages > 0 and found == salts)
        return commits >= _CERTAIN_COMMITS


def _frames(file: IO[bytes], size: int) -> Iterator[tuple[int, bytes]]:
    """Yield what the frames from a place on begin with."""
    while len(data := file.read(_FRAME.size)) == _FRAME.size:
        yield _FRAME.unpack(data)
        file.seek(size - _FRAME.size, 1)


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
        self._lock, was_open = _lock(path)
        try:
            # SQLite deletes the log when the last connection is closed; a command that only reads creates an empty one
            lacks_log = was_open and _size(path) > 0 and not _size(_log_of(path))
            self.writer = self._open()
            if lacks_log:
                _skip_revisions(path, self.writer, "missing")
            elif was_open and _is_log_damaged(path, self.writer):
                _skip_revisions(path, self.writer, "damaged")
            self.writer.execute(schema.COMPACTED).fetchall()  # creates the log
            if not _size(_log_of(path)):
                _begin_log(self.writer)
            self._identity = _identity(path), _identity(_log_of(path))
            self._open_file = OpenFile(path)
            _describe_owner(self._lock, is_open=True)
        except (OSError, sqlite3.Error) as error:
            os.close(self._lock)
            raise unusable(path, error) from error
        except BaseException:
            os.close(self._lock)
            raise

    def reader(self) -> sqlite3.Connection:
        """Open another, read-only connection.

        Raises:
            StoreLostError: another file has the name. SQLite would apply the write-ahead log to it.
        """
        with suppress(OSError):
            self._check_identity(_identity(self.path))
        connection = _connect(self.path)
        connection.execute("PRAGMA query_only = ON")
        return connection

    def verify(self) -> None:
        """Check that the last commit survives a restart, in the thread that uses the writer. Accept it if the folder cannot be read.

        Raises:
            StoreLostError: the file or its write-ahead log is not there any more. If it is the log, its content is now in the file, unless
                SQLite could not copy it; it tries again when the writer is closed.
        """
        try:
            found = _identity(self.path), _identity(_log_of(self.path))
        except OSError:
            # the commit has reached the disk: only its folder does not answer
            return
        self._check_identity(found[0])
        if found[1] != self._identity[1]:
            with suppress(sqlite3.Error):
                self.writer.execute("PRAGMA wal_checkpoint(FULL)").fetchone()
            raise StoreLostError(f"{_log_of(self.path)} was deleted while the server runs: restart the server")

    def _check_identity(self, found: tuple[int, int] | None) -> None:
        if found != self._identity[0]:
            raise StoreLostError(f"{self.path} was deleted or replaced while the server runs: back up the objects through the server")

    def check_unchanged(self) -> None:
        """See OpenFile.check."""
        self._open_file.check()

    def check_successor(self) -> None:
        """See OpenFile.check_successor."""
        self._open_file.check_successor()

    def close(self) -> None:
        """Close the writer, which checkpoints the write-ahead log, and release the lock. Close all readers before."""
        try:
            with suppress(OSError):
                _describe_owner(self._lock, is_open=False)
            self._open_file.close(self.writer, self._identity[1])
        finally:
            os.close(self._lock)

    def _open(self) -> sqlite3.Connection:
        _check_header(self.path)
        writer = _connect(self.path)
        try:
            _prepare(self.path, writer)
        except BaseException:
            writer.close()
            raise
        return writer


@contextmanager
def locked_store(store: Path) -> Iterator[Callable[[], None]]:
    """Hold the lock of a store, whose folder exists, while the context is open. Yield a function to call after the file was replaced.

    Raises:
        StoreLockedError: another process uses the file.
        StoreFileError: the file of the lock cannot be opened.
    """
    descriptor, _ = _lock(store)
    try:
        yield lambda: _describe_owner(descriptor, is_open=False)
    finally:
        os.close(descriptor)


def lock_of(store: Path) -> Path:
    """Return the path of the file that a store's owner locks."""
    return store.with_name(store.name + ".lock")


def _lock(store: Path) -> tuple[int, bool]:
    """Take an advisory lock on `<store>.lock` until its descriptor is closed. Return the descriptor, and whether the last owner crashed.

    The file contains the owner's process id, for the error message only, and a mark while the store is open. It is never removed: two
    processes could then lock two files of the same name.
    """
    path = lock_of(store)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StoreFileError(f"{store} cannot be opened: {path.name}: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        owner = os.read(descriptor, 20).decode("ascii", "replace").partition("\n")[0]
        os.close(descriptor)
        suffix = f" (process {owner})" if owner else ""
        raise StoreLockedError(f"{store} is in use by another process{suffix}") from error
    try:
        was_open = _OPEN in os.pread(descriptor, 100, 0)
        _describe_owner(descriptor, is_open=was_open)
    except OSError as error:
        os.close(descriptor)
        raise StoreFileError(f"{store} cannot be opened: {path.name}: {error.strerror}") from error
    return descriptor, was_open


def _describe_owner(descriptor: int, *, is_open: bool) -> None:
    data = b"%d\n%b" % (os.getpid(), _OPEN if is_open else b"")
    # in place: a full disk takes it, and an error leaves the former mark
    os.ftruncate(descriptor, os.pwrite(descriptor, data, 0))


def _log_of(store: Path) -> Path:
    """Return the path of the write-ahead log."""
    return store.with_name(f"{store.name}-wal")


def _size(path: Path) -> int:
    """Return the bytes of a file, 0 if it is missing."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what distinguishes a file from others of its name; None if it is missing."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def _is_log_damaged(path: Path, writer: sqlite3.Connection) -> bool:
    """Report whether SQLite left out acknowledged transactions from the log of a crash. A full disk does not tell."""
    try:
        _, frames, _ = writer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    except sqlite3.Error:
        return False
    return lacks_commits(_log_of(path), max(frames, 0))


def _skip_revisions(path: Path, writer: sqlite3.Connection, problem: str) -> None:
    """Begin above all revisions that a lost write-ahead log may have had: clients have seen them, and must list again."""
    _LOG.error(f"write-ahead log {problem} after a crash, acknowledged writes may be lost", file=str(path))
    writer.execute("BEGIN IMMEDIATE")
    (latest,) = writer.execute(schema.REVISION).fetchone()
    revision = (latest or schema.FIRST_REVISION) + _SKIPPED_REVISIONS
    writer.execute(schema.APPEND, (revision, "", 0, False, None))
    writer.execute(schema.SET_COMPACTED, (revision,))
    writer.execute("COMMIT")


def _begin_log(writer: sqlite3.Connection) -> None:
    """Write to an empty write-ahead log: after a crash it is empty only if its content was lost. Do without if the disk refuses."""
    with suppress(sqlite3.Error):
        writer.execute("BEGIN IMMEDIATE")
        writer.execute(schema.CHANGE)
        writer.execute(schema.CHANGE_BACK)
        writer.execute("COMMIT")
    if writer.in_transaction:
        writer.execute("ROLLBACK")


def _connect(path: Path) -> sqlite3.Connection:
    # Do not wait for locks: reads and the start of transactions run on the event loop.
    connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
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
    if not new and path.stat().st_size <= MAX_CHECKED_BYTES:
        (finding,) = writer.execute("PRAGMA quick_check(1)").fetchone()
        if finding != "ok":
            raise StoreFileError(f"{path} is damaged: {' '.join(finding.split())}; restore a backup (apiext restore)")
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("PRAGMA synchronous = FULL")
    writer.execute("PRAGMA cache_spill = OFF")
    if new:
        writer.execute("BEGIN IMMEDIATE")
        for statement in schema.TABLES:
            writer.execute(statement)
        writer.execute("COMMIT")

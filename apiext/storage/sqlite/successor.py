"""Notices that a store's file was replaced while it is open, by a file that took its name or by other bytes, and lets the old one go."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from apiext.storage.backend import HistoryLostError
from apiext.storage.sqlite import schema
from apiext.storage.sqlite.errors import StoreFileError

if TYPE_CHECKING:
    from pathlib import Path

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

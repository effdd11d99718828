"""The file of an embedded store: its online copy, and the keys and values in a copy."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import quote

from apiext.storage import keys
from apiext.storage.backups.stored_pairs import BackupError
from apiext.storage.sqlite import schema
from apiext.storage.sqlite.read_only import read_only_uri

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_TIMEOUT_SECONDS = 10.0
"""Seconds to wait while a server recovers or closes the file."""


def copy_online(store: Path, copy: Path) -> None:
    """Copy the file of a store, also while a server uses it, as of one commit. Every acknowledged write is in it.

    The copy runs in one read transaction: writes go on beside it, and the write-ahead log grows meanwhile.

    Raises:
        BackupError: there is no store, or it cannot be read or copied.
    """
    if not store.is_file():
        raise BackupError(f"there is no store at {store}")
    try:
        os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with closing(sqlite3.connect(read_only_uri(store), uri=True, timeout=_TIMEOUT_SECONDS, isolation_level=None)) as source:
            _check(store, source)
            with closing(sqlite3.connect(copy, isolation_level=None)) as target:
                target.execute("PRAGMA synchronous = OFF")
                source.backup(target)
                # the copy is one file, which immutable connections read
                target.execute("PRAGMA journal_mode = DELETE")
    except (sqlite3.Error, OSError) as error:
        raise BackupError(f"{store} cannot be copied: {getattr(error, 'strerror', None) or error}") from error


class SQLitePairs:
    """Implements StoredPairs over a copy that does not change."""

    def __init__(self, path: Path, prefix: str) -> None:
        """Open a copy, and check all its pages.

        Raises:
            BackupError: it cannot be read, is damaged, or is not a store of this version.
        """
        self._path = path
        self._root = keys.root(prefix)
        try:
            self._connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True, isolation_level=None)
            _check(path, self._connection)
            (finding,) = self._connection.execute("PRAGMA quick_check(1)").fetchone()
            if finding != "ok":
                raise BackupError(f"the store is damaged: {' '.join(finding.split())}")
            (revision,) = self._connection.execute(schema.REVISION).fetchone()
        except sqlite3.Error as error:
            raise BackupError(f"the store is damaged: {error}") from error
        self._revision: int = revision or schema.FIRST_REVISION

    @property
    def revision(self) -> int:
        """Implement StoredPairs.revision."""
        return self._revision

    def pairs(self) -> Iterator[tuple[str, bytes]]:
        """Implement StoredPairs.pairs, in the order of the keys."""
        try:
            for key, value, _ in self._connection.execute(schema.LIST, (self._root, keys.prefix_end(self._root), -1)):
                yield key[len(self._root) :], value
        except sqlite3.Error as error:
            raise BackupError(f"the store is damaged: {error}") from error

    def get(self, key: str) -> bytes | None:
        """Implement StoredPairs.get."""
        try:
            row = self._connection.execute(schema.GET, (self._root + key,)).fetchone()
        except sqlite3.Error as error:
            raise BackupError(f"the store is damaged: {error}") from error
        return None if row is None else row[1]

    def close(self) -> None:
        """Implement StoredPairs.close."""
        self._connection.close()


def _check(path: Path, connection: sqlite3.Connection) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != schema.APPLICATION_ID or version != schema.VERSION:
        raise BackupError(f"{path} is not a store of this version of apiext")

"""The latest keys and values in a snapshot of etcd (etcd server/storage/mvcc: the bucket `key` holds every change by revision)."""

from __future__ import annotations

import hashlib
import sqlite3
from typing import TYPE_CHECKING, Final

from apiext.base.meta.encoding.protobuf_wire import read_fields
from apiext.storage import keys
from apiext.storage.backups.bolt_file import BoltFile
from apiext.storage.backups.stored_pairs import BackupError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_REVISION_BYTES: Final = 17
"""Main revision, "_" and the number within a transaction; a deletion has one more byte."""
_COMPACTIONS: Final = (b"scheduledCompactRev", b"finishedCompactRev")
_KEY_FIELD: Final = 1
_VALUE_FIELD: Final = 5
_DIGEST_BYTES: Final = 32
_SECTOR_BYTES: Final = 512
_READ_BYTES: Final = 1 << 20


class EtcdPairs:
    """Implements StoredPairs. An index of the keys is kept in a temporary file; values stay where they are."""

    def __init__(self, path: Path, prefix: str) -> None:
        """Open a snapshot, and index the keys below a prefix.

        Raises:
            BackupError: the file is not a snapshot, or is damaged; or there is no room for the index.
        """
        check_digest(path)
        self._file = BoltFile(path)
        # the empty name is a temporary file
        self._index = sqlite3.connect("", isolation_level=None)
        try:
            self._revision = self._fill(keys.root(prefix).encode())
        except sqlite3.Error as error:
            self.close()
            raise BackupError(f"the index of {path} cannot be kept in a temporary file: {error}") from error
        except BaseException:
            self.close()
            raise

    def _fill(self, prefix: bytes) -> int:
        """Index the latest value of each key. Return the revision."""
        self._index.execute("PRAGMA journal_mode = OFF")
        self._index.execute("CREATE TABLE places (key TEXT PRIMARY KEY, start, length) WITHOUT ROWID")
        revision = 1
        for name, place in self._file.items(b"meta"):
            if name in _COMPACTIONS:
                revision = max(revision, int.from_bytes(self._file.bytes_at(place)[:8], "big"))
        self._index.execute("BEGIN")
        for change, place in self._file.items(b"key"):
            revision = max(revision, int.from_bytes(change[:8], "big"))
            key, _ = self._parsed(place)
            if not key.startswith(prefix):
                continue
            name_text = self._text(key[len(prefix) :])
            if len(change) > _REVISION_BYTES:
                self._index.execute("DELETE FROM places WHERE key = ?", (name_text,))
            else:
                self._index.execute("INSERT OR REPLACE INTO places VALUES (?, ?, ?)", (name_text, *place))
        self._index.execute("COMMIT")
        return revision

    @property
    def revision(self) -> int:
        """Implement StoredPairs.revision."""
        return self._revision

    def pairs(self) -> Iterator[tuple[str, bytes]]:
        """Implement StoredPairs.pairs, in the order of the keys."""
        for key, start, length in self._index.execute("SELECT key, start, length FROM places ORDER BY key"):
            yield key, self._parsed((start, length))[1]

    def get(self, key: str) -> bytes | None:
        """Implement StoredPairs.get."""
        place = self._index.execute("SELECT start, length FROM places WHERE key = ?", (key,)).fetchone()
        return None if place is None else self._parsed(place)[1]

    def close(self) -> None:
        """Implement StoredPairs.close."""
        self._index.close()
        self._file.close()

    def _parsed(self, place: tuple[int, int]) -> tuple[bytes, bytes]:
        """Return key and value of an mvccpb.KeyValue."""
        key = value = b""
        try:
            for number, content in read_fields(self._file.bytes_at(place)):
                if number == _KEY_FIELD and isinstance(content, bytes):
                    key = content
                elif number == _VALUE_FIELD and isinstance(content, bytes):
                    value = content
        except ValueError as error:
            raise BackupError(f"the snapshot is damaged: {error}") from error
        return key, value

    def _text(self, key: bytes) -> str:
        try:
            return key.decode()
        except UnicodeDecodeError as error:
            raise BackupError(f"the snapshot has a key that is not valid UTF-8: {key!r}") from error


def check_digest(path: Path) -> None:
    """Check the digest at the end of a snapshot. A copy of etcd's file has none, and is accepted (as etcdutl --skip-hash-check does).

    Raises:
        BackupError: the snapshot is cut or damaged, or cannot be read.
    """
    try:
        rest = path.stat().st_size
        if rest % _SECTOR_BYTES != _DIGEST_BYTES:
            if rest % _SECTOR_BYTES:
                raise BackupError(f"{path} is an incomplete snapshot of etcd")
            return
        digest = hashlib.sha256()
        with path.open("rb") as file:
            rest -= _DIGEST_BYTES
            while rest and (part := file.read(min(rest, _READ_BYTES))):
                digest.update(part)
                rest -= len(part)
            if file.read() != digest.digest():
                raise BackupError(f"{path} is damaged: it differs from its digest")
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror}") from error

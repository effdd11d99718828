"""Many objects in temporary files, read in the order of their keys: memory does not grow with their number."""

from __future__ import annotations

import sqlite3
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_IN_MEMORY_BYTES: Final = 32 << 20
"""Bytes of objects above which they are kept in a file."""


class ObjectSpool:
    """Bytes by collection, key and variant. Of two with the same ones the later one counts."""

    def __init__(self) -> None:
        self._bytes = SpooledTemporaryFile[bytes](max_size=_IN_MEMORY_BYTES)
        self._end = 0
        # the empty name is a temporary file; a thread may fill the spool, and another one read it
        self._index = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._index.execute("PRAGMA synchronous = OFF")
        self._index.execute("PRAGMA journal_mode = OFF")
        self._index.execute(
            "CREATE TABLE places (collection, key, variant, start, length, PRIMARY KEY (collection, key, variant)) WITHOUT ROWID"
        )

    def add(self, collection: str, key: str, data: bytes, variant: str = "") -> None:
        """Add bytes."""
        self._bytes.seek(self._end)
        self._bytes.write(data)
        self._index.execute("INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?, ?)", (collection, key, variant, self._end, len(data)))
        self._end += len(data)

    def collections(self) -> list[str]:
        """Return the collections that have objects, in order."""
        return [row[0] for row in self._index.execute("SELECT DISTINCT collection FROM places ORDER BY collection")]

    def size(self, collection: str) -> tuple[int, int]:
        """Return the number of a collection's keys and the bytes of all variants."""
        rows = self._index.execute("SELECT count(DISTINCT key), total(length) FROM places WHERE collection = ?", (collection,))
        count, length = rows.fetchone()
        return count, int(length)

    def items(self, collection: str) -> Iterator[tuple[str, bytes]]:
        """Yield the keys of a collection with their bytes, in the byte order of the keys; the variants of a key as they were added."""
        for key, start, length in self._index.execute(
            "SELECT key, start, length FROM places WHERE collection = ? ORDER BY key, start", (collection,)
        ):
            self._bytes.seek(start)
            yield key, self._bytes.read(length)

    def close(self) -> None:
        """Delete the temporary files."""
        self._index.close()
        self._bytes.close()

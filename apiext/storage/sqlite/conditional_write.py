"""One conditional write, within the transaction of its batch."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from apiext.storage.backend import BackendEvent, Guard, KeyValue, WriteResult
from apiext.storage.sqlite import schema


@dataclass(frozen=True, slots=True)
class Write:
    """What to write if the key's revision is the expected one (0: absent)."""

    key: str
    value: bytes | None
    """None: delete."""
    expected: int
    guard: Guard | None = None


def apply(connection: sqlite3.Connection, write: Write, latest: int) -> tuple[WriteResult, BackendEvent | None]:
    """Do the write at the revision after `latest` if its conditions hold; what the caller and the watchers are to be told.

    They see what was written before in the same transaction.
    """
    key, value, guard = write.key, write.value, write.guard
    if guard is not None and _revision(connection, guard.key) != guard.expected:
        return WriteResult(False, latest, None, guard_failed=True), None  # noqa: FBT003 -- the result's own order
    row = connection.execute(schema.GET, (key,)).fetchone()
    found = None if row is None else KeyValue(key, row[1], row[0])
    existing = 0 if found is None else found.revision
    if existing != write.expected or (found is None and value is None):
        return WriteResult(False, latest, found), None  # noqa: FBT003 -- the result's own order
    revision = latest + 1
    connection.execute(schema.APPEND, (revision, key, existing, value is not None, value))
    if value is None:
        connection.execute(schema.REMOVE, (key,))
    else:
        connection.execute(schema.UPDATE if existing else schema.INSERT, (revision, key))
    return WriteResult(True, revision, None), BackendEvent(key, revision, value, found)  # noqa: FBT003


def _revision(connection: sqlite3.Connection, key: str) -> int:
    """The revision of a key, 0 for one that is absent."""
    row = connection.execute(schema.STANDS_AT, (key,)).fetchone()
    return 0 if row is None else int(row[0])

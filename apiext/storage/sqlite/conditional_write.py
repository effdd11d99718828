"""One conditional write within the transaction of its batch."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from apiext.base.meta.limits import MAX_ETCD_MESSAGE_BYTES, MAX_STORED_BYTES, MAX_STORED_GROWTH_BYTES
from apiext.storage.backend import BackendEvent, Guard, KeyValue, WriteResult
from apiext.storage.backends.oversized_value import value_too_large
from apiext.storage.sqlite import schema


@dataclass(frozen=True, slots=True)
class Write:
    """A write on condition that the key has the expected revision (0: absent)."""

    key: str
    value: bytes | None
    """The new value; None to delete the key."""
    expected: int
    guard: Guard | None = None


def apply(connection: sqlite3.Connection, write: Write, latest: int) -> tuple[WriteResult, BackendEvent | None]:
    """Perform the write at the revision after `latest` if its conditions hold. Return the result and the event for watchers.

    The conditions see the earlier writes of the same transaction.

    Raises:
        sqlite3.Error: a statement failed.
        UnicodeError: the key is not valid Unicode.
        ValueTooLargeError: the value exceeds the limit. The message is etcd's, or that of the reference's etcd client.
    """
    key, value, guard = write.key, write.value, write.guard
    row = connection.execute(schema.GET, (key,)).fetchone()
    found = None if row is None else KeyValue(key, row[1], row[0])
    existing = 0 if found is None else found.revision
    if existing != write.expected or (found is None and value is None):
        return WriteResult(False, latest, found), None  # noqa: FBT003 -- field order of the result
    if guard is not None:
        row = connection.execute(schema.GET_REVISION, (guard.key,)).fetchone()
        if (0 if row is None else row[0]) != guard.expected:
            return WriteResult(False, latest, None, guard_failed=True), None  # noqa: FBT003 -- field order of the result
    if value is not None and len(value) > _longest(found):
        raise value_too_large(key, value, existing, MAX_ETCD_MESSAGE_BYTES)
    revision = latest + 1
    connection.execute(schema.APPEND, (revision, key, existing, value is not None, value))
    if value is None:
        connection.execute(schema.REMOVE, (key,))
    else:
        connection.execute(schema.UPDATE if existing else schema.INSERT, (revision, key))
    return WriteResult(True, revision, None), BackendEvent(key, revision, value, found)  # noqa: FBT003


def _longest(found: KeyValue | None) -> int:
    """Return the maximum bytes of a new value. It may slightly exceed an oversized value from an older version."""
    size = 0 if found is None else len(found.value)
    return size + MAX_STORED_GROWTH_BYTES if size > MAX_STORED_BYTES else MAX_STORED_BYTES

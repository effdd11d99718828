"""The tables of a store, and the statements that read and change them."""

from __future__ import annotations

from typing import Final

APPLICATION_ID: Final = 0x61706578
"""Marks the file as ours in SQLite's header: "apex"."""
VERSION: Final = 1
FIRST_REVISION: Final = 1
"""The revision of a store without any write, as in etcd: the first write has the next one."""

# `log` holds every change, `previous` being the revision of what it replaced (0: nothing) and `live` 0 for a deletion.
# `current` holds the revision of each key that exists. `compaction` holds up to where
# the past may not be read any more, and up to where it has been removed. `value` comes last, so that what precedes it is found on the row's
# first page whatever the value's size.
TABLES: Final = (
    "CREATE TABLE log (revision INTEGER PRIMARY KEY, key TEXT NOT NULL, previous INTEGER NOT NULL, live INTEGER NOT NULL, value BLOB)",
    "CREATE INDEX log_key ON log (key, revision, live)",
    "CREATE TABLE current (key TEXT PRIMARY KEY, revision INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE compaction (revision INTEGER NOT NULL, forgotten INTEGER NOT NULL)",
    "INSERT INTO compaction VALUES (0, 0)",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)

REVISION: Final = "SELECT MAX(revision) FROM log"
COMPACTED: Final = "SELECT revision FROM compaction"
FORGOTTEN: Final = "SELECT forgotten FROM compaction"

GET: Final = "SELECT l.revision, l.value FROM current c JOIN log l ON l.revision = c.revision WHERE c.key = ?"
STANDS_AT: Final = "SELECT revision FROM current WHERE key = ?"
APPEND: Final = "INSERT INTO log (revision, key, previous, live, value) VALUES (?, ?, ?, ?, ?)"
INSERT: Final = "INSERT INTO current (revision, key) VALUES (?, ?)"
UPDATE: Final = "UPDATE current SET revision = ? WHERE key = ?"
REMOVE: Final = "DELETE FROM current WHERE key = ?"

LIST: Final = (
    "SELECT c.key, l.value, c.revision FROM current c CROSS JOIN log l ON l.revision = c.revision"
    " WHERE c.key >= ? AND c.key < ? ORDER BY c.key LIMIT ?"
)
COUNT: Final = "SELECT COUNT(*) FROM (SELECT 1 FROM current WHERE key >= ? AND key < ? LIMIT ?)"

# With MAX() the other columns of a group are those of the row that has the maximum: SQLite promises it.
_STATE: Final = (
    "SELECT key, MAX(revision) AS revision, live FROM log INDEXED BY log_key"
    " WHERE key >= ? AND key < ? AND revision <= ? GROUP BY key HAVING live"
)
# No order at the outside, where it would sort the values: a cross join keeps the order of its left side.
LIST_AT: Final = (
    f"SELECT s.key, l.value, s.revision FROM ({_STATE} ORDER BY key LIMIT ?) s"  # noqa: S608 -- constants
    " CROSS JOIN log l ON l.revision = s.revision"
)
COUNT_AT: Final = f"SELECT COUNT(*) FROM ({_STATE})"  # noqa: S608 -- constants

# The plus sign keeps SQLite from walking the index of keys where the order of revisions is wanted.
CHANGES: Final = (
    "SELECT l.key, l.revision, l.value, l.previous, p.value FROM log l LEFT JOIN log p ON p.revision = l.previous"
    " WHERE l.revision BETWEEN ? AND ? AND +l.key >= ? AND +l.key < ? ORDER BY l.revision"
)

SET_COMPACTED: Final = "UPDATE compaction SET revision = ?"
SET_FORGOTTEN: Final = "UPDATE compaction SET forgotten = ?"
# What a change after the last compaction and up to this one replaced; and deletions, which leave nothing behind, but
# neither the newest revision, which says where to go on, nor the compaction's own, from which a watch may start.
FORGET_REPLACED: Final = (
    "DELETE FROM log WHERE revision IN (SELECT previous FROM log WHERE revision > ? AND revision <= ? AND previous > 0)"
)
FORGET_DELETED: Final = "DELETE FROM log WHERE revision >= ? AND revision < ? AND live = 0 AND revision < (SELECT MAX(revision) FROM log)"

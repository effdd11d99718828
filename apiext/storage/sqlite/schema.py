"""Tables of a store, and the statements that read and change them."""

from __future__ import annotations

from typing import Final

APPLICATION_ID: Final = 0x61706578
"""Identifies the file in SQLite's header: "apex"."""
VERSION: Final = 1
"""The format of the file."""
FIRST_REVISION: Final = 1
"""The revision of an empty store, as in etcd. The first write gets the next one."""

# `log` holds every change: `previous` is the revision that it replaced (0: none), `live` is 0 for a deletion. `value` is the last
# column, so that the others are on the row's first page whatever its size.
# `current` holds the revision of each key that exists.
# `compaction` holds the compacted revision, and in `forgotten` the revision up to which rows have been deleted.
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
FOLLOWING: Final = "SELECT MIN(revision) FROM log WHERE revision > ?"
COMPACTED: Final = "SELECT revision FROM compaction"
DELETED_UP_TO: Final = "SELECT forgotten FROM compaction"

GET: Final = "SELECT l.revision, l.value FROM current c JOIN log l ON l.revision = c.revision WHERE c.key = ?"
GET_REVISION: Final = "SELECT revision FROM current WHERE key = ?"
APPEND: Final = "INSERT INTO log (revision, key, previous, live, value) VALUES (?, ?, ?, ?, ?)"
INSERT: Final = "INSERT INTO current (revision, key) VALUES (?, ?)"
UPDATE: Final = "UPDATE current SET revision = ? WHERE key = ?"
REMOVE: Final = "DELETE FROM current WHERE key = ?"

LIST: Final = (
    "SELECT c.key, l.value, c.revision FROM current c CROSS JOIN log l ON l.revision = c.revision"
    " WHERE c.key >= ? AND c.key < ? ORDER BY c.key LIMIT ?"
)
COUNT: Final = "SELECT COUNT(*) FROM (SELECT 1 FROM current WHERE key >= ? AND key < ? LIMIT ?)"

# SQLite guarantees that with MAX() the other columns of a group come from the row with the maximum.
_STATE: Final = (
    "SELECT key, MAX(revision) AS revision, live FROM log INDEXED BY log_key"
    " WHERE key >= ? AND key < ? AND revision <= ? GROUP BY key HAVING live"
)
# ORDER BY inside: outside it would sort the values too. A cross join keeps the order of its left side.
LIST_AT: Final = (
    f"SELECT s.key, l.value, s.revision FROM ({_STATE} ORDER BY key LIMIT ?) s"  # noqa: S608 -- constants
    " CROSS JOIN log l ON l.revision = s.revision"
)
COUNT_AT: Final = f"SELECT COUNT(*) FROM ({_STATE})"  # noqa: S608 -- constants

# The plus sign makes SQLite use the order of revisions, not the index of keys.
CHANGES: Final = (
    "SELECT l.key, l.revision, l.value, l.previous, p.value FROM log l LEFT JOIN log p ON p.revision = l.previous"
    " WHERE l.revision BETWEEN ? AND ? AND +l.key >= ? AND +l.key < ? ORDER BY l.revision"
)

SET_COMPACTED: Final = "UPDATE compaction SET revision = ?"
# SQLite writes no page that stays equal.
CHANGE: Final = "UPDATE compaction SET forgotten = forgotten + 1"
CHANGE_BACK: Final = "UPDATE compaction SET forgotten = forgotten - 1"
SET_DELETED_UP_TO: Final = "UPDATE compaction SET forgotten = ?"
# Rows replaced after the last compaction and up to this one.
DELETE_REPLACED: Final = (
    "DELETE FROM log WHERE revision IN (SELECT previous FROM log WHERE revision > ? AND revision <= ? AND previous > 0)"
)
# Deletions, except the newest revision, which continues the numbering, and the compacted one, from which a watch may start.
DELETE_TOMBSTONES: Final = (
    "DELETE FROM log WHERE revision >= ? AND revision < ? AND live = 0 AND revision < (SELECT MAX(revision) FROM log)"
)

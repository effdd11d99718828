"""Restores a backup as the file of an embedded store: the new file takes the name of the old one when it is complete."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import count as numbers
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import orjson

from apiext.base.atomic_files import sync
from apiext.base.meta import time
from apiext.storage import keys
from apiext.storage.backend import BackendError
from apiext.storage.backends.revision_offset import OFFSET_MEMBER, OFFSET_RECORD, next_offset
from apiext.storage.backups.stored_pairs import BackupError
from apiext.storage.replicas import server_keys
from apiext.storage.sqlite import schema
from apiext.storage.sqlite.database_file import lock_of, locked_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_SUFFIX: Final = ".restored"
_WAL: Final = "-wal"
_SHM: Final = "-shm"
_MISSING: Final = -1


@dataclass(frozen=True, slots=True)
class RestoredFile:
    """The outcome of a restoration into a file."""

    count: int
    """Number of restored keys."""
    replaced: Path | None
    """Where the previous file is kept."""


def restore_file(
    store: Path, prefix: str, pairs: Iterable[tuple[str, bytes]], *, highest: int, now: float, replace: bool = False
) -> RestoredFile:
    """Restore keys, relative to the prefix, as a store. With `replace`, keep the present store beside it under another name.

    `highest` is the backup's highest revision. A restoration that ends early leaves the present store as it was.

    Raises:
        BackupError: a server uses the store, there is a store and `replace` is not set, or the disk refuses.
    """
    try:
        store.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked_store(store) as mark_closed:
            present = _present_revision(store, prefix)
            if present is not None and not replace:
                raise BackupError(f"{store} exists: --replace restores in its place, and keeps it under another name")
            offset = next_offset(max(highest, present or 0), now)
            new = store.with_name(store.name + _SUFFIX)
            for path in (new, new.with_name(new.name + "-journal")):
                path.unlink(missing_ok=True)
            try:
                count = _write(new, keys.root(prefix), pairs, offset)
                _give_to_owner(store, new)
            except BaseException:
                # a full disk would stop the present store, too
                new.unlink(missing_ok=True)
                raise
            if present not in (None, _MISSING):
                _empty_log(store)
            replaced = _set_aside(store) if present is not None else None
            new.replace(store)
            sync(store.parent)
            mark_closed()
    except (OSError, sqlite3.Error) as error:
        raise BackupError(f"{store} cannot be restored: {getattr(error, 'strerror', None) or error}") from error
    except BackendError as error:
        raise BackupError(str(error)) from error
    return RestoredFile(count, replaced)


def _present_revision(store: Path, prefix: str) -> int | None:
    """Return the revision that clients of the present store saw: None without one, -1 if it cannot be read."""
    if not store.exists() or not store.stat().st_size:
        return None
    try:
        # read only: SQLite deletes the log of a damaged file that it may write
        with closing(sqlite3.connect(f"file:{quote(str(store))}?mode=ro", uri=True, timeout=0, isolation_level=None)) as connection:
            (revision,) = connection.execute(schema.REVISION).fetchone()
            places = (server_keys.root(prefix), server_keys.former_root(prefix))
            rows = [connection.execute(schema.GET, (f"{place}{OFFSET_RECORD}",)).fetchone() for place in places]
        offset = max((int(orjson.loads(row[1])[OFFSET_MEMBER]) for row in rows if row), default=0)
        return int(revision or schema.FIRST_REVISION) + offset
    except (sqlite3.Error, ValueError, TypeError, KeyError):
        return _MISSING


def _empty_log(store: Path) -> None:
    """Move the content of the log into the file. Until then, a store whose server crashed stays as it is: it would seem to lack its log."""
    uri = f"file:{quote(str(store))}?mode=rw"
    with suppress(sqlite3.Error), closing(sqlite3.connect(uri, uri=True, timeout=0, isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def _write(new: Path, root: str, pairs: Iterable[tuple[str, bytes]], offset: int) -> int:
    """Write a complete store to a new file, and wait for the disk. Return the number of keys."""
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with closing(sqlite3.connect(new, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        for statement in schema.TABLES:
            connection.execute(statement)
        revision = schema.FIRST_REVISION
        for key, value in _with_offset(pairs, offset):
            revision += 1
            connection.execute(schema.APPEND, (revision, root + key, 0, True, value))
            connection.execute(schema.INSERT, (revision, root + key))
        connection.execute("COMMIT")
    sync(new)
    return revision - schema.FIRST_REVISION - 2


def _give_to_owner(store: Path, new: Path) -> None:
    """Give what root restores to the owner of the present store or else of its folder, as SQLite does with its logs: it runs the server."""
    if os.geteuid():
        return
    found = (store if store.exists() else store.parent).stat()
    with suppress(OSError):
        for path in (new, lock_of(store)):
            os.chown(path, found.st_uid, found.st_gid, follow_symlinks=False)


def _with_offset(pairs: Iterable[tuple[str, bytes]], offset: int) -> Iterator[tuple[str, bytes]]:
    yield from pairs
    # an earlier release reads the former place
    for segment in (server_keys.SEGMENT, server_keys.FORMER_SEGMENT):
        yield f"{segment}/{OFFSET_RECORD}", orjson.dumps({OFFSET_MEMBER: offset}) + b"\n"


def _set_aside(store: Path) -> Path:
    """Give the present store another name, too. A log that another program holds, or that cannot be emptied, moves with it."""
    name = f"{store.name}.replaced-{time.now().replace(':', '')}"
    names = (store.with_name(name if number == 1 else f"{name}-{number}") for number in numbers(1))
    kept = next(path for path in names if not path.exists())
    # before the log, without which the store would lack writes
    kept.hardlink_to(store)
    for suffix in (_WAL, _SHM):
        beside = store.with_name(store.name + suffix)
        if beside.exists():
            beside.replace(kept.with_name(kept.name + suffix))
    return kept

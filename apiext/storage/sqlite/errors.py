"""Errors of the store's file. Each message is one line for the administrator."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from apiext.storage.backend import BackendError, UnavailableError

if TYPE_CHECKING:
    from pathlib import Path


class StoreLockedError(BackendError):
    """Another process uses the file."""


class StoreFileError(BackendError):
    """The file is not a store, is a store of another version, is damaged, or cannot be opened."""


class StoreLostError(UnavailableError):
    """The file or its write-ahead log was deleted or replaced while it was open. No later write could survive a restart."""


def unusable(path: Path, error: sqlite3.Error | OSError) -> StoreFileError:
    """Return the exception to raise for an error while a store is opened."""
    if isinstance(error, OSError):
        return StoreFileError(f"{path} cannot be opened: {error.strerror}")
    is_damaged = getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    remedy = "; restore a backup (apiext restore)" if is_damaged else ""
    return StoreFileError(f"{path} cannot be used: {error}{remedy}")


def translate(error: sqlite3.Error | UnicodeError) -> BackendError:
    """Return the exception to raise for an error of SQLite, or for a key that is not valid Unicode."""
    if isinstance(error, UnicodeError):
        return BackendError(f"the key cannot be stored: {error}")
    return UnavailableError(f"the store's file: {error}")


def may_be_stored(error: BackendError) -> BackendError:
    """Return an error of a commit, which says that the outcome of the write is unknown: the file may have it, now or after a restart."""
    told = type(error)(f"{error}; the outcome of the write is unknown: it may be stored")
    told.__cause__ = error.__cause__
    return told


def not_stored(error: BackendError) -> BackendError:
    """Return an error of the file, for a write that was not begun."""
    return type(error)(f"{error}; nothing was written")

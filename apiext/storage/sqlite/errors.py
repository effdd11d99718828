"""Errors of the store's file. Each message is one line for the administrator."""

from __future__ import annotations

import sqlite3

from apiext.storage.backend import BackendError, UnavailableError


class StoreLockedError(BackendError):
    """Another process uses the file."""


class StoreFileError(BackendError):
    """The file is not a store, is a store of another version, is damaged, or cannot be opened."""


class StoreLostError(UnavailableError):
    """The file or its write-ahead log was deleted or replaced while it was open. No later write could survive a restart."""


def translate(error: sqlite3.Error | UnicodeError) -> BackendError:
    """Return the exception to raise for an error of SQLite, or for a key that is not valid Unicode."""
    if isinstance(error, UnicodeError):
        return BackendError(f"the key cannot be stored: {error}")
    return UnavailableError(f"the store's file: {error}")

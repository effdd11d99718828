"""Why a store's file cannot be used. The messages are one line each, for whoever started the server."""

from __future__ import annotations

import sqlite3

from apiext.storage.backend import BackendError, UnavailableError


class StoreLockedError(BackendError):
    """Another process uses the file."""


class StoreFileError(BackendError):
    """The file is not a store, is a store of another version, is damaged, or cannot be opened."""


def translate(error: sqlite3.Error | UnicodeError) -> BackendError:
    """What to raise instead of SQLite's error, or of that of a key which is not valid Unicode."""
    if isinstance(error, UnicodeError):
        return BackendError(f"the key cannot be stored: {error}")
    return UnavailableError(f"the store's file: {error}")

"""One process at a time: an advisory lock on a file beside the store."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from apiext.storage.sqlite.errors import StoreFileError, StoreLockedError


class FileLock:
    """Holds `<store>.lock` from construction to `release`; the kernel lets go of it when the process ends in any way.

    The lock file holds the process id of its last owner, for the message only, and is never removed: removing it would
    let two processes lock two different files of the same name.
    """

    def __init__(self, store: Path) -> None:
        """Take the lock.

        Raises:
            StoreLockedError: another process holds it.
            StoreFileError: the lock file cannot be opened.
        """
        path = store.with_name(store.name + ".lock")
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreFileError(f"{store} cannot be opened: {path.name}: {error.strerror}") from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.read(self._descriptor, 20).decode("ascii", "replace").strip()
            os.close(self._descriptor)
            suffix = f" (process {owner})" if owner else ""
            raise StoreLockedError(f"{store} is in use by another process{suffix}") from error
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, b"%d\n" % os.getpid(), 0)

    def release(self) -> None:
        """Let go; safe to call twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

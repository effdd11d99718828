"""A lock between the worker processes of a server, for the log that they share."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


class ProcessLock:
    """A lock on a file without a name that the processes inherit. The end of its holder frees it."""

    def __init__(self, descriptor: int) -> None:
        """Create the lock in a worker. `descriptor` is the one that all workers inherited."""
        # locks belong to an open file, and all workers would share the inherited one
        self.descriptor = os.open(f"/proc/self/fd/{descriptor}", os.O_RDWR | os.O_CLOEXEC)

    @contextmanager
    def held(self) -> Generator[None]:
        """Wait for the lock and hold it while the block runs."""
        fcntl.flock(self.descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self.descriptor, fcntl.LOCK_UN)

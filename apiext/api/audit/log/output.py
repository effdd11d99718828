"""Where the lines of the log go: whole lines to a descriptor, also after a write that has failed midway."""

from __future__ import annotations

import fcntl
import os
import select
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Generator

_NEWLINE: Final = 10


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


class PartialWriteError(OSError):
    """Not all lines could be written."""

    def __init__(self, cause: OSError, written: int) -> None:
        """Create the error from that of the system, and the number of bytes that were written."""
        super().__init__(*cause.args)
        self.written = written


class LogOutput(Protocol):
    """Where lines are written to; used by one thread at a time."""

    max_line: int
    """Bytes above which a line cannot be written; 0 without a limit."""
    is_quick: bool
    """Whether small writes usually take microseconds, so that the event loop may do them."""

    def write(self, data: bytes) -> None:
        """Write whole lines.

        Raises:
            PartialWriteError: only some bytes could be written, or none.
        """
        ...

    def close(self) -> None:
        """Release the output."""
        ...


class LineAppender:
    """Appends lines to descriptors. After a line of which a part was written, the next one begins on a line of its own."""

    def __init__(self) -> None:
        self.written = 0
        """Bytes of lines that were written; the caller resets it."""
        self.size = 0
        """Bytes of the output, if the caller knows how many it had."""
        self.torn = False
        """Whether the output ends within a line."""

    def append(self, descriptor: int, data: bytes | memoryview) -> None:
        """Append lines.

        Raises:
            OSError: the output takes no more; `written` counts what it took.
        """
        if self.torn and data:
            self.size += _write(descriptor, b"\n")
            self.torn = False
        view = memoryview(data)
        while view:
            # a disk that becomes full takes a part
            taken = _write(descriptor, view)
            self.torn = taken > 0 and view[taken - 1] != _NEWLINE
            self.written += taken
            self.size += taken
            view = view[taken:]

    def follow(self, descriptor: int, size: int) -> None:
        """Go on with a file of so many bytes; it can be read unless it has none."""
        self.size = size
        self.torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"


def _write(descriptor: int, data: bytes | memoryview) -> int:
    """Write data or a part of it, and return how many bytes that were. Wait for room in a full pipe."""
    while True:
        try:
            return os.write(descriptor, data)
        except BlockingIOError:
            # another process that has the pipe does not want to wait for it
            room = select.poll()
            room.register(descriptor, select.POLLOUT)
            room.poll()


class StandardOutput:
    """The standard output of the process."""

    max_line = 0
    is_quick = False

    def __init__(self, descriptor: int = 1, *, lock: ProcessLock | None = None) -> None:
        """Write to a descriptor. `lock` keeps the lines of several processes apart."""
        self._descriptor = descriptor
        self._lock = lock
        self._appender = LineAppender()

    def write(self, data: bytes) -> None:
        """Write lines.

        Raises:
            PartialWriteError: it is closed, or takes no more.
        """
        self._appender.written = 0
        with self._lock.held() if self._lock is not None else nullcontext():
            try:
                self._appender.append(self._descriptor, data)
            except OSError as error:
                raise PartialWriteError(error, self._appender.written) from error

    def close(self) -> None:
        """Leave it open."""

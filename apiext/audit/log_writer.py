"""The thread that writes events to a file or to standard output (apiserver plugin/pkg/audit/log)."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from apiext.audit.event import AuditEvent
    from apiext.audit.statistics import AuditStats

_Wait = tuple[asyncio.Future[bool], bool]
"""A future with the outcome of the events before it, and whether it reports a failure."""
PLUGIN: Final = "log"
_LINGER: Final = 0.02
"""Seconds in which the thread collects events for one write while no request waits."""
_MOST_AT_ONCE: Final = 128
_MOST_BYTES: Final = 1024 * 1024
"""Lines of one write: the event loop waits while they are encoded."""
_CLOSE_SECONDS: Final = 30.0
"""Time to write the remaining events."""


class LogOutput(Protocol):
    """Where lines are written to; used by one thread."""

    max_line: int
    """Bytes above which a line cannot be written; 0 without a limit."""

    def write(self, lines: Iterable[bytes]) -> None:
        """Write lines. Raises OSError."""
        ...

    def close(self) -> None:
        """Release the output."""
        ...


class StandardOutput:
    """The standard output of the process."""

    max_line = 0

    def __init__(self, descriptor: int = 1) -> None:
        self._descriptor = descriptor

    def write(self, lines: Iterable[bytes]) -> None:
        """Write lines.

        Raises:
            OSError: it is closed.
        """
        view = memoryview(b"".join(lines))
        while view:
            view = view[os.write(self._descriptor, view) :]

    def close(self) -> None:
        """Leave it open."""


class LogWriter:
    """Writes events in their order, in a thread."""

    def __init__(self, output: LogOutput, stats: AuditStats, *, legacy: bool = False) -> None:
        self._output = output
        self._stats = stats
        self._legacy = legacy
        self._queue: deque[AuditEvent | _Wait] = deque()
        self._work, self._urgent = threading.Event(), threading.Event()
        self._waking = False
        """Whether the event loop is about to wake the thread."""
        self._closing = False
        self._whole = True
        """Whether all events since the last wait have lines; used by the thread."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="audit-log", daemon=True)
        self._thread.start()

    @property
    def backlog(self) -> int:
        """Return about how many events are not written."""
        return len(self._queue)

    def put(self, events: Sequence[AuditEvent]) -> None:
        """Write events soon."""
        if self._closing:
            self._refuse(events)
            return
        # set after the queue has grown: the thread clears it before it empties the queue
        self._queue.extend(events)
        if not self._work.is_set():
            self._work.set()

    def put_and_wait(self, events: Sequence[AuditEvent], *, urgent: bool = True, strict: bool = True) -> asyncio.Future[bool]:
        """Write events, in this turn of the event loop if that is `urgent`.

        The result is False if `strict` events could not be written, or others of the same write to the output.
        """
        future = self._loop.create_future()
        if self._closing:
            self._refuse(events)
            future.set_result(not strict)
            return future
        self._queue.extend(events)
        self._queue.append((future, strict))
        if not urgent:
            self._work.set()
        elif not self._waking:
            # once for all requests of this turn: writes of a group end together
            self._waking = True
            self._loop.call_soon(self._wake)
        return future

    def _wake(self) -> None:
        self._waking = False
        self._work.set()
        self._urgent.set()

    def _refuse(self, events: Sequence[AuditEvent]) -> None:
        self._stats.lose(PLUGIN, len(events), "the log is closed")

    async def close(self) -> None:
        """Write the remaining events, and close the output."""
        self._closing = True
        self._work.set()
        self._urgent.set()
        await asyncio.to_thread(self._thread.join, _CLOSE_SECONDS)
        if self._thread.is_alive():
            self._stats.lose(PLUGIN, len(self._queue), "the output takes no more events")

    # --- in the thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            self._work.wait()
            if not self._closing:
                self._urgent.wait(_LINGER)
            # before the queue and `_closing` are read: later events, and the end, set them again
            self._work.clear()
            self._urgent.clear()
            closing = self._closing
            while self._queue:
                self._write_some()
            if closing:
                self._output.close()
                return

    def _write_some(self) -> None:
        """Write the next lines, and end the waits for them."""
        queue, lines, waits = self._queue, list[bytes](), list[tuple[asyncio.Future[bool], bool, bool]]()
        size = 0
        while queue and (isinstance(queue[0], tuple) or (len(lines) < _MOST_AT_ONCE and size < _MOST_BYTES)):
            entry = queue.popleft()
            if isinstance(entry, tuple):
                waits.append((*entry, self._whole))
                self._whole = True
            elif (line := self._line(entry)) is not None:
                lines.append(line)
                size += len(line)
            else:
                self._whole = False
        written = self._write(lines)
        if waits:
            self._loop.call_soon_threadsafe(_resolve, waits, written)
        elif not written:
            self._whole = False

    def _line(self, event: AuditEvent) -> bytes | None:
        """Return the line of an event. Count one that cannot be encoded or written, and return None."""
        try:
            line = event.text() if self._legacy else event.line()
            longest = self._output.max_line
            if longest and len(line) > longest:
                raise ValueError(f"write length {len(line)} exceeds maximum file size {longest}")
        except Exception as error:  # noqa: BLE001 -- the thread must survive a defect
            self._stats.lose(PLUGIN, 1, str(error))
            return None
        return line

    def _write(self, lines: Sequence[bytes]) -> bool:
        """Write lines, and return whether that succeeded. Count those that are lost."""
        if not lines:
            return True
        try:
            self._output.write(lines)
        except Exception as error:  # noqa: BLE001 -- the thread must survive a defect
            self._stats.lose(PLUGIN, len(lines), str(error))
            return False
        return True


def _resolve(waits: Sequence[tuple[asyncio.Future[bool], bool, bool]], written: bool) -> None:  # noqa: FBT001
    for future, strict, whole in waits:
        if not future.done():
            future.set_result((written and whole) or not strict)

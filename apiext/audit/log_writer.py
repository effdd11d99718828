"""The thread that writes lines to a file or to standard output (apiserver plugin/pkg/audit/log).

The event loop makes the lines and joins them to batches, so that the thread only calls the system: a thread that touches the objects of
requests costs the event loop more than making the lines.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from contextlib import nullcontext
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from apiext.audit.event import AuditEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from apiext.audit.process_lock import ProcessLock
    from apiext.audit.statistics import AuditStats

_Wait = tuple[asyncio.Future[bool], bool]
"""A future with the outcome of a batch, and its result if the batch cannot be written."""
PLUGIN: Final = "log"
_LINGER: Final = 0.05
"""Seconds in which lines are collected for one write while no request waits."""
_MOST_AT_ONCE: Final = 2048
_MOST_BYTES: Final = 1024 * 1024
"""Lines of one write. A line with a large object is written by itself."""
_BACKLOG: Final = 10_000
_BACKLOG_BYTES: Final = 16 * 1024 * 1024
"""Unwritten lines, and bytes of them, above which the thread is far behind."""
_CLOSE_SECONDS: Final = 30.0
"""Time to write the remaining events."""


class LogOutput(Protocol):
    """Where lines are written to; used by one thread."""

    max_line: int
    """Bytes above which a line cannot be written; 0 without a limit."""

    def write(self, data: bytes) -> None:
        """Write whole lines. Raises OSError."""
        ...

    def close(self) -> None:
        """Release the output."""
        ...


class StandardOutput:
    """The standard output of the process."""

    max_line = 0

    def __init__(self, descriptor: int = 1, *, lock: ProcessLock | None = None) -> None:
        """Write to a descriptor. `lock` keeps the lines of several processes apart."""
        self._descriptor = descriptor
        self._lock = lock

    def write(self, data: bytes) -> None:
        """Write lines.

        Raises:
            OSError: it is closed.
        """
        with self._lock.held() if self._lock is not None else nullcontext():
            view = memoryview(data)
            while view:
                view = view[os.write(self._descriptor, view) :]

    def close(self) -> None:
        """Leave it open."""


class _Batch(NamedTuple):
    """Lines that are written at once."""

    pieces: Sequence[bytes]
    """The lines; those of several pieces are one large line, which the thread joins."""
    lines: int
    size: int
    waits: Sequence[_Wait]


class LogWriter:
    """Writes events in their order, in a thread."""

    def __init__(self, output: LogOutput, stats: AuditStats, *, legacy: bool = False) -> None:
        self._output = output
        self._stats = stats
        self._pieces: Callable[[AuditEvent], Sequence[bytes]] = _texts if legacy else AuditEvent.pieces
        self._longest = output.max_line or sys.maxsize
        self._lines: list[bytes] = []
        self._size = 0
        self._waits: list[_Wait] = []
        """Those for the lines, and for large lines before them."""
        self._lingering = self._urgent = False
        """Whether the lines are passed on soon, or in this turn of the event loop."""
        self._closing = False
        self._queued = self._done = 0
        """Lines that the thread got, and those that it has written or lost."""
        self._queued_bytes = self._done_bytes = 0
        self._batches: SimpleQueue[_Batch | None] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="audit-log", daemon=True)
        self._thread.start()

    def put(self, events: Sequence[AuditEvent]) -> bool:
        """Write events soon. Return whether the thread is far behind."""
        self._add(events)
        if len(self._lines) >= _MOST_AT_ONCE or self._size >= _MOST_BYTES:
            self._pass_on()
        elif not self._lingering:
            self._lingering = True
            self._loop.call_later(_LINGER, self._end_linger)
        return self._queued - self._done > _BACKLOG or self._queued_bytes - self._done_bytes > _BACKLOG_BYTES

    def put_and_wait(self, events: Sequence[AuditEvent], *, urgent: bool = True, strict: bool = True) -> asyncio.Future[bool]:
        """Write events, in this turn of the event loop if that is `urgent`.

        The result is False if `strict` events could not be written, or others of the same write to the output.
        """
        future = self._loop.create_future()
        whole = self._add(events)
        if self._closing:
            future.set_result(not strict)
            return future
        if not whole and strict:
            # the other lines
            self.put(())
            future.set_result(False)
            return future
        self._waits.append((future, not strict))
        if not urgent:
            self.put(())
        elif not self._urgent:
            # once for all requests of this turn: writes of a group end together
            self._urgent = True
            self._loop.call_soon(self._end_turn)
        return future

    def _add(self, events: Sequence[AuditEvent]) -> bool:
        """Add the lines of events. Return whether all of them have one; count the others."""
        if self._closing:
            self._stats.lose(PLUGIN, len(events), "the log is closed")
            return False
        whole = True
        for event in events:
            try:
                pieces = self._pieces(event)
                size = len(pieces[0]) if len(pieces) == 1 else sum(map(len, pieces))
                if size > self._longest:
                    raise ValueError(f"write length {size} exceeds maximum file size {self._longest}")
            except Exception as error:  # noqa: BLE001 -- an event is lost, whatever the defect, and not the request
                self._stats.lose(PLUGIN, 1, str(error))
                whole = False
                continue
            if len(pieces) == 1:
                self._lines.append(pieces[0])
                self._size += size
            elif size < _MOST_BYTES:
                self._lines.append(b"".join(pieces))
                self._size += size
            else:
                self._pass_on()
                self._enqueue(_Batch(pieces, 1, size, ()))
        return whole

    def _end_linger(self) -> None:
        self._lingering = False
        self._pass_on()

    def _end_turn(self) -> None:
        self._urgent = False
        self._pass_on()

    def _pass_on(self) -> None:
        """Give the lines and the waits to the thread."""
        lines, waits = self._lines, self._waits
        if lines or waits:
            self._enqueue(_Batch((b"".join(lines),), len(lines), self._size, waits))
            self._lines, self._waits, self._size = [], [], 0

    def _enqueue(self, batch: _Batch) -> None:
        self._queued += batch.lines
        self._queued_bytes += batch.size
        self._batches.put(batch)

    async def close(self) -> None:
        """Write the remaining events, and close the output."""
        self._pass_on()
        self._closing = True
        self._batches.put(None)
        await asyncio.to_thread(self._thread.join, _CLOSE_SECONDS)
        if self._thread.is_alive():
            self._stats.lose(PLUGIN, self._queued - self._done, "the output takes no more events")

    # --- in the thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while (batch := self._batches.get()) is not None:
            pieces, lines, size, waits = batch
            written = self._write(pieces, lines)
            self._done += lines
            self._done_bytes += size
            if waits:
                self._loop.call_soon_threadsafe(_resolve, waits, written)
        self._output.close()

    def _write(self, pieces: Sequence[bytes], lines: int) -> bool:
        """Write lines, and return whether that succeeded. Count those that are lost."""
        if not lines:
            return True
        try:
            self._output.write(pieces[0] if len(pieces) == 1 else b"".join(pieces))
        except Exception as error:  # noqa: BLE001 -- the thread must survive a defect
            self._stats.lose(PLUGIN, lines, str(error))
            return False
        return True


def _texts(event: AuditEvent) -> Sequence[bytes]:
    return (event.text(),)


def _resolve(waits: Sequence[_Wait], written: bool) -> None:  # noqa: FBT001
    for future, otherwise in waits:
        if not future.done():
            future.set_result(written or otherwise)

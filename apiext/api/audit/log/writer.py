"""The thread that writes lines to a file or to standard output (apiserver plugin/pkg/audit/log).

The event loop makes the lines and joins them to batches, so that the thread only calls the system: a thread that touches the objects of
requests costs the event loop more than making the lines.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, NamedTuple

from apiext.api.audit.event import AuditEvent, arrival
from apiext.api.audit.levels import AuditStage
from apiext.api.audit.log.lines import arrival_line, ended, is_recent, last_lines
from apiext.api.audit.log.output import PartialWriteError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from apiext.api.audit.backend import AuditStats
    from apiext.api.audit.event import RequestFacts
    from apiext.api.audit.log.lines import Ended
    from apiext.api.audit.log.output import LogOutput

_Wait = tuple[asyncio.Future[bool], bool]
"""A future with the outcome of a batch, and its result if the batch cannot be written."""
PLUGIN: Final = "log"
_COMPLETE: Final = AuditStage.RESPONSE_COMPLETE
LINGER_SECONDS: Final = 0.05
"""Seconds in which lines are collected for one write while no request waits."""
_MOST_AT_ONCE: Final = 2048
_MOST_BYTES: Final = 1024 * 1024
"""Lines of one write. A line with a large object is written by itself."""
BACKLOG: Final = 10_000
BACKLOG_BYTES: Final = 16 * 1024 * 1024
"""Unwritten lines, and bytes of them, above which the thread is far behind."""
_MOST_ENDED: Final = 64
"""Requests whose lines are made at once. With more, their text would be in memory that the C library gets from the system each time."""
_LONG: Final = 4096
"""Characters of a URI and a user of a request whose lines are made when it ends."""
_CLOSE_SECONDS: Final = 30.0
"""Time to write the remaining events."""

_QUICK_BYTES: Final = 64 * 1024
"""Lines that the event loop writes to a file: some 20 µs, less than a change to the thread and back."""
SLOW_WRITE_SECONDS: Final = 0.005
"""Seconds from which a write on the event loop is slow. A busy machine makes single ones slow, a slow disk all of them."""
SLOW_SHARE: Final = 0.01
"""The part of the time that slow writes may take, with those of the last seconds; the thread does the others."""
SLOW_WINDOW_SECONDS: Final = 2.0
"""The last seconds: what slow writes took before them does not count."""
_SLOW_PAUSE: Final = 30.0
"""The most seconds in which the thread does all writes."""


class QuickWrites:
    """Measures the writes of the event loop, and stops them for a while when they are slow."""

    def __init__(self) -> None:
        self._allowed_from = 0.0
        """The event loop's time from which it may write."""

    def allows(self, size: int, now: float) -> bool:
        """Return whether the event loop may write so many bytes at its time `now`."""
        return size <= _QUICK_BYTES and now >= self._allowed_from

    def note(self, begun: float, ended: float) -> None:
        """Take the times of a write, in seconds of the event loop."""
        if ended - begun > SLOW_WRITE_SECONDS:
            due = max(self._allowed_from, ended - SLOW_WINDOW_SECONDS) + (ended - begun) / SLOW_SHARE
            self._allowed_from = min(due, ended + _SLOW_PAUSE)


class _Batch(NamedTuple):
    """Lines that are written at once."""

    pieces: Sequence[bytes]
    """The lines; those of several pieces are one large line, which the thread joins."""
    lines: int
    size: int
    waits: Sequence[_Wait]


class LogWriter:
    """Writes events in their order, in a thread."""

    def __init__(self, output: LogOutput, stats: AuditStats, *, legacy: bool = False, most: int = 2 * _MOST_AT_ONCE) -> None:
        """Start the thread. Events are written at once if half of `most` have come, at the latest if there are 2,048."""
        self._output = output
        self._stats = stats
        self.legacy = legacy
        """Whether lines have the format `legacy`."""
        self._pieces: Callable[[AuditEvent], Sequence[bytes]] = (lambda event: (event.text(),)) if legacy else AuditEvent.pieces
        self._longest = output.max_line or sys.maxsize
        self._quick = QuickWrites() if output.is_quick else None
        self._most = min(most // 2 + 1, _MOST_AT_ONCE)
        self._running: dict[RequestFacts, None] = {}
        """Requests in their order whose first event becomes a line when they end, or when it has lingered."""
        self._ended: list[Ended] = []
        """Requests whose lines are made together: a loop over many costs less than a call at the end of each."""
        self.attach_reads: Callable[[int], bool] = lambda _now: False
        """Lets reads be received that run and did not begin just before a time; returns whether others run (UsualReads)."""
        self._unmade = 0
        """Events that are no lines yet: of these requests, and arrivals of others."""
        self._lines: list[bytes] = []
        """One or more lines each."""
        self._count = self._size = 0
        """Lines, and bytes of them."""
        self._waits: list[_Wait] = []
        self.lingering = self._urgent = False
        """Whether the lines are written soon, or in this turn of the event loop."""
        self.closing = False
        """Whether no more events are taken."""
        self._queued = self._done = 0
        """Lines that the thread got, and those that it has written or lost."""
        self._queued_bytes = self._done_bytes = 0
        self._batches: SimpleQueue[_Batch | None] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="audit-log", daemon=True)
        self._thread.start()

    @property
    def unwritten(self) -> int:
        """Return the number of events that are neither written nor lost."""
        return self._queued - self._done + self._count + self._unmade

    @property
    def is_behind(self) -> bool:
        """Return whether the thread is far behind."""
        return self._queued - self._done > BACKLOG or self._queued_bytes - self._done_bytes > BACKLOG_BYTES

    def receive(self, context: RequestFacts) -> None:
        """Write the event of a request's arrival when the request ends, at the latest soon."""
        if self.legacy or context.annotations or self.closing:
            self.put((arrival(context),))
            return
        context.lines = 2
        self._running[context] = None
        self._unmade += 1
        if not self.lingering or self._unmade + self._count >= self._most:
            self._pass_on_soon()

    def complete(self, context: RequestFacts, moment: int) -> bool:
        """Write the event of a request that has ended soon. Return whether the thread is far behind.

        The request had no objects of its own, and no impersonation.
        """
        if self.legacy or self.closing:
            self.put((AuditEvent(context, _COMPLETE, moment),))
            return self.is_behind
        try:
            found = ended(context, moment)
        except Exception:  # noqa: BLE001 -- the event tells its defect
            self.put((AuditEvent(context, _COMPLETE, moment),))
            return self.is_behind
        return self._end(context, found)

    def _end(self, context: RequestFacts, found: Ended) -> bool:
        if context.lines > 1:
            del self._running[context]
        return self.add(found, 1)

    def add(self, found: Ended, lines: int) -> bool:
        """Write the lines of a request that has ended soon; so many are not counted yet. Return whether the thread is far behind."""
        if self.closing:
            self._stats.lose(PLUGIN, lines, "the log is closed")
            return False
        self._unmade += lines
        requests = self._ended
        requests.append(found)
        if len(requests) >= _MOST_ENDED or len(found[2]) + len(found[3]) > _LONG:
            self._make()
            self._pass_on_soon()
        elif not self.lingering or self._unmade + self._count >= self._most:
            self._pass_on_soon()
        return self._queued != self._done and self.is_behind

    def linger(self) -> None:
        """Write what is collected, and the arrivals of requests that run, soon."""
        if not self.lingering:
            self.lingering = True
            self._loop.call_later(LINGER_SECONDS, self._end_linger)

    def _make(self) -> None:
        """Make the lines of the requests that have ended."""
        requests, self._ended = self._ended, []
        if not requests:
            return
        lines = sum([found[-1] for found in requests])
        self._unmade -= lines
        try:
            data = last_lines(requests).encode()
        except Exception:  # noqa: BLE001 -- one of them
            data = b""
        if data and len(data) <= self._longest:
            self._take(data, lines)
        else:
            for found in requests:
                self._make_one(found)

    def _make_one(self, found: Ended) -> None:
        """Make the lines of a request that has ended. Lose those that cannot be made, or are too long."""
        try:
            lines = last_lines((found,)).encode().splitlines(keepends=True)
        except Exception as error:  # noqa: BLE001 -- an event is lost, whatever the defect, and not the request
            self._stats.lose(PLUGIN, found[-1], str(error))
            return
        for line in lines:
            if self._fits(len(line)):
                self._take(line, 1)

    def _fits(self, size: int) -> bool:
        """Return whether the output takes a line of so many bytes; if not, it is lost."""
        if size <= self._longest:
            return True
        self._stats.lose(PLUGIN, 1, f"write length {size} exceeds maximum file size {self._longest}")
        return False

    def _take(self, data: bytes, lines: int) -> None:
        self._lines.append(data)
        self._count += lines
        self._size += len(data)

    def put(self, events: Sequence[AuditEvent]) -> None:
        """Write events soon."""
        self._add(events)
        self._pass_on_soon()

    def _pass_on_soon(self) -> None:
        if self._count + self._unmade >= self._most or self._size >= _MOST_BYTES:
            # arrivals fill a buffer, too
            self._pass_all_on()
        else:
            self.linger()

    def write(self, events: Sequence[AuditEvent], *, strict: bool = True) -> asyncio.Future[bool] | None:
        """Write events before their request goes on: here if the output is quick, else as `put_and_wait`."""
        whole = self._add(events)
        if self._waits or not self._writes_here():
            return self._wait(whole=whole, urgent=True, strict=strict)
        written = self._write_lines()
        if (written and whole) or not strict:
            return None
        refused = self._loop.create_future()
        refused.set_result(False)
        return refused

    def write_last(self, context: RequestFacts, moment: int) -> asyncio.Future[bool]:
        """Write the last event of a request before it goes on; see `complete`. Requests that end in the same turn share a write.

        Making and writing the lines of several takes little longer than those of one: between other work, both run slowly.
        """
        self.complete(context, moment)
        return self._wait(whole=True, urgent=True, strict=False)

    def _write_lines(self) -> bool:
        """Write the lines here, and return whether that succeeded."""
        lines, count = b"".join(self._lines), self._count
        self._lines, self._count, self._size = [], 0, 0
        begun = self._loop.time()
        written = self._write((lines,), count)
        if self._quick is not None:
            self._quick.note(begun, self._loop.time())
        return written

    def _writes_here(self) -> bool:
        """Return whether the event loop may write the lines: to a quick file, while the thread has nothing to do."""
        return (
            self._quick is not None
            and self._queued == self._done
            and not self.closing
            and self._quick.allows(self._size, self._loop.time())
        )

    def put_and_wait(self, events: Sequence[AuditEvent], *, urgent: bool = True, strict: bool = True) -> asyncio.Future[bool]:
        """Write events later, after this turn of the event loop if that is `urgent`.

        The result is False if `strict` events could not be written, or others of the same write to the output.
        """
        return self._wait(whole=self._add(events), urgent=urgent, strict=strict)

    def _wait(self, *, whole: bool, urgent: bool, strict: bool) -> asyncio.Future[bool]:
        """Return a wait for the lines; they are the `whole` of what was asked."""
        future = self._loop.create_future()
        if self.closing:
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
        if self.closing:
            self._stats.lose(PLUGIN, len(events), "the log is closed")
            return False
        whole = True
        self._make()
        for event in events:
            if event.context.lines > 1:
                self._add_arrival(event.context)
            try:
                pieces = self._pieces(event)
                size = len(pieces[0]) if len(pieces) == 1 else sum(map(len, pieces))
            except Exception as error:  # noqa: BLE001 -- as in `_make_one`
                self._stats.lose(PLUGIN, 1, str(error))
                whole = False
                continue
            if not self._fits(size):
                whole = False
            elif size < _MOST_BYTES:
                self._take(pieces[0] if len(pieces) == 1 else b"".join(pieces), 1)
            else:
                self._pass_on()
                self._enqueue(_Batch(pieces, 1, size, ()))
        return whole

    def _add_arrival(self, context: RequestFacts) -> None:
        """Add the line of the arrival of a request."""
        del self._running[context]
        context.lines = 1
        self._unmade -= 1
        try:
            line = arrival_line(context)
        except Exception as error:  # noqa: BLE001 -- as in `_make_one`
            self._stats.lose(PLUGIN, 1, str(error))
            return
        if self._fits(len(line)):
            self._take(line, 1)

    def _end_linger(self) -> None:
        self.lingering = False
        now = time.time_ns()
        reads = self.attach_reads(now)
        self._pass_all_on(now)
        if reads or self._running:
            self.linger()

    def _pass_all_on(self, now: int = sys.maxsize) -> None:
        """Give the lines to the thread, with those of requests that have not ended, and did not arrive just before `now`."""
        self._make()
        for context in [context for context in self._running if not is_recent(context.received, now)]:
            self._add_arrival(context)
        self._pass_on()

    def _end_turn(self) -> None:
        """Write the lines here if the output is quick, else let the thread do it."""
        self._urgent = False
        self._make()
        if not self._writes_here():
            self._pass_on()
            return
        waits, self._waits = self._waits, []
        _resolve(waits, self._write_lines())

    def _pass_on(self) -> None:
        """Give the lines and the waits to the thread."""
        lines, waits = self._lines, self._waits
        if lines or waits:
            self._enqueue(_Batch((b"".join(lines),), self._count, self._size, waits))
            self._lines, self._waits, self._count, self._size = [], [], 0, 0

    def _enqueue(self, batch: _Batch) -> None:
        self._queued += batch.lines
        self._queued_bytes += batch.size
        self._batches.put(batch)

    async def close(self) -> None:
        """Write the remaining events, and close the output."""
        self.attach_reads(sys.maxsize)
        self._pass_all_on()
        self.closing = True
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
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        try:
            self._output.write(data)
        except PartialWriteError as error:
            self._stats.lose(PLUGIN, lines - data.count(b"\n", 0, error.written), str(error))
        except Exception as error:  # noqa: BLE001 -- the thread must survive a defect
            self._stats.lose(PLUGIN, lines, str(error))
        else:
            return True
        return False


def _resolve(waits: Sequence[_Wait], written: bool) -> None:  # noqa: FBT001
    for future, otherwise in waits:
        if not future.done():
            future.set_result(written or otherwise)

"""The log in its modes: whether requests wait until their events are written.

In the reference, the goroutine of a request writes its events itself in the blocking modes. Here the answer to a write waits until all its
events are written. A read waits only while the writer is far behind, or if its event has a large object: other events are written a few
milliseconds later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.api.audit import backend as buffered_backend
from apiext.api.audit.event import AuditEvent, arrival
from apiext.api.audit.levels import AuditMode, AuditStage
from apiext.base.meta.request import READ_ONLY_VERBS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from apiext.api.audit.backend import AuditBackend, AuditStats, BatchOptions
    from apiext.api.audit.event import RequestFacts
    from apiext.api.audit.log.writer import LogWriter

_RECEIVED: Final = AuditStage.REQUEST_RECEIVED
_COMPLETE: Final = AuditStage.RESPONSE_COMPLETE
_STARTED: Final = AuditStage.RESPONSE_STARTED
_LARGE: Final = 64 * 1024
"""Bytes of an object above which its request waits: the backlog must not keep many of them."""


class BlockingLog:
    """Writes events to the log. In mode blocking-strict a request whose first event cannot be written must fail."""

    def __init__(self, writer: LogWriter, mode: AuditMode) -> None:
        self._writer = writer
        self._strict = mode is AuditMode.BLOCKING_STRICT
        self.takes_reads = not self._strict and not writer.legacy
        """Whether reads may give their lines to the writer themselves."""
        self.receive: Callable[[RequestFacts], Awaitable[bool] | None] = self._receive if self._strict else writer.receive
        """Writes the event of a request's arrival. Returns an awaitable if the request must wait."""

    def _receive(self, context: RequestFacts) -> Awaitable[bool] | None:
        return self._writer.write((arrival(context),))

    def complete(self, context: RequestFacts, moment: int) -> Awaitable[bool] | None:
        """Write the last event of a request. Return an awaitable if the request must wait."""
        info, writer = context.info, self._writer
        if info is None or info.verb not in READ_ONLY_VERBS:
            return writer.write_last(context, moment)
        return writer.put_and_wait((), strict=False) if writer.complete(context, moment) else None

    def process(self, events: Sequence[AuditEvent]) -> Awaitable[bool] | None:
        """Write events. Return an awaitable if the request must wait."""
        writer = self._writer
        for event in events:
            if event.stage is _RECEIVED:
                if self._strict:
                    return writer.write(events)
            elif event.stage is not _STARTED and _waits(event):
                return writer.write(events, strict=False)
        writer.put(events)
        return writer.put_and_wait((), strict=False) if writer.is_behind else None

    async def close(self) -> None:
        """Write the remaining events."""
        await self._writer.close()


def _waits(event: AuditEvent) -> bool:
    """Return whether the request of a last event waits: a write, or one with a large answer."""
    info, response = event.context.info, event.response_object
    return (info is not None and info.verb not in READ_ONLY_VERBS) or (response is not None and sum(map(len, response)) > _LARGE)


class BufferedLog:
    """Writes events to the log. Requests do not wait: events beyond the buffer are lost."""

    def __init__(self, writer: LogWriter, buffer_size: int, stats: AuditStats) -> None:
        self._writer = writer
        self._buffer_size = buffer_size
        self._stats = stats

    def receive(self, context: RequestFacts) -> None:
        """Write the event of a request's arrival, or lose it."""
        if self._room(1):
            self._writer.receive(context)

    def complete(self, context: RequestFacts, moment: int) -> None:
        """Write the last event of a request, or lose it."""
        if not self._room(1):
            return
        if context.record is None:
            self._writer.complete(context, moment)
        else:
            # the writer keeps no record
            self._writer.put((AuditEvent(context, _COMPLETE, moment),))

    def process(self, events: Sequence[AuditEvent]) -> None:
        """Write events, or lose them."""
        room = self._room(len(events))
        if room:
            self._writer.put(events if room == len(events) else events[:room])

    def _room(self, count: int) -> int:
        """Return how many of the next events have room; count the others."""
        writer = self._writer
        room = 0 if writer.closing else max(0, min(count, self._buffer_size - writer.unwritten))
        if room < count:
            reason = "audit backend shut down" if writer.closing else "audit buffer queue blocked"
            self._stats.lose(buffered_backend.BUFFERED, count - room, reason)
        return room

    async def close(self) -> None:
        """Write the remaining events."""
        await self._writer.close()


def buffered_log(writer: LogWriter, options: BatchOptions, stats: AuditStats) -> AuditBackend:
    """Return the log in mode batch: requests do not wait, and events beyond the buffer are lost."""
    if options.max_size == 1 and not options.throttled:
        # the size of batches has no visible effect
        return BufferedLog(writer, options.buffer_size, stats)

    async def write(events: Sequence[AuditEvent]) -> bool:
        return await writer.put_and_wait(events, urgent=False)

    return buffered_backend.BufferedBackend(write, options, stats, concurrent=False, closed=writer.close)

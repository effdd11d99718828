"""The log in the blocking modes: requests wait for the thread that writes their events.

In the reference, the goroutine of a request writes its events itself. Here the answer to a write waits until all its events are written.
A read waits only while the thread is far behind, or if its event has a large object: other events are written a few milliseconds later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.audit.buffered_backend import BufferedBackend
from apiext.audit.levels import AuditMode, AuditStage
from apiext.meta.request import READ_ONLY

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from apiext.audit.batch_options import BatchOptions
    from apiext.audit.event import AuditEvent
    from apiext.audit.log_writer import LogWriter
    from apiext.audit.statistics import AuditStats

_RECEIVED: Final = AuditStage.REQUEST_RECEIVED
_STARTED: Final = AuditStage.RESPONSE_STARTED
_LARGE: Final = 64 * 1024
"""Bytes of an object above which its request waits: the backlog must not keep many of them."""


class BlockingLog:
    """Writes events to the log. In mode blocking-strict a request whose first event cannot be written must fail."""

    def __init__(self, writer: LogWriter, mode: AuditMode) -> None:
        self._writer = writer
        self._strict = mode is AuditMode.BLOCKING_STRICT

    def process(self, events: Sequence[AuditEvent]) -> Awaitable[bool] | None:
        """Write events. Return an awaitable if the request must wait."""
        writer = self._writer
        for event in events:
            if event.stage is _RECEIVED:
                if self._strict:
                    return writer.put_and_wait(events)
            elif event.stage is not _STARTED and _waits(event):
                return writer.put_and_wait(events, strict=False)
        if writer.put(events):
            return writer.put_and_wait((), strict=False)
        return None

    async def close(self) -> None:
        """Write the remaining events."""
        await self._writer.close()


def _waits(event: AuditEvent) -> bool:
    """Return whether the request of a last event waits: a write, or one with a large answer."""
    info, response = event.context.info, event.response_object
    return (info is not None and info.kind != READ_ONLY) or (response is not None and sum(map(len, response)) > _LARGE)


def buffered_log(writer: LogWriter, options: BatchOptions, stats: AuditStats) -> BufferedBackend:
    """Return the log in mode batch: requests do not wait, and events beyond the buffer are lost."""

    async def write(events: Sequence[AuditEvent]) -> bool:
        return await writer.put_and_wait(events, urgent=False)

    return BufferedBackend(write, options, stats, concurrent=False, closed=writer.close)

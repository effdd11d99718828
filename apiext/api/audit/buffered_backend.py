"""Collects events to batches for a slow output (apiserver plugin/pkg/audit/buffered)."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from apiext.api.audit.batch_options import BatchOptions
    from apiext.api.audit.event import AuditEvent
    from apiext.api.audit.statistics import AuditStats

PLUGIN: Final = "buffered"
_MOST_AT_ONCE: Final = 1000
MOST_SENDING: Final = 100
"""Batches that are sent at the same time; further events wait in the buffer, so that a server that does not answer fills no memory."""
_CLOSE_SECONDS: Final = 30.0
"""Time to send the remaining events at the end."""
_TOO_LATE: Final = "audit backend shut down before the events were sent"


class BufferedBackend:
    """Buffers events, and sends them in batches; several batches at the same time if it is `concurrent`."""

    def __init__(
        self,
        send: Callable[[Sequence[AuditEvent]], Awaitable[bool]],
        options: BatchOptions,
        stats: AuditStats,
        *,
        concurrent: bool,
        closed: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Begin to send. `closed` is called after the last batch."""
        self._send = send
        self._options = options
        self._stats = stats
        self._concurrent = concurrent
        self._closed = closed
        self._queue: deque[AuditEvent] = deque()
        self._full = asyncio.Event()
        """Set if there are enough events for a batch, or no further ones come."""
        self._closing = False
        self._throttle = _TokenBucket(options.qps, options.burst) if options.throttled else None
        # the size of batches that are not throttled and follow each other has no visible effect
        self._most = options.max_size if concurrent or options.throttled else max(options.max_size, _MOST_AT_ONCE)
        self._sending: set[asyncio.Task[bool]] = set()
        self._task = asyncio.create_task(self._run())

    def process(self, events: Sequence[AuditEvent]) -> Awaitable[bool] | None:
        """Buffer events; count those for which there is no room. Requests do not wait."""
        queue, options = self._queue, self._options
        room = 0 if self._closing else max(0, options.buffer_size - len(queue))
        queue.extend(events[:room])
        if len(events) > room:
            reason = "audit backend shut down" if self._closing else "audit buffer queue blocked"
            self._stats.lose(PLUGIN, len(events) - room, reason)
        if len(queue) >= options.max_size:
            self._full.set()
        return None

    async def close(self) -> None:
        """Send the buffered events, in at most 30 seconds; count the rest as lost."""
        self._closing = True
        self._full.set()
        await asyncio.wait({self._task}, timeout=_CLOSE_SECONDS)
        if not self._task.done():
            self._task.cancel()
            self._stats.lose(PLUGIN, len(self._queue), _TOO_LATE)
        for task in self._sending:
            task.cancel()
        await asyncio.gather(self._task, *self._sending, return_exceptions=True)
        if self._closed is not None:
            await self._closed()

    async def _run(self) -> None:
        while True:
            closing = self._closing
            if batch := await self._collect():
                await self._pass_on(batch)
            elif closing:
                break
        if self._sending:
            await asyncio.wait(self._sending)

    async def _collect(self) -> list[AuditEvent]:
        """Return the next batch, empty if no event came in time."""
        queue, options = self._queue, self._options
        if len(queue) < options.max_size and not self._closing:
            self._full.clear()
            timeout = options.max_wait if options.max_size > 1 else None
            try:
                async with asyncio.timeout(timeout):
                    await self._full.wait()
            except TimeoutError:
                pass
        return [queue.popleft() for _ in range(min(len(queue), self._most))]

    async def _pass_on(self, batch: list[AuditEvent]) -> None:
        try:
            if self._throttle is not None:
                await self._throttle.take()
            if len(self._sending) >= MOST_SENDING:
                await asyncio.wait(self._sending, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._stats.lose(PLUGIN, len(batch), _TOO_LATE)
            raise
        if not self._concurrent:
            await self._send(batch)
            return
        task = asyncio.ensure_future(self._send(batch))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)


class _TokenBucket:
    """Allows `qps` batches a second, and up to `burst` at once after a pause (client-go util/flowcontrol)."""

    def __init__(self, qps: float, burst: int) -> None:
        self._qps = qps
        self._burst = burst
        self._tokens = float(burst)
        self._at = time.monotonic()

    async def take(self) -> None:
        """Wait for a token."""
        now = time.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._qps) - 1
        self._at = now
        if self._tokens < 0:
            await asyncio.sleep(-self._tokens / self._qps)

"""Sinks and backends of audit events (apiserver pkg/audit, Sink and Backend).

Batch options: apiserver plugin/pkg/audit/buffered and truncate.

Statistics: apiserver pkg/audit/metrics.go.

Truncating backend: apiserver plugin/pkg/audit/truncate.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from apiext.api.audit.levels import LEVEL_NAMES
from apiext.base.meta.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from apiext.api.audit.event import AuditEvent, RequestFacts


class AuditSink(Protocol):
    """Takes the events of a request."""

    def receive(self, context: RequestFacts) -> Awaitable[bool] | None:
        """Take the event of the request's arrival. Return an awaitable as `process`."""
        ...

    def complete(self, context: RequestFacts, moment: int) -> Awaitable[bool] | None:
        """Take the last event of a request without recorded objects and impersonation. Return an awaitable as `process`."""
        ...

    def process(self, events: Sequence[AuditEvent]) -> Awaitable[bool] | None:
        """Take events. Return an awaitable if the request must wait; its result False makes the request fail."""
        ...


class AuditBackend(Protocol):
    """Takes events until it is closed."""

    def process(self, events: Sequence[AuditEvent]) -> Awaitable[bool] | None:
        """Take events; see AuditSink."""
        ...

    async def close(self) -> None:
        """Store or send the buffered events."""
        ...


@runtime_checkable
class DirectBackend(AuditBackend, Protocol):
    """A backend that makes most events itself: that of an arrival when the request ends, or a little later if it takes long."""

    def receive(self, context: RequestFacts) -> Awaitable[bool] | None:
        """Take the event of a request's arrival; see AuditSink."""
        ...

    def complete(self, context: RequestFacts, moment: int) -> Awaitable[bool] | None:
        """Take the last event of most requests; see AuditSink."""
        ...


class UnionBackend:
    """Several backends."""

    def __init__(self, backends: Sequence[AuditBackend]) -> None:
        self._backends = backends

    def process(self, events: Sequence[AuditEvent]) -> Awaitable[bool] | None:
        """Give the events to all backends."""
        return joined([wait for backend in self._backends if (wait := backend.process(events)) is not None])

    async def close(self) -> None:
        """Close the backends."""
        await asyncio.gather(*(backend.close() for backend in self._backends))


def joined(waits: Sequence[Awaitable[bool]]) -> Awaitable[bool] | None:
    """Return one wait for several, None for none. Its result is True if those of all are."""
    if not waits:
        return None
    return waits[0] if len(waits) == 1 else _all(waits)


async def _all(waits: Sequence[Awaitable[bool]]) -> bool:
    return all(await asyncio.gather(*waits))


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """How events are collected."""

    buffer_size: int = 10_000
    """Events that wait; further ones are lost."""
    max_size: int = 400
    """Events of a batch."""
    max_wait: float = 30.0
    """Seconds after which an incomplete batch is sent, if a batch may have more than one event."""
    throttled: bool = True
    qps: float = 10.0
    """Batches a second, if they are throttled."""
    burst: int = 15
    """Batches that may be sent at once after a pause, if they are throttled."""


@dataclass(frozen=True, slots=True)
class TruncateOptions:
    """Limits in bytes of JSON."""

    max_batch_size: int = 10 * 1024 * 1024
    max_event_size: int = 100 * 1024


_LOG: Final = get_logger(__name__)
_LOG_INTERVAL: Final = 1.0
"""Minimum of seconds between log lines about one plugin."""


class AuditStats:
    """The counters. server/routes/audit_metrics.py renders them."""

    __slots__ = ("_logged", "errors", "events", "levels", "rejected")

    def __init__(self) -> None:
        self.events = 0
        """Events that were given to the backends."""
        self.errors: Counter[str] = Counter()
        """Lost events by the plugin that lost them: log, webhook, buffered, truncate. Those of used outputs begin with 0."""
        self.levels = [0] * len(LEVEL_NAMES)
        """Requests by level."""
        self.rejected = 0
        """Requests that failed because their first event could not be stored."""
        self._logged: dict[str, float] = {}

    def lose(self, plugin: str, events: int, reason: str) -> None:
        """Count lost events, and log the loss unless the last line about the plugin is recent. May run in any thread."""
        self.errors[plugin] += events
        now = time.monotonic()
        if now - self._logged.get(plugin, -_LOG_INTERVAL) >= _LOG_INTERVAL:
            self._logged[plugin] = now
            _LOG.error("audit events lost", plugin=plugin, events=events, lost=self.errors[plugin], error=reason)


_TRUNCATE: Final = "truncate"
_TOO_LARGE: Final = "event is too large even after truncating"


class TruncatingBackend:
    """Removes the objects of requests and responses from events that are too large, and loses events that are too large without them."""

    def __init__(self, backend: AuditBackend, options: TruncateOptions, stats: AuditStats) -> None:
        self._backend = backend
        self._options = options
        self._stats = stats

    def process(self, events: Sequence[AuditEvent]) -> Awaitable[bool] | None:
        """Pass the events on, in batches within the limit."""
        limit = self._options
        waits: list[Awaitable[bool]] = []
        batch: list[AuditEvent] = []
        batch_size, problems = 0, []
        for given in events:
            try:
                event, size = self._truncated(given)
            except Exception as defect:  # noqa: BLE001 -- an event is lost, whatever the defect, and not the request
                problems.append(str(defect) or type(defect).__name__)
                continue
            if batch and batch_size + size > limit.max_batch_size:
                self._pass_on(batch, waits)
                batch, batch_size = [], 0
            batch.append(event)
            batch_size += size
        self._pass_on(batch, waits)
        if problems:
            self._stats.lose(_TRUNCATE, len(problems), problems[0])
        return joined(waits)

    def _truncated(self, event: AuditEvent) -> tuple[AuditEvent, int]:
        """Return an event within the limit, and its size. Raises an error if there is none."""
        size, most = event.size, self._options.max_event_size
        if size > most and event.has_objects:
            event = event.truncated()
            size = event.size
        if size > most:
            raise ValueError(_TOO_LARGE)
        return event, size

    def _pass_on(self, batch: list[AuditEvent], waits: list[Awaitable[bool]]) -> None:
        if batch and (wait := self._backend.process(batch)) is not None:
            waits.append(wait)

    async def close(self) -> None:
        """Close the backend."""
        await self._backend.close()


BUFFERED: Final = "buffered"
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
            self._stats.lose(BUFFERED, len(events) - room, reason)
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
            self._stats.lose(BUFFERED, len(self._queue), _TOO_LATE)
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
            self._stats.lose(BUFFERED, len(batch), _TOO_LATE)
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

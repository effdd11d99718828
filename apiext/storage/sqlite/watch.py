"""Watches: each buffers committed changes up to a limit. After an overflow it reads the log instead."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Final

from apiext.storage.backend import BackendEvent, CompactedError, HistoryLostError, WatchBatch
from apiext.storage.sqlite.errors import translate
from apiext.storage.sqlite.reads import Reads

MAX_BUFFERED_EVENTS: Final = 4096
MAX_BUFFERED_BYTES: Final = 8 << 20
"""Limits of the buffer of one watch. All watches share the values."""
_REPLAYED_REVISIONS: Final = 100
"""Revisions to read from the log before other tasks run."""
PROGRESS_SECONDS: Final = 5.0
"""Seconds between progress batches to watches without events."""


class Subscription:
    """The buffer of one watch: events of a prefix since the last `take`."""

    __slots__ = ("_bytes", "_events", "_progress_requested", "_waiter", "closed", "lagging", "prefix", "reached", "reported")

    def __init__(self, prefix: str, revision: int) -> None:
        self.prefix = prefix
        self.reached = revision
        """All events up to this revision are taken or buffered, or (when lagging) only in the log."""
        self.reported = revision
        """The last revision that the watch has returned."""
        self.lagging = False
        """Whether the buffer overflowed and was dropped: the log has the events."""
        self.closed = False
        self._progress_requested = False
        self._events: list[BackendEvent] = []
        self._bytes = 0
        self._waiter: asyncio.Future[None] | None = None

    def add(self, events: Sequence[BackendEvent], revision: int) -> None:
        """Buffer the events of the prefix."""
        self.reached = revision
        if self.lagging:
            return
        prefix, buffer = self.prefix, self._events
        before = len(buffer)
        for event in events:
            if event.key.startswith(prefix):
                buffer.append(event)
                self._bytes += len(event.value or b"")
        if len(buffer) == before:
            return
        if len(buffer) > MAX_BUFFERED_EVENTS or self._bytes > MAX_BUFFERED_BYTES:
            self.lagging = True
            self._events, self._bytes = [], 0
        self.wake()

    def request_progress(self) -> None:
        """Make the watch return a batch with the reached revision, even without events."""
        self._progress_requested = True
        self.wake()

    def wake(self) -> None:
        """Wake `wait`."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def take(self) -> list[BackendEvent]:
        """Empty the buffer and return its events."""
        events, self._events, self._bytes = self._events, [], 0
        self._progress_requested = False
        self.reported = self.reached
        return events

    def rejoin(self) -> int:
        """Buffer again from now on. Return the revision up to which the caller must read the log."""
        self._events, self._bytes = [], 0
        self.lagging = False
        self.reported = self.reached
        return self.reached

    async def wait(self) -> None:
        """Wait until there are events, a progress request, or the end of the watch."""
        while not (self._events or self._progress_requested or self.lagging or self.closed):
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None


class Broadcaster:
    """Publishes committed transactions to the subscriptions of a store."""

    def __init__(self, revision: int) -> None:
        self.revision = revision
        """The newest published revision."""
        self.is_lost = False
        """Whether the watches ended because the store's data was replaced."""
        self._subscriptions: set[Subscription] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    def subscribe(self, prefix: str) -> Subscription:
        """Create a subscription that buffers events from now on."""
        subscription = Subscription(prefix, self.revision)
        self._subscriptions.add(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Remove a subscription."""
        self._subscriptions.discard(subscription)

    def publish(self, events: Sequence[BackendEvent], revision: int) -> None:
        """Pass the events of one transaction to all subscriptions."""
        self.revision = revision
        for subscription in self._subscriptions:
            subscription.add(events, revision)
        if self._timer is None and self._subscriptions:
            self._timer = self._loop.call_later(PROGRESS_SECONDS, self._tick)

    def request_progress(self) -> None:
        """Request a progress batch of every watch."""
        for subscription in self._subscriptions:
            subscription.request_progress()

    def close(self) -> None:
        """End all watches."""
        if self._timer is not None:
            self._timer.cancel()
        for subscription in self._subscriptions:
            subscription.closed = True
            subscription.wake()

    def _tick(self) -> None:
        self._timer = None
        for subscription in self._subscriptions:
            if subscription.reported < subscription.reached:
                subscription.request_progress()


async def watch(broadcaster: Broadcaster, reads: Reads, prefix: str, start: int, *, previous: bool) -> AsyncGenerator[WatchBatch]:
    """See `Backend.watch`: read the log first for a start in the past, then the buffer, and the log again after an overflow."""
    subscription = broadcaster.subscribe(prefix)
    try:
        position = start - 1 if start else subscription.reached
        subscription.lagging = position < subscription.reached
        if start == 0:
            yield WatchBatch((), position)
        elif start < reads.compacted:
            raise CompactedError(reads.compacted)
        while not subscription.closed:
            await subscription.wait()
            if subscription.lagging:
                for batch in _replay(reads, subscription, position, previous=previous):
                    if batch.events:
                        yield batch
                    await asyncio.sleep(0)
                position = max(position, subscription.reported)
            elif not subscription.closed:
                batch = _live(subscription, position)
                position = max(position, batch.revision)
                yield batch
        if broadcaster.is_lost:
            raise HistoryLostError("the store's data was replaced", is_known=True)
    except (sqlite3.Error, UnicodeError) as error:
        raise translate(error) from error
    finally:
        broadcaster.unsubscribe(subscription)


def _replay(reads: Reads, subscription: Subscription, position: int, *, previous: bool) -> Iterator[WatchBatch]:
    """Yield the log's events after a position, up to the revision from which the subscription buffers again."""
    last = subscription.rejoin()
    while position < last and not subscription.closed:
        reached = min(position + _REPLAYED_REVISIONS, last)
        events = reads.changes(subscription.prefix, position + 1, reached, previous=previous)
        position = reached
        yield WatchBatch(events, reached)


def _live(subscription: Subscription, position: int) -> WatchBatch:
    reached = subscription.reached
    events = subscription.take()
    if events and events[0].revision <= position:  # the watch starts at a future revision
        events = [event for event in events if event.revision > position]
    return WatchBatch(events, reached)

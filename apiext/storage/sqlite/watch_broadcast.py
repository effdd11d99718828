"""From the commit to the watches: each has a bounded buffer, and falls back to the log when it is full."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from apiext.storage.backend import BackendEvent

_BUFFER: Final = 4096
_BUFFER_BYTES: Final = 8 << 20
"""Bounds of what waits for one slow watch. Values are shared with everybody else who holds them."""
_PROGRESS_INTERVAL: Final = 5.0
"""Seconds until a watch that nothing happened for is told the revision it has reached."""


class Subscription:
    """What has happened below a prefix since it was last asked."""

    __slots__ = ("_announce", "_bytes", "_events", "_waiter", "closed", "lagging", "prefix", "reached", "told")

    def __init__(self, prefix: str, revision: int) -> None:
        self.prefix = prefix
        self.reached = revision
        """All changes up to this revision have been taken, are in the buffer, or (when lagging) only in the log."""
        self.told = revision
        """The revision that the watch has been told last."""
        self.lagging = False
        """The buffer was full and has been emptied: what is missing must be read from the log."""
        self.closed = False
        self._announce = False
        self._events: list[BackendEvent] = []
        self._bytes = 0
        self._waiter: asyncio.Future[None] | None = None

    def add(self, events: Sequence[BackendEvent], revision: int) -> None:
        """Buffer those events that are below the prefix."""
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
        if len(buffer) > _BUFFER or self._bytes > _BUFFER_BYTES:
            self.lagging = True
            self._events, self._bytes = [], 0
        self.wake()

    def announce(self) -> None:
        """Have the watch name the revision it has reached, even if nothing happened."""
        self._announce = True
        self.wake()

    def wake(self) -> None:
        """Let `wait` return."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def take(self) -> list[BackendEvent]:
        """Empty the buffer; what was in it."""
        events, self._events, self._bytes = self._events, [], 0
        self._announce = False
        self.told = self.reached
        return events

    def rejoin(self) -> int:
        """Buffer again from here on; the revision up to which the log has to be read."""
        self._events, self._bytes = [], 0
        self.lagging = False
        self.told = self.reached
        return self.reached

    async def wait(self) -> None:
        """Return when there is something to take, to announce, or to end."""
        while not (self._events or self._announce or self.lagging or self.closed):
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None


class Broadcaster:
    """All subscriptions of a store."""

    def __init__(self, revision: int) -> None:
        self.revision = revision
        """The newest revision that has been published."""
        self._subscriptions: set[Subscription] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    def subscribe(self, prefix: str) -> Subscription:
        """Buffer changes from the newest revision on."""
        subscription = Subscription(prefix, self.revision)
        self._subscriptions.add(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Forget it."""
        self._subscriptions.discard(subscription)

    def publish(self, events: Sequence[BackendEvent], revision: int) -> None:
        """Give one transaction's changes to everybody."""
        self.revision = revision
        for subscription in self._subscriptions:
            subscription.add(events, revision)
        if self._timer is None and self._subscriptions:
            self._timer = self._loop.call_later(_PROGRESS_INTERVAL, self._tick)

    def announce(self) -> None:
        """Have every watch name the revision it has reached."""
        for subscription in self._subscriptions:
            subscription.announce()

    def close(self) -> None:
        """End every watch."""
        if self._timer is not None:
            self._timer.cancel()
        for subscription in self._subscriptions:
            subscription.closed = True
            subscription.wake()

    def _tick(self) -> None:
        self._timer = None
        for subscription in self._subscriptions:
            if subscription.told < subscription.reached:
                subscription.announce()

"""A running watch: first what lies behind it, then a bounded queue of batches that many watches may share.

Mirrors apiserver pkg/storage/cacher/cache_watcher.go.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from apiext.storage import rendering
from apiext.storage.time_slice import Pace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from apiext.meta import errors
    from apiext.storage.interface import Event

MAX_QUEUED_EVENTS: Final = 4096
MAX_QUEUED_BYTES: Final = 16 << 20
_CHUNK: Final = 256


class WatchQueue:
    """Implements interface.Watch.

    A batch is always taken whole, however large, when the watcher has kept up; a watcher that has more than its share
    waiting when the next one comes is ended, without a word, as the reference does: the client resumes where it was.
    """

    def __init__(self, *, backlog: Iterable[Event] = (), closed: Callable[[WatchQueue], None] | None = None) -> None:
        self._backlog: Iterator[Event] | None = iter(backlog)
        self._batches: list[list[Event]] = []
        self._events = 0
        self._bytes = 0
        self._waiter: asyncio.Future[None] | None = None
        self._finished = False
        self._closed = closed

    @property
    def active(self) -> bool:
        """Whether it still takes events."""
        return not self._finished

    def push(self, batch: list[Event], size: int) -> None:
        """Add events (a list that stays as it is, and the bytes of its lines); ends the watch when it was too slow."""
        if self._finished:
            return
        if self._events >= MAX_QUEUED_EVENTS or self._bytes >= MAX_QUEUED_BYTES:
            self.close()
            return
        self._batches.append(batch)
        self._events += len(batch)
        self._bytes += size
        self._wake()

    def fail(self, error: errors.StatusError) -> None:
        """End the watch with a Status after what is queued."""
        if not self._finished:
            self._batches.append([rendering.failure(error)])
            self.finish()

    def finish(self) -> None:
        """End the watch after what is queued."""
        if not self._finished:
            self._finished = True
            if self._closed is not None:
                self._closed(self)
        self._wake()

    def close(self) -> None:
        """End the watch now; safe to call twice."""
        self._backlog = None
        self._batches = []
        self.finish()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None:
            self._waiter = None
            if not waiter.done():
                waiter.set_result(None)

    def __aiter__(self) -> AsyncIterator[list[Event]]:
        return self

    async def __anext__(self) -> list[Event]:
        while True:
            if self._backlog is not None:
                chunk = await self._next_chunk(self._backlog)
                if chunk:
                    return chunk
            elif self._batches:
                return self._take()
            elif self._finished:
                raise StopAsyncIteration
            else:
                self._waiter = asyncio.get_running_loop().create_future()
                await self._waiter

    def _take(self) -> list[Event]:
        batches, self._batches = self._batches, []
        self._events = self._bytes = 0
        return batches[0] if len(batches) == 1 else [event for batch in batches for event in batch]

    async def _next_chunk(self, backlog: Iterator[Event]) -> list[Event]:
        """Some events of the backlog: as many as can be made without holding the loop."""
        # a pause before the work rather than after it: nothing is lost when the reader gives up waiting
        await asyncio.sleep(0)
        pace = Pace()
        chunk: list[Event] = []
        try:
            for event in backlog:
                chunk.append(event)
                if len(chunk) >= _CHUNK or pace.due:
                    return chunk
        except rendering.UNSHOWABLE as error:
            chunk.append(rendering.failure(rendering.reason(error)))
            self._batches = []
            self.finish()
        self._backlog = None
        return chunk


def failed(error: errors.StatusError) -> WatchQueue:
    """A watch that says why there is none, and ends."""
    queue = WatchQueue()
    queue.fail(error)
    return queue


def ended() -> WatchQueue:
    """A watch that is over."""
    queue = WatchQueue()
    queue.finish()
    return queue

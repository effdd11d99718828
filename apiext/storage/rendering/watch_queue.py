"""A running watch: a backlog, then a bounded queue of batches that several watches may share.

Mirrors apiserver pkg/storage/cacher/cache_watcher.go.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Final, Generic, Protocol, TypeVar, cast

from apiext.base.meta import errors, limits
from apiext.base.scheduling.time_slice import Pace
from apiext.storage.errors import RENDERING_ERRORS
from apiext.storage.interface import Event
from apiext.storage.rendering import event_lines


class _Sized(Protocol):
    @property
    def size(self) -> int:
        """Return the approximate bytes."""
        ...


T = TypeVar("T", bound=_Sized)

_CHUNK_EVENTS: Final = 256
_CHUNK_BYTES: Final = 256 * 1024


class WatchQueue(Generic[T]):
    """Implements interface.Watch if T is Event.

    A watcher that has kept up gets the next batch, however large. A watcher whose queue is over a limit when a batch arrives is
    ended after the queued events, without an error; its client resumes. (The reference drops what is queued: where the client then resumes,
    the history may have ended.)
    """

    def __init__(
        self,
        *,
        backlog: Iterable[T | None] = (),
        closed: Callable[[WatchQueue[T]], None] | None = None,
        initialized: Callable[[], None] | None = None,
    ) -> None:
        """Create a queue. The backlog has None where its maker may be interrupted without an event.

        `initialized` is called when the reader has taken the backlog.
        """
        self._backlog: Iterator[T | None] | None = iter(backlog)
        self._batches: deque[tuple[list[T], int]] = deque()
        self._events = 0
        self._bytes = 0
        self._waiter: asyncio.Future[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        """The event loop of the reader. Getting the running one would be a system call for each batch."""
        self.finished = False
        """Whether the queue accepts no more events."""
        self._closed = closed
        self._initialized = initialized

    def push(self, batch: list[T], size: int) -> None:
        """Add a batch and its size in bytes; end the watch if its queue is over a limit. The list must not change later."""
        if self.finished:
            return
        if self._events >= limits.MAX_QUEUED_EVENTS or self._bytes >= limits.MAX_QUEUED_BYTES:
            self.finish()
            return
        self._batches.append((batch, size))
        self._events += len(batch)
        self._bytes += size
        self._wake()

    def fail(self, error: errors.StatusError) -> None:
        """End the watch with a Status after the queued events."""
        if not self.finished:
            self._batches.append(([cast("T", event_lines.error_event(error))], 0))
            self.finish()

    def finish(self) -> None:
        """End the watch after the queued events."""
        if not self.finished:
            self.finished = True
            if self._closed is not None:
                self._closed(self)
        self._wake()

    def close(self) -> None:
        """End the watch now; idempotent."""
        self._backlog = None
        self._batches.clear()
        self.finish()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None:
            self._waiter = None
            if not waiter.done():
                waiter.set_result(None)

    def __aiter__(self) -> AsyncIterator[list[T]]:
        return self

    async def __anext__(self) -> list[T]:
        while True:
            if self._backlog is not None:
                chunk = await self._next_chunk(self._backlog)
                if chunk:
                    return chunk
            elif self._batches:
                return self._take()
            elif self.finished:
                raise StopAsyncIteration
            else:
                if self._loop is None:
                    self._loop = asyncio.get_running_loop()
                waiter = self._waiter = self._loop.create_future()
                await waiter

    def _take(self) -> list[T]:
        """Return the next batch, together with those after it as long as they are small."""
        batch, size = self._batches.popleft()
        if self._batches and size + self._batches[0][1] <= _CHUNK_BYTES:
            batch = batch.copy()
            while self._batches and size + self._batches[0][1] <= _CHUNK_BYTES:
                more, more_size = self._batches.popleft()
                batch += more
                size += more_size
        self._events -= len(batch)
        self._bytes -= size
        return batch

    async def _next_chunk(self, backlog: Iterator[T | None]) -> list[T]:
        """Return the next events of the backlog, as many as fit in a time slice and in one write."""
        # pause before the work, not after it: a cancelled reader loses nothing
        pace = Pace()
        await pace.pause()
        chunk: list[T] = []
        size = 0
        try:
            for event in backlog:
                if event is not None:
                    chunk.append(event)
                    size += event.size
                if len(chunk) >= _CHUNK_EVENTS or size >= _CHUNK_BYTES or (chunk and pace.due):
                    return chunk
                if pace.due:
                    await pace.pause()
                    if self._backlog is None:
                        return []
        except RENDERING_ERRORS as error:
            chunk.append(cast("T", event_lines.error_event(event_lines.status_error(error))))
            self._batches.clear()
            self.finish()
        self._backlog = None
        if self._initialized is not None:
            self._initialized()
        return chunk


def failed(error: errors.StatusError) -> WatchQueue[Event]:
    """Return a watch that ends with a Status."""
    queue: WatchQueue[Event] = WatchQueue()
    queue.fail(error)
    return queue


def ended() -> WatchQueue[Event]:
    """Return a watch that has ended."""
    queue: WatchQueue[Event] = WatchQueue()
    queue.finish()
    return queue

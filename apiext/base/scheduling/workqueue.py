"""Rate limiting work queue (client-go util/workqueue)."""

from __future__ import annotations

import asyncio
import contextvars
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from apiext.base.scheduling.backoff import Backoff
from apiext.base.scheduling.tasks import end_tasks

if TYPE_CHECKING:
    from apiext.base.meta.log import Logger

_JITTER: Final = 0.2
"""Largest share by which a retry delay grows at random: failed keys do not all return at the same moment."""

Sync = Callable[[str], Awaitable[float | None]]
"""Reconciles the object of a key. Returns the seconds until the next time, None to wait for the next change."""


class RequeueError(Exception):
    """Raised by a sync function to retry its key with backoff, without a log line."""


class WorkQueue:
    """Keys to reconcile.

    A key added several times before its turn is processed once. A key added while it is processed is processed again afterwards,
    never twice at a time. If the sync function fails, its key is retried with exponential backoff until it succeeds once.
    """

    def __init__(
        self,
        sync: Sync,
        *,
        log: Logger,
        event: str,
        key_field: str,
        retryable: tuple[type[Exception], ...],
        workers: int = 1,
        pauses: tuple[float, float] = (0.05, 30.0),
    ) -> None:
        """Create an empty queue; `run` processes its keys.

        Args:
            sync: reconciles the object of a key.
            log: logger of the controller.
            event: log event for a failed key.
            key_field: name of the log field that holds the key.
            retryable: expected exceptions of `sync`, logged as warnings. Others are logged with a traceback. Both are retried.
            workers: number of keys processed at the same time.
            pauses: seconds before the first retry, and most seconds before a retry.
        """
        self._sync = sync
        self._log = log
        self._event = event
        self._field = key_field
        self._retryable = retryable
        self._limit = workers
        self._idle = 0
        self._context: contextvars.Context | None = None
        self._pauses = pauses
        self._ready: asyncio.Queue[str] = asyncio.Queue()
        self._dirty: set[str] = set()
        self._processing: set[str] = set()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._backoffs: dict[str, Backoff] = {}
        self._workers: list[asyncio.Task[None]] = []
        self._closed = False

    def add(self, key: str) -> None:
        """Add a key, unless it already waits for its turn. Do nothing after `run` has ended."""
        if key in self._dirty or self._closed:
            return
        self._dirty.add(key)
        if key not in self._processing:
            self._enqueue(key)

    def add_after(self, key: str, seconds: float) -> None:
        """Add a key after a delay in seconds. The earliest of several calls wins; an earlier turn of the key cancels the delay."""
        loop = asyncio.get_running_loop()
        timer = self._timers.get(key)
        if self._closed or (timer is not None and timer.when() <= loop.time() + seconds):
            return
        if timer is not None:
            timer.cancel()
        self._timers[key] = loop.call_later(seconds, self._expire, key)

    def add_rate_limited(self, key: str) -> float:
        """Add a key after the next pause of its backoff; returns its length in seconds."""
        backoff = self._backoffs.setdefault(key, Backoff(*self._pauses))
        seconds = backoff.take() * (1 + random.random() * _JITTER)  # noqa: S311 -- spreads load, guards nothing
        self.add_after(key, seconds)
        return seconds

    def forget(self, key: str) -> None:
        """Reset the backoff of a key."""
        self._backoffs.pop(key, None)

    async def join(self) -> None:
        """Return when all added keys are processed. Keys that wait for a delay or a retry do not count."""
        await self._ready.join()

    async def run(self) -> None:
        """Process keys until cancelled; then cancel the running sync functions and drop all keys."""
        self._context = contextvars.copy_context()
        for _ in range(self._ready.qsize()):
            self._spawn_worker()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._closed = True
            for timer in self._timers.values():
                timer.cancel()
            await end_tasks(*self._workers)

    def _enqueue(self, key: str) -> None:
        self._ready.put_nowait(key)
        if self._idle < self._ready.qsize():
            self._spawn_worker()

    def _spawn_worker(self) -> None:
        """Start another worker, unless the limit is reached or `run` has not begun."""
        if self._context is not None and len(self._workers) < self._limit:
            # Workers have the context of `run`, not that of the request that adds the key.
            worker = asyncio.get_running_loop().create_task(self._work(), context=self._context.copy())
            self._workers.append(worker)
            self._idle += 1

    async def _work(self) -> None:
        while True:
            key = await self._ready.get()
            self._idle -= 1
            await self._process(key)
            self._idle += 1

    def _expire(self, key: str) -> None:
        self._timers.pop(key, None)
        self.add(key)

    async def _process(self, key: str) -> None:
        self._dirty.discard(key)
        self._processing.add(key)
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        try:
            await self._sync_once(key)
        finally:
            self._processing.discard(key)
            if key in self._dirty:
                self._enqueue(key)
            self._ready.task_done()

    async def _sync_once(self, key: str) -> None:
        fields = {self._field: key}
        try:
            seconds = await self._sync(key)
        except RequeueError:
            self.add_rate_limited(key)
        except self._retryable as error:
            seconds = round(self.add_rate_limited(key), 2)
            self._log.warning(self._event, **fields, error=str(error), retry_after=seconds)
        except Exception:  # noqa: BLE001 -- one key must not stop the work on all others
            seconds = round(self.add_rate_limited(key), 2)
            self._log.exception(self._event, **fields, retry_after=seconds)
        else:
            self.forget(key)
            if seconds is not None:
                self.add_after(key, seconds)

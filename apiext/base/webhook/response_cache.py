"""A cache of another server's answers (client-go util/cache, and the single flight of apiserver's token cache)."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from apiext.base.scheduling.tasks import shared_task

T = TypeVar("T")

Fetch = Callable[[], Awaitable[tuple[T, float]]]
"""Calls the other server; returns the answer and the seconds to cache it, 0 to cache nothing."""


class ResponseCache(Generic[T]):
    """Caches answers by key: at most `max_entries`; the least recently used one is dropped first.

    Concurrent callers with the same key share one call. Failures are not cached.
    """

    def __init__(self, *, max_entries: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_entries = max_entries
        self._clock = clock
        self._entries: OrderedDict[bytes, tuple[float, T]] = OrderedDict()
        """Expiry by the clock, and answer."""
        self._running: dict[bytes, asyncio.Task[T]] = {}

    async def get(self, key: bytes, fetch: Fetch[T]) -> T:
        """Return the cached answer of a key, else the answer of `fetch`. Raises the exceptions of `fetch`."""
        entry = self._entries.get(key)
        if entry is not None and entry[0] > self._clock():
            self._entries.move_to_end(key)
            return entry[1]
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = shared_task(self._fetch(key, fetch))
        # a cancelled caller must not cancel the call for the others
        return await asyncio.shield(task)

    async def _fetch(self, key: bytes, fetch: Fetch[T]) -> T:
        try:
            answer, seconds = await fetch()
        finally:
            del self._running[key]
        if seconds > 0:
            self._entries[key] = (self._clock() + seconds, answer)
            self._entries.move_to_end(key)
            if len(self._entries) > self._max_entries:
                self._entries.popitem(last=False)
        return answer

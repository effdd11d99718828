"""What another server answered, kept for a while (client-go util/cache, and the single flight of apiserver's token cache)."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")

Ask = Callable[[], Awaitable[tuple[T, float]]]
"""Asks the other server: the answer, and how many seconds it may be kept; 0 for not at all."""


class Answers(Generic[T]):
    """Answers by key; many who ask for the same at once are one call. A failure is never kept.

    `most` is how many are kept; the one that was wanted longest ago goes first.
    """

    def __init__(self, *, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._kept: OrderedDict[bytes, tuple[float, T]] = OrderedDict()
        self._asked: dict[bytes, asyncio.Task[T]] = {}

    async def get(self, key: bytes, ask: Ask[T]) -> T:
        """What is kept for the key, or else what comes back. Raises what `ask` raises."""
        kept = self._kept.get(key)
        if kept is not None and kept[0] > self._clock():
            self._kept.move_to_end(key)
            return kept[1]
        task = self._asked.get(key)
        if task is None:
            task = self._asked[key] = asyncio.create_task(self._ask(key, ask))
            task.add_done_callback(_noticed)
        # Whoever leaves must not end the call for the others.
        return await asyncio.shield(task)

    async def _ask(self, key: bytes, ask: Ask[T]) -> T:
        try:
            answer, seconds = await ask()
        finally:
            del self._asked[key]
        if seconds > 0:
            self._kept[key] = (self._clock() + seconds, answer)
            self._kept.move_to_end(key)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return answer


def _noticed(task: asyncio.Task[T]) -> None:
    """A failure that nobody waits for any more is no news."""
    if not task.cancelled():
        task.exception()

"""Long work in slices, so that the event loop is not blocked.

Of all work that pauses, one piece continues in each iteration of the event loop. Other requests therefore wait for one slice, however
many requests with long work there are. The slices are short while small requests come, since each of them waits for a few, and long
work waits for a small request under way.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Iterable
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

from apiext.base.meta.steps import Steps, step
from apiext.base.scheduling.small_requests import SMALL_REQUESTS

T = TypeVar("T")

SLICE_SECONDS: Final = 0.002
"""How long work holds the event loop before others have their turn."""
SHARED_SLICE_SECONDS: Final = 0.0001
"""A slice while small requests come: one piece of a response. The pauses cost a few percent, which nobody pays for long work alone."""
SHORT_SLICE_SECONDS: Final = 0.0002
"""The first slice of work that begins while other work waits; enough for most."""


class _Turns:
    """The paused tasks of an event loop."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_passing = False
        """Whether the next task is about to get its turn."""

    def __bool__(self) -> bool:
        return bool(self._waiting)

    async def wait(self) -> None:
        """Wait until all tasks that paused earlier have had their turn."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._waiting.append(turn)
        if not self._is_passing:
            self._is_passing = True
            loop.call_soon(self._pass_on)
        await turn

    def _pass_on(self) -> None:
        """Let the next task continue, one in each iteration."""
        if SMALL_REQUESTS.hold(self._pass_on):
            return
        while self._waiting:
            turn = self._waiting.popleft()
            # a cancelled task's turn is done already
            if not turn.done():
                turn.set_result(None)
                break
        self._is_passing = bool(self._waiting)
        if self._is_passing:
            asyncio.get_running_loop().call_soon(self._pass_on)


_TURNS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Turns]] = WeakKeyDictionary()


class Pace:
    """Measures how long the current task has held the event loop.

    Urgent work, which many clients wait for, continues in the next iteration after a pause.
    """

    __slots__ = ("_turns", "_urgent", "until")

    def __init__(self, *, urgent: bool = False, begun: float | None = None) -> None:
        """Begin to measure, or continue if the work has begun before, by the performance counter."""
        self._urgent = urgent
        loop = asyncio.get_running_loop()
        turns = _TURNS.get(loop)
        if turns is None:
            turns = _TURNS[loop] = _Turns()
        self._turns = turns
        begun = time.perf_counter() if begun is None else begun
        self.until = begun + (SHORT_SLICE_SECONDS if turns else self._slice())
        """When the slice ends, by the performance counter."""

    @property
    def due(self) -> bool:
        """Report whether the slice has ended: 2 ms after the last pause, or sooner if other work waits or small requests come."""
        return time.perf_counter() >= self.until

    async def pause(self) -> None:
        """Give way to other tasks until it is this task's turn again. A task that pauses has no small request."""
        SMALL_REQUESTS.end()
        await (asyncio.sleep(0) if self._urgent else self._turns.wait())
        self.until = time.perf_counter() + self._slice()

    async def checkpoint(self) -> None:
        """Pause if the slice has ended."""
        if time.perf_counter() >= self.until:
            await self.pause()

    def _slice(self) -> float:
        shared = SMALL_REQUESTS.expected and not self._urgent
        return SHARED_SLICE_SECONDS if shared else SLICE_SECONDS


async def paced(items: Iterable[T], *, urgent: bool = False) -> AsyncGenerator[T]:
    """Yield items; give way to other tasks every 2 ms or sooner. A loop that often ends early, or is very hot, uses a Pace instead."""
    pace, clock = Pace(urgent=urgent), time.perf_counter
    for item in items:
        if clock() >= pace.until:
            await pace.pause()
        yield item


async def in_slices(steps: Steps[T]) -> T:
    """Return the result of the work; give way to other tasks every 2 ms or sooner."""
    begun = time.perf_counter()
    result = step(steps)
    if result is None:
        # most work ends with its first step
        pace = Pace(begun=begun)
        while result is None:
            await pace.checkpoint()
            result = step(steps)
    return result[0]

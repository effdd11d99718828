"""Long work in slices, so that the event loop is not blocked.

Of all work that pauses, one piece continues in each iteration of the event loop. Other requests therefore wait for one slice, however
many requests with long work there are.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Generator
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")

Steps = Generator[None, None, T]
"""Work that yields wherever it may be interrupted, at least every few hundred operations, and returns a result."""

_SLICE_SECONDS: Final = 0.002
_SHORT_SLICE_SECONDS: Final = 0.0002
"""The first slice of work that begins while other work waits; enough for most."""


class _Turns:
    """The paused tasks of an event loop."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._taken = False
        """Whether a task is about to continue."""

    def __bool__(self) -> bool:
        return bool(self._waiting)

    async def wait(self) -> None:
        """Wait until all tasks that paused earlier have had their turn."""
        if self._taken or self._waiting:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
            return
        self._taken = True
        try:
            await asyncio.sleep(0)
        finally:
            self._pass_on()

    def _pass_on(self) -> None:
        """Let the next task continue in the next iteration."""
        self._taken = False
        while self._waiting:
            turn = self._waiting.popleft()
            # the task of a turn that is done was cancelled
            if not turn.done():
                self._taken = True
                turn.set_result(None)
                asyncio.get_running_loop().call_soon(self._pass_on)
                return


_TURNS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Turns]] = WeakKeyDictionary()


class Pace:
    """Measures how long the current task has held the event loop.

    Urgent work, which many clients wait for, continues in the next iteration after a pause.
    """

    __slots__ = ("_turns", "_until", "_urgent")

    def __init__(self, *, urgent: bool = False) -> None:
        self._urgent = urgent
        loop = asyncio.get_running_loop()
        turns = _TURNS.get(loop)
        if turns is None:
            turns = _TURNS[loop] = _Turns()
        self._turns = turns
        self._until = time.perf_counter() + (_SHORT_SLICE_SECONDS if turns else _SLICE_SECONDS)

    @property
    def due(self) -> bool:
        """Report whether the slice has ended: 2 ms after the last pause, or sooner in the first slice if other work waits."""
        return time.perf_counter() >= self._until

    async def pause(self) -> None:
        """Give way to other tasks until it is this task's turn again."""
        await (asyncio.sleep(0) if self._urgent else self._turns.wait())
        self._until = time.perf_counter() + _SLICE_SECONDS


async def in_slices(steps: Steps[T]) -> T:
    """Return the result of the work; give way to other tasks every 2 ms."""
    pace = Pace()
    while (result := _step(steps)) is None:
        if pace.due:
            await pace.pause()
    return result[0]


def at_once(steps: Steps[T]) -> T:
    """Return the result of the work without a pause."""
    while (result := _step(steps)) is None:
        pass
    return result[0]


def _step(steps: Steps[T]) -> tuple[T] | None:
    """Take a step; return the result, in a tuple, after the last one."""
    try:
        next(steps)
    except StopIteration as done:
        return (done.value,)
    return None

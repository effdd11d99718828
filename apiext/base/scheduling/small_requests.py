"""Small requests under way. Long work pauses for them: the event loop and a processor for the store are then free."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

EXPECTED_SECONDS: Final = 0.25
"""How long after a small request more of them are expected."""
HOLD_SECONDS: Final = 0.005
"""How long a small request keeps long work waiting; most need less."""


class SmallRequests:
    """Counts small requests. Holds long work while one is under way, for half of the time at most."""

    __slots__ = ("_free_from", "_held_since", "_latest", "_resume", "_timer", "_under_way")

    def __init__(self) -> None:
        """Create the counter. All times are seconds of the performance counter."""
        self._under_way: set[asyncio.Task[Any] | None] = set()
        """The tasks of these requests."""
        self._latest = -EXPECTED_SECONDS
        self._held_since = 0.0
        self._free_from = 0.0
        """When long work may be held again."""
        self._resume: Callable[[], None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def expected(self) -> bool:
        """Report whether a small request has begun in the last 0.25 s."""
        return time.perf_counter() < self._latest + EXPECTED_SECONDS

    def note(self) -> None:
        """Expect more small requests for 0.25 s."""
        self._latest = time.perf_counter()

    def begin(self, loop: asyncio.AbstractEventLoop | None = None) -> asyncio.Task[Any] | None:
        """Count the current task's request as small until `end`. Return the task. `loop` is the running loop, if the caller knows it."""
        self._latest = time.perf_counter()
        task = asyncio.current_task(loop)
        self._under_way.add(task)
        return task

    def end(self, task: asyncio.Task[Any] | None = None) -> None:
        """End the small request of a task, by default the current one. Without any other, long work continues.

        A request that turns out to need long work calls it, too: it would hold its own work.
        """
        self._under_way.discard(task or asyncio.current_task())
        if self._resume is not None and not self._under_way:
            self._release()

    def hold(self, resume: Callable[[], None]) -> bool:
        """Report whether long work has to wait. If so, call `resume` once when it may continue, after 5 ms at most."""
        if not self._under_way:
            return False
        now = time.perf_counter()
        if now < self._free_from or now > self._latest + HOLD_SECONDS:
            return False
        self._held_since, self._resume = now, resume
        self._timer = asyncio.get_running_loop().call_later(HOLD_SECONDS, self._release)
        return True

    def _release(self) -> None:
        """Let long work continue. Do not hold it again for as long as it has waited."""
        resume, timer, self._resume, self._timer = self._resume, self._timer, None, None
        if timer is not None:
            timer.cancel()
        now = time.perf_counter()
        self._free_from = now + now - self._held_since
        if resume is not None:
            resume()


SMALL_REQUESTS: Final = SmallRequests()

"""Small requests under way, for which long work makes room: so they find the event loop and a processor for the store free."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

_EXPECTED_SECONDS: Final = 0.25
"""How long after a small request more of them are expected."""
_HOLD_SECONDS: Final = 0.005
"""How long a small request keeps long work waiting; most need less."""


class SmallRequests:
    """Counts small requests, and holds long work while one is under way, for half of the time at most."""

    __slots__ = ("_free_from", "_held_since", "_latest", "_resume", "_timer", "_under_way")

    def __init__(self) -> None:
        """Create the counter. All times are seconds of the performance counter."""
        self._under_way: set[asyncio.Task[Any] | None] = set()
        """The tasks of these requests."""
        self._latest = -_EXPECTED_SECONDS
        self._held_since = 0.0
        self._free_from = 0.0
        """When long work may be held again."""
        self._resume: Callable[[], None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def expected(self) -> bool:
        """Report whether small requests have come lately."""
        return time.perf_counter() < self._latest + _EXPECTED_SECONDS

    def note(self) -> None:
        """Expect more small requests for a while."""
        self._latest = time.perf_counter()

    def begin(self) -> asyncio.Task[Any] | None:
        """Take the request of the current task for a small one, until `end`. Return the task."""
        self._latest = time.perf_counter()
        task = asyncio.current_task()
        self._under_way.add(task)
        return task

    def end(self, task: asyncio.Task[Any] | None = None) -> None:
        """Let long work continue if the task, by default the current one, has the last small request; without effect if it has none.

        A request that turns out to need long work calls it, too: it would hold its own work.
        """
        self._under_way.discard(task or asyncio.current_task())
        if self._resume is not None and not self._under_way:
            self._release()

    def hold(self, resume: Callable[[], None]) -> bool:
        """Report whether long work has to wait; then call `resume` once when it may continue, soon in any case."""
        if not self._under_way:
            return False
        now = time.perf_counter()
        if now < self._free_from or now > self._latest + _HOLD_SECONDS:
            return False
        self._held_since, self._resume = now, resume
        self._timer = asyncio.get_running_loop().call_later(_HOLD_SECONDS, self._release)
        return True

    def _release(self) -> None:
        """Let long work continue, and do not hold it for as long as it has waited."""
        resume, timer, self._resume, self._timer = self._resume, self._timer, None, None
        if timer is not None:
            timer.cancel()
        now = time.perf_counter()
        self._free_from = now + now - self._held_since
        if resume is not None:
            resume()


SMALL_REQUESTS: Final = SmallRequests()

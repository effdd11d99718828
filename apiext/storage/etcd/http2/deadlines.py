"""Deadlines of a connection's calls."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Final

NO_DEADLINE: Final = math.inf
_RESOLUTION_SECONDS: Final = 0.001
"""Seconds by which the event loop may call early."""


class Deadlines:
    """One timer for the deadlines of all calls: nearly all calls end earlier, and a timer for each would be expensive.

    `expire` ends the calls with a deadline up to a time of the event loop, and returns the earliest other deadline.
    """

    __slots__ = ("_expire", "_loop", "_next", "_timer")

    def __init__(self, loop: asyncio.AbstractEventLoop, expire: Callable[[float], float]) -> None:
        self._loop = loop
        self._expire = expire
        self._next = NO_DEADLINE
        self._timer: asyncio.TimerHandle | None = None

    def add(self, deadline: float) -> None:
        """Call `expire` at a time of the event loop, or earlier."""
        if deadline < self._next:
            self.stop()
            self._next = deadline
            self._timer = self._loop.call_at(deadline, self._check)

    def stop(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def _check(self) -> None:
        self._next = NO_DEADLINE
        self.add(self._expire(self._loop.time() + _RESOLUTION_SECONDS))

"""Monotonic time, and callbacks after a delay."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A callback that has not run yet."""

    def cancel(self) -> None:
        """Prevent the callback from running."""


class Clock(Protocol):
    """A source of monotonic time in nanoseconds."""

    def now(self) -> int:
        """Return the nanoseconds since a fixed moment."""

    def call_later(self, nanoseconds: int, callback: Callable[[], None]) -> Timer:
        """Run the callback after a delay."""


class LoopClock:
    """The clock of the machine, and timers of the running event loop."""

    now = staticmethod(time.monotonic_ns)

    @staticmethod
    def call_later(nanoseconds: int, callback: Callable[[], None]) -> Timer:
        """Run the callback after a delay."""
        return asyncio.get_running_loop().call_later(nanoseconds / 1e9, callback)

"""A clock that stands still until a test advances it."""

import heapq
import itertools
from collections.abc import Callable

SECOND = 1_000_000_000


class FakeTimer:
    """A callback at a time of the fake clock."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        """Prevent the callback from running."""
        self.callback = None


class FakeClock:
    """A clock in nanoseconds. Its callbacks run while it is advanced."""

    def __init__(self) -> None:
        self.time = 0
        self._order = itertools.count()
        self._timers: list[tuple[int, int, FakeTimer]] = []

    def now(self) -> int:
        """Return the nanoseconds since the start."""
        return self.time

    def call_later(self, nanoseconds: int, callback: Callable[[], None]) -> FakeTimer:
        """Run the callback after a delay."""
        timer = FakeTimer(callback)
        heapq.heappush(self._timers, (self.time + max(0, nanoseconds), next(self._order), timer))
        return timer

    def advance(self, nanoseconds: int) -> None:
        """Let the time pass, and run the callbacks that become due, each at its time."""
        self.run_until(self.time + nanoseconds)

    def run_until(self, end: int) -> None:
        """Let the time pass until `end`, as `advance` does."""
        while self._timers and self._timers[0][0] <= end:
            self.time, _, timer = heapq.heappop(self._timers)
            if timer.callback is not None:
                timer.callback()
        self.time = end

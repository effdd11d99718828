"""The Retry-After of rejected requests (apiserver pkg/util/flowcontrol/dropped_requests_tracker.go)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

_MAX_SECONDS: Final = 32
_BURST: Final = 3
"""Rejections in each second of the wait; from this number on it doubles."""


class RetryAfter:
    """The Retry-After of one priority level, in seconds.

    With a wait of N seconds, it doubles after 3N rejections in the last N seconds, but at most once in N seconds. It shrinks by one
    second after fewer than N rejections.
    """

    __slots__ = ("_clock", "_history", "_raised", "_second", "seconds")

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._second = 0
        self._history: dict[int, int] = {}
        """Rejections by second, of the last 32 at most."""
        self._raised = 0
        self.seconds = 1

    def record(self) -> int:
        """Count a rejected request, and return the seconds that its client should wait."""
        now, history = int(self._clock()), self._history
        if now != self._second:
            self._second = now
            for second in [second for second in history if now - second > _MAX_SECONDS]:
                del history[second]
            self._adjust(now)
        history[now] = history.get(now, 0) + 1
        return self.seconds

    def _adjust(self, now: int) -> None:
        rejected = sum(count for second, count in self._history.items() if 0 < now - second <= self.seconds)
        if now - self._raised >= self.seconds and rejected >= _BURST * self.seconds:
            self.seconds = min(2 * self.seconds, _MAX_SECONDS)
            self._raised = now
        elif rejected < self.seconds and self.seconds > 1:
            self.seconds -= 1

"""Limits how often the leader writes the same object, where another client changes it back each time."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Final

MAX_WRITES: Final = 5
"""Writes of an object within PERIOD_SECONDS. Installation, repairs and a rotation of the certificate take fewer."""
PERIOD_SECONDS: Final = 60.0


class WriteLimit:
    """The latest writes of each object."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._writes: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=MAX_WRITES))

    def note(self, name: str) -> None:
        """Count a write."""
        self._writes[name].append(self._clock())

    def wait(self, name: str) -> float:
        """Return the seconds until an object may be written again, 0 if it may now."""
        writes = self._writes[name]
        return max(0.0, writes[0] + PERIOD_SECONDS - self._clock()) if len(writes) == MAX_WRITES else 0.0

    def forget(self, name: str) -> None:
        """Forget a deleted object."""
        self._writes.pop(name, None)

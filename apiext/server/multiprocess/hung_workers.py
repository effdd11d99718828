"""Finds workers whose event loop no longer turns: they would keep their connections without an answer.

Each worker counts up in shared memory. The supervisor compares the counts at intervals, and never the time: a machine that was suspended,
or is so busy that the supervisor waits too, has no hung workers.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.server.multiprocess.scoreboard import Scoreboard
    from apiext.server.multiprocess.worker_slot import WorkerSlot

BEAT_SECONDS: Final = 5.0
"""Seconds between two signs of life."""
LOOK_SECONDS: Final = 10.0
"""Seconds between two looks."""
MOST_MISSED: Final = 9
"""Looks without a sign of life after which a worker hangs. A kubelet restarts the container earlier, unless its probe waits longer."""


class Heartbeat:
    """Shows that the event loop of a worker turns."""

    def __init__(self, scoreboard: Scoreboard, worker: int) -> None:
        self._scoreboard = scoreboard
        self._worker = worker
        self._loop = asyncio.get_running_loop()
        self._beat()

    def _beat(self) -> None:
        self._scoreboard.beat(self._worker)
        self._timer = self._loop.call_later(BEAT_SECONDS, self._beat)

    def close(self) -> None:
        """Give no more signs."""
        self._timer.cancel()


class HungWorkers:
    """Counts the looks at which a worker that was ready has given no sign of life since the one before."""

    def __init__(self, slots: Sequence[WorkerSlot], scoreboard: Scoreboard) -> None:
        self._slots = slots
        self._scoreboard = scoreboard
        self._seen: dict[tuple[int, int], tuple[int, int]] = {}
        """The last count and the missed looks, by worker and process."""
        self.wake_at = time.monotonic() + LOOK_SECONDS
        """When the next look is due (time.monotonic)."""

    def find(self) -> list[WorkerSlot]:
        """Return the workers that hang, each once; none before a look is due."""
        now = time.monotonic()
        if now < self.wake_at:
            return []
        self.wake_at = now + LOOK_SECONDS
        former, self._seen = self._seen, {}
        found = []
        for slot in self._slots:
            if slot.pid is None or not slot.is_ready:
                continue
            place, beats = (slot.index, slot.pid), self._scoreboard.beats(slot.index)
            known, missed = former.get(place, (-1, 0))
            missed = missed + 1 if known == beats else 0
            self._seen[place] = beats, missed
            if missed == MOST_MISSED:
                found.append(slot)
        return found

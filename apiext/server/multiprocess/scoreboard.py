"""Counters in memory that the supervisor and all workers share: connections and signs of life of each worker, and replaced workers.

Each number has one writer. Reads and writes of an aligned number are atomic.
"""

from __future__ import annotations

import mmap
from typing import Final

_HEAD: Final = 2
_SLOT: Final = 3


class Scoreboard:
    """The shared numbers. Processes that the creator forks share them."""

    def __init__(self, workers: int) -> None:
        self._memory = mmap.mmap(-1, 8 * (_HEAD + _SLOT * workers))
        self._numbers = memoryview(self._memory).cast("Q")

    # --- written by the supervisor --------------------------------------------------------------------------------------

    @property
    def replaced(self) -> int:
        """Workers that ended unexpectedly and were replaced."""
        return self._numbers[0]

    @replaced.setter
    def replaced(self, count: int) -> None:
        self._numbers[0] = count

    @property
    def ledger_version(self) -> int:
        """Grows before and after each change of the counters of ended workers; odd during a change."""
        return self._numbers[1]

    @ledger_version.setter
    def ledger_version(self, version: int) -> None:
        self._numbers[1] = version

    def clear(self, worker: int) -> None:
        """Forget the connections of an ended worker."""
        self._numbers[self._at(worker)] = self._numbers[self._at(worker) + 1] = 0

    # --- written by a worker --------------------------------------------------------------------------------------------

    def publish(self, worker: int, *, received: int, connections: int) -> None:
        """Set the connections that a worker has received in all, and those that are open."""
        at = self._at(worker)
        self._numbers[at + 1] = connections
        self._numbers[at] = received

    def beat(self, worker: int) -> None:
        """Count a sign of life of a worker."""
        self._numbers[self._at(worker) + 2] += 1

    def beats(self, worker: int) -> int:
        """Return the number of signs of life of a worker."""
        return self._numbers[self._at(worker) + 2]

    def received(self, worker: int) -> int:
        """Return the number of connections that a worker has received in all."""
        return self._numbers[self._at(worker)]

    def connections(self, worker: int) -> int:
        """Return the number of open connections of a worker."""
        return self._numbers[self._at(worker) + 1]

    @staticmethod
    def _at(worker: int) -> int:
        return _HEAD + _SLOT * worker

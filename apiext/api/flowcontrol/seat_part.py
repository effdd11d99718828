"""The part of a server's seats that one of its worker processes has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SeatPart:
    """The part of the worker `index` of so many `workers`. The parts of all workers add up to the whole."""

    index: int = 0
    workers: int = 1

    def of(self, seats: int, turn: int = 0) -> int:
        """Return this worker's part of some seats. `turn` varies which workers get one more, if the seats do not divide evenly.

        With the same turn, more seats have parts that are not smaller.
        """
        least, left = divmod(seats, self.workers)
        return least + ((self.index + turn) % self.workers < left)

    def at_least_one(self, seats: int, turn: int = 0) -> int:
        """Return the part of seats, of which every worker has one if there are any: without one, requests would wait for ever."""
        return max(self.of(seats, turn), min(seats, 1))


WHOLE = SeatPart()
"""The part of the only process."""

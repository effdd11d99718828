"""Work in seat-seconds, as integers of 10 nanoseconds of a seat (apiserver pkg/util/flowcontrol/request/seat_seconds.go).

Integers are exact however long the server runs, and of any size: the progress of a queue set is never wound back.
"""

from __future__ import annotations

from typing import Final

SCALE: Final = 100_000_000
"""Units of a seat-second."""
NANOSECONDS: Final = 10
"""Nanoseconds of a unit."""


def seats_times_duration(seats: float, nanoseconds: int) -> int:
    """Return the work of a number of seats for a duration."""
    return round(seats * nanoseconds / NANOSECONDS)


def duration_per_seat(work: int, seats: int) -> int:
    """Return the nanoseconds that a number of seats need for the work."""
    return int(work * NANOSECONDS / seats)


def text(work: int) -> str:
    """Return the reference's text of work: seconds with eight digits, and `ss`."""
    seconds, rest = divmod(work, SCALE)
    return f"{seconds}.{rest:08d}ss"

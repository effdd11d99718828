"""The estimated work of a request: seats while it runs, and seats afterwards.

Seat seconds: apiserver pkg/util/flowcontrol/request/seat_seconds.go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

ESTIMATED_SERVICE_NANOSECONDS: Final = 3_000_000
"""Assumed duration of a request until its real duration is known."""


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


@dataclass(frozen=True, slots=True)
class WorkEstimate:
    """Seats of a request."""

    initial_seats: int = 1
    """Seats while the request runs."""
    final_seats: int = 0
    """Seats afterwards."""
    additional_latency: int = 0
    """Nanoseconds for which the request keeps seats after its answer. The client does not wait for them."""
    seats: int = field(init=False)
    """The seats that the request occupies until all its work is done: the larger of both numbers."""
    final_work: int = field(init=False)
    """The work after the answer."""
    work: int = field(init=False)
    """All work of the request."""

    def __post_init__(self) -> None:
        final = seats_times_duration(self.final_seats, self.additional_latency)
        initial = seats_times_duration(self.initial_seats, ESTIMATED_SERVICE_NANOSECONDS)
        object.__setattr__(self, "seats", max(self.initial_seats, self.final_seats))
        object.__setattr__(self, "final_work", final)
        object.__setattr__(self, "work", initial + final)


ONE_SEAT: Final = WorkEstimate()


def work_in_progress(seats: int) -> int:
    """Return the estimated work of running requests with these seats."""
    return seats_times_duration(seats, ESTIMATED_SERVICE_NANOSECONDS)

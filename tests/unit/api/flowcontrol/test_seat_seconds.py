"""Tests of work in seat-seconds."""

import pytest

from apiext.api.flowcontrol.work_estimate import SCALE, duration_per_seat, seats_times_duration, text


@pytest.mark.parametrize(
    "work, expected",
    [
        (0, "0.00000000ss"),
        (1, "0.00000001ss"),
        (SCALE, "1.00000000ss"),
        (seats_times_duration(1.25, 1_000_000_000), "1.25000000ss"),
        (seats_times_duration(12, 2_030_000_000), "24.36000000ss"),
        ((1 << 64) - 1, "184467440737.09551615ss"),
    ],
)
def test_text(work: int, expected: str) -> None:
    """Write seconds with eight digits."""
    assert text(work) == expected


def test_duration_per_seat() -> None:
    """Divide work by seats."""
    work = seats_times_duration(10, 3_000_000_000)

    assert duration_per_seat(work, 10) == 3_000_000_000
    assert duration_per_seat(work, 4) == 7_500_000_000

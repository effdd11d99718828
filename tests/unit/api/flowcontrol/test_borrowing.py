"""Tests of borrowing between priority levels."""

import pytest

from apiext.api.flowcontrol.configuration.configuration import BOOTSTRAP
from apiext.api.flowcontrol.configuration.priority_level import PriorityLevel
from apiext.api.flowcontrol.controller import SeatDemand, SeatLimits, adjust_limits, configure_limits, rounded
from apiext.api.flowcontrol.statistics import Moments

NAMES = ("exempt", "workload-high", "workload-low", "catch-all")
SEATS = 6 * (40 + 100 + 5)


def demand(seats: int) -> SeatDemand:
    """Return the demand of a level that always wants a number of seats."""
    return SeatDemand(average=seats, peak=seats, smoothed=seats)


def bootstrap_limits() -> list[SeatLimits]:
    """Return the limits of an exempt level, one that lends half of its seats, one that lends nine tenths, and one that lends none."""
    levels = [BOOTSTRAP.levels[name] for name in NAMES]
    limits = [SeatLimits() for _ in levels]
    for one, level in zip(limits, levels, strict=True):
        configure_limits(one, level, server_seats=SEATS, share_sum=sum(level.nominal_concurrency_shares for level in levels))
    return limits


def test_exempt_requests_take_all_that_others_lend() -> None:
    """Leave their minimum to the limited levels when the exempt one needs more than all."""
    limits = bootstrap_limits()
    for one in limits:
        one.demand = demand(SEATS + 100)

    assert adjust_limits(limits) == 0
    assert [one.current for one in limits] == [SEATS + 100, *(one.minimum for one in limits[1:])]


def test_limited_levels_share_what_the_exempt_one_leaves() -> None:
    """Divide between the minimum and what is needed, in equal parts, if it is not enough for all."""
    limits = bootstrap_limits()
    half = [(one.nominal + one.minimum) // 2 for one in limits[1:]]
    limits[0].demand = demand(SEATS - sum(half))
    for one in limits[1:]:
        one.demand = demand(SEATS + 100)

    adjust_limits(limits)

    assert [one.current for one in limits] == [SEATS - sum(half), *half]


def test_a_level_without_demand_lends() -> None:
    """Give the seats of an idle level to those that want more than their own."""
    limits = bootstrap_limits()
    limits[1].demand = demand(SEATS)

    proportion = adjust_limits(limits)

    lent = limits[2].nominal - limits[2].minimum
    assert limits[1].current == pytest.approx(limits[1].nominal + lent, abs=1)
    assert limits[2].current == limits[2].minimum
    assert sum(one.current for one in limits) == pytest.approx(SEATS, abs=2)
    assert 0 < proportion < 1


def test_borrowing_is_limited() -> None:
    """Give a level no more than its maximum."""
    limits = [SeatLimits(), SeatLimits()]
    for one, percent in zip(limits, (10, None), strict=True):
        level = PriorityLevel(name="a", nominal_concurrency_shares=1, lendable_percent=100, borrowing_limit_percent=percent)
        configure_limits(one, level, server_seats=100, share_sum=2)
        one.demand = demand(80)

    limits[1].demand = demand(0)
    adjust_limits(limits)

    assert [(one.minimum, one.nominal, one.maximum) for one in limits] == [(0, 50, 55), (0, 50, 150)]
    assert [one.current for one in limits] == [55, 45]


def test_bounds_that_cannot_be_kept() -> None:
    """Leave all limits as they are if no level may take what there is."""
    limits = [SeatLimits(nominal=10, maximum=5, current=7)]

    assert adjust_limits(limits) == 0
    assert limits[0].current == 7


def test_smoothed_demand_falls_slowly() -> None:
    """Follow a rising demand at once, and a falling one with a half-life of five minutes."""
    found = SeatDemand()
    found.update(Moments(1, 80, 20), 120)
    assert (found.smoothed, found.peak) == (100, 120)

    for _ in range(30):
        found.update(Moments(1, 0, 0), 0)

    assert found.smoothed == pytest.approx(50, rel=0.01)
    assert found.peak == 0
    found.update(Moments(0, 0, 0), 3)
    assert found.smoothed == pytest.approx(50, rel=0.01)
    assert found.peak == 3


def test_halves_are_rounded_up() -> None:
    """Round as Go does."""
    assert [rounded(value) for value in (0.49, 0.5, 1.5, 2.5)] == [0, 1, 2, 3]

"""Borrowing of seats between priority levels (updateBorrowing in apiserver pkg/util/flowcontrol/apf_controller.go).

Concurrency allocation: apiserver pkg/util/flowcontrol/conc_alloc.go.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from apiext.api.flowcontrol.configuration.priority_level import PriorityLevel
    from apiext.api.flowcontrol.seat_part import SeatPart
    from apiext.api.flowcontrol.statistics import Moments

_SMOOTHING: Final = 0.977
"""Weight of the former demand in the smoothed one: half of it remains after five minutes of adjustments."""

MIN_TARGET: Final = 0.001
"""Minimum of targets; lower ones count as this."""
_EPSILON: Final = 1e-7


@dataclass(frozen=True, slots=True)
class AllocationItem:
    """The bounds and the target of a priority level."""

    lower_bound: float
    upper_bound: float
    target: float


def allocate(total: float, items: Sequence[AllocationItem]) -> tuple[list[float], float]:
    """Return a share of the total for each item, and the fair proportion of shares to targets.

    Each share is the proportion times the target, limited by the bounds of the item. The sum of the shares is the total.

    Raises:
        ValueError: the bounds of an item contradict each other or the total.
    """
    low, high = _check(total, items)
    if not total:
        return [0.0] * len(items), 0.0
    targets = [max(item.target, MIN_TARGET) for item in items]
    if total - low < _EPSILON:
        return [item.lower_bound for item in items], min(item.lower_bound / target for item, target in zip(items, targets, strict=True))
    if high - total < _EPSILON:
        return [item.upper_bound for item in items], max(item.upper_bound / target for item, target in zip(items, targets, strict=True))
    proportion = _proportion(total, low, items, targets)
    shares = [max(item.lower_bound, min(item.upper_bound, proportion * target)) for item, target in zip(items, targets, strict=True)]
    return shares, proportion


def _check(total: float, items: Sequence[AllocationItem]) -> tuple[float, float]:
    """Return the sums of the lower and of the upper bounds."""
    if total < 0:
        msg = "negative sums are not supported"
        raise ValueError(msg)
    for index, item in enumerate(items):
        if not 0 <= item.lower_bound <= min(item.target, item.upper_bound):
            msg = f"the lower bound of item {index} is negative, or above its target or its upper bound: {item}"
            raise ValueError(msg)
    low, high = math.fsum(item.lower_bound for item in items), math.fsum(item.upper_bound for item in items)
    if low - total > _EPSILON or total - high > _EPSILON:
        msg = f"the bounds add up to {low} and {high}, which excludes the required sum {total}"
        raise ValueError(msg)
    return low, high


def _proportion(total: float, low: float, items: Sequence[AllocationItem], targets: Sequence[float]) -> float:
    """Return the proportion for which the sum of the shares is the total.

    The sum of the shares grows with the proportion, linearly between the bounds of items.
    """
    bounds = sorted(
        change
        for item, target in zip(items, targets, strict=True)
        for change in ((item.lower_bound / target, target), (item.upper_bound / target, -target))
    )
    proportion, share_sum, slope = bounds[0][0], low, 0.0
    for bound, change in bounds:
        step = (bound - proportion) * slope
        if share_sum + step >= total and slope > 0:
            break
        share_sum, proportion, slope = share_sum + step, bound, slope + change
    return proportion + (total - share_sum) / slope if slope > 0 else proportion


@dataclass(slots=True)
class SeatDemand:
    """The seats that requests of a priority level occupied or waited for in the latest period."""

    average: float = 0.0
    deviation: float = 0.0
    peak: int = 0
    smoothed: float = 0.0
    """The average plus the standard deviation; it falls slowly."""

    def update(self, observed: Moments, peak: int) -> None:
        """Add the observations of a period."""
        self.peak = peak
        if not observed.nanoseconds:
            return
        self.average, self.deviation = observed.average, observed.deviation
        envelope = observed.average + observed.deviation
        self.smoothed = max(envelope, _SMOOTHING * self.smoothed + (1 - _SMOOTHING) * envelope)


@dataclass(slots=True)
class SeatLimits:
    """The seats of a priority level."""

    exempt: bool = False
    nominal: int = 0
    minimum: int = 0
    """Nominal seats minus the seats that the level lends."""
    maximum: int = 0
    """Nominal seats plus the seats that the level may borrow."""
    current: int = 0
    target: float = 0.0
    """Seats that the level would get without a shortage."""
    demand: SeatDemand = field(default_factory=SeatDemand)

    @property
    def least(self) -> int:
        """The seats that the level needs now."""
        peak = self.demand.peak
        return max(self.minimum, peak if self.exempt else min(self.nominal, peak))

    def take_part(self, part: SeatPart, turn: int) -> None:
        """Replace the limits of the server by the part of a worker process."""
        self.nominal = part.at_least_one(self.nominal, turn)
        self.minimum = part.of(self.minimum, turn)
        self.maximum = max(self.nominal, part.of(self.maximum, turn))


def rounded(value: float) -> int:
    """Return the nearest integer; round halves up."""
    return math.floor(value + 0.5)


def configure_limits(limits: SeatLimits, level: PriorityLevel, *, server_seats: int, share_sum: float) -> None:
    """Set the nominal seats of a level from its part of all shares, and its bounds for lending and borrowing."""
    limits.exempt = level.is_exempt
    limits.nominal = math.ceil(server_seats * level.nominal_concurrency_shares / share_sum) if share_sum else 0
    limits.minimum = limits.nominal - rounded(limits.nominal * level.lendable_percent / 100)
    percent = level.borrowing_limit_percent
    limits.maximum = limits.nominal + (server_seats if percent is None else rounded(limits.nominal * percent / 100))


def adjust_limits(levels: Collection[SeatLimits]) -> float:
    """Divide the nominal seats of all levels by their demand; return the fair proportion of seats to targets.

    An exempt level gets the seats that it needs. The others divide the rest; if that is too little, they get less than they need now, but
    at least their minimum.
    """
    total = sum(limits.nominal for limits in levels)
    left, limited = total, []
    for limits in levels:
        limits.target = max(limits.least, 0.0 if limits.exempt else limits.demand.smoothed)
        if limits.exempt:
            limits.current = limits.least
            left -= limits.least
        else:
            limited.append(limits)
    minimum, least = sum(limits.minimum for limits in limited), sum(limits.least for limits in limited)
    if left <= least:
        part = max(0, left - minimum) / (least - minimum) if least > minimum else 0.0
        for limits in limited:
            limits.current = limits.minimum + rounded((limits.least - limits.minimum) * part)
        return 0.0
    try:
        shares, proportion = allocate(total, [AllocationItem(limits.least, limits.maximum, limits.target) for limits in limited])
    except ValueError:
        # contradicting bounds, for example of few levels that may not borrow: all keep their current seats
        return 0.0
    for limits, share in zip(limited, shares, strict=True):
        limits.current = rounded(share)
    return proportion

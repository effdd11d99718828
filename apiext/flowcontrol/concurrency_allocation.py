"""Divides seats among priority levels (apiserver pkg/util/flowcontrol/conc_alloc.go)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

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

"""Ranges of costs and sizes in unsigned 64-bit arithmetic that saturates (cel-go checker.CostEstimate and SizeEstimate)."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

MAX_UINT64: Final = 2**64 - 1
"""The largest cost and size; it stands for everything above, too."""


class Estimate(NamedTuple):
    """The least and the most that an evaluation may cost, or that a value may have as its size."""

    min: int
    max: int

    def plus(self, other: Estimate) -> Estimate:
        """Return the range of sums."""
        return Estimate(min(self.min + other.min, MAX_UINT64), min(self.max + other.max, MAX_UINT64))

    def times(self, other: Estimate) -> Estimate:
        """Return the range of products."""
        return Estimate(min(self.min * other.min, MAX_UINT64), min(self.max * other.max, MAX_UINT64))

    def scaled(self, factor: float) -> Estimate:
        """Return the range multiplied by a factor and rounded up."""
        return Estimate(scale(self.min, factor), scale(self.max, factor))

    def union(self, other: Estimate) -> Estimate:
        """Return the smallest range that includes both."""
        return Estimate(min(self.min, other.min), max(self.max, other.max))


def scale(value: int, factor: float) -> int:
    """Return a value multiplied by a factor and rounded up; the product has the precision of a double, as in the reference."""
    return min(math.ceil(float(value) * factor), MAX_UINT64)


def exactly(value: int) -> Estimate:
    """Return the range of one value."""
    return Estimate(value, value)


ZERO: Final = exactly(0)
ONE: Final = exactly(1)
UNKNOWN: Final = Estimate(0, MAX_UINT64)
"""The size of a value without a limit."""
EMPTY: Final = Estimate(MAX_UINT64, 0)
"""The union of no ranges."""

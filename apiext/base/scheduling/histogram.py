"""Counts of durations by bucket, without a metrics library."""

from __future__ import annotations

from bisect import bisect_left


class Histogram:
    """Durations by bucket."""

    __slots__ = ("bounds", "buckets", "seconds")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.buckets = [0] * (len(bounds) + 1)
        """Observations per bucket, not cumulative; the last bucket has no bound."""
        self.seconds = 0.0

    def observe(self, seconds: float) -> None:
        """Count a duration."""
        self.buckets[bisect_left(self.bounds, seconds)] += 1
        self.seconds += seconds

    @property
    def count(self) -> int:
        """Return the number of observations."""
        return sum(self.buckets)

    def add(self, other: Histogram) -> None:
        """Add the observations of a histogram with the same bounds."""
        self.buckets = [mine + theirs for mine, theirs in zip(self.buckets, other.buckets, strict=True)]
        self.seconds += other.seconds

    def reset(self) -> None:
        """Count from zero again."""
        self.buckets = [0] * len(self.buckets)
        self.seconds = 0.0

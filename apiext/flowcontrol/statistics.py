"""Statistics of priority levels and flow schemas (apiserver pkg/util/flowcontrol/metrics).

Counting a request is a few additions, since every request pays for it. server/routes/flowcontrol_metrics.py renders the Prometheus format.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final, NamedTuple

from apiext.flowcontrol.phase import Phase
from apiext.meta.request import MUTATING, READ_ONLY

QUEUE_LENGTH_BUCKETS: Final = (0, 10, 25, 50, 100, 250, 500, 1000)
DURATION_BUCKETS: Final = (0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30)
"""Upper bounds of waiting and of execution, in seconds."""
WATCH_COUNT_BUCKETS: Final = (0, 1, 10, 100, 1000, 10000)
SEAT_BUCKETS: Final = (1, 2, 4, 8, 16, 32, 64, 100)
SEAT_UTILIZATION_BUCKETS: Final = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1)
REQUEST_UTILIZATION_BUCKETS: Final = (0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1)
READ_WRITE_BUCKETS: Final = (0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1)
DEMAND_BUCKETS: Final = (0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6)


class FlowHistogram:
    """Counts of observations between bounds, and their sum."""

    __slots__ = ("bounds", "buckets", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.buckets = [0] * (len(bounds) + 1)
        """Not cumulative; the last bucket has no bound."""
        self.total = 0.0

    def observe(self, value: float, weight: int = 1) -> None:
        """Count a value, as often as its weight."""
        self.buckets[bisect_left(self.bounds, value)] += weight
        self.total += value * weight

    def plus(self, value: float, weight: int) -> FlowHistogram:
        """Return a copy with one more value."""
        copy = FlowHistogram(self.bounds)
        copy.buckets, copy.total = list(self.buckets), self.total
        copy.observe(value, weight)
        return copy


class FlowStats:
    """Counts of the requests of a flow schema in a priority level."""

    __slots__ = (
        *(
            "dispatched",
            "executing",
            "executing_seats",
            "executions",
            "immediate",
            "no_accommodation",
            "queue_lengths",
            "rejected",
            "seats",
        ),
        *("waited", "waiting", "waiting_seats", "watch_counts"),
    )

    def __init__(self) -> None:
        self.dispatched = 0
        self.immediate = 0
        """Requests of one seat that were dispatched without entering a queue; the histograms do not contain them."""
        self.no_accommodation = 0
        """Dispatches that failed for want of seats."""
        self.rejected: Counter[str] = Counter()
        """Rejected requests by reason."""
        self.waiting = 0
        self.waiting_seats = 0
        self.executing = 0
        self.executing_seats = 0
        self.queue_lengths = FlowHistogram(QUEUE_LENGTH_BUCKETS)
        self.waited = {True: FlowHistogram(DURATION_BUCKETS), False: FlowHistogram(DURATION_BUCKETS)}
        """Seconds of waiting, by whether the request was executed."""
        self.executions = {"regular": FlowHistogram(DURATION_BUCKETS), "watch": FlowHistogram(DURATION_BUCKETS)}
        """Seconds of execution, by type."""
        self.seats = FlowHistogram(SEAT_BUCKETS)
        """Estimated seats of requests."""
        self.watch_counts = FlowHistogram(WATCH_COUNT_BUCKETS)
        """Watches that a write reaches."""

    def is_idle(self) -> bool:
        """Report whether no request waits or occupies seats."""
        return not self.waiting and not self.executing_seats


class Moments(NamedTuple):
    """The time-weighted distribution of a value over a period."""

    nanoseconds: int
    average: float
    deviation: float
    """Standard deviation."""


class Occupancy:
    """How long a count had which values, and the distribution of its ratio to a limit.

    The limit changes rarely: observations are divided by it when it changes, and when somebody reads them.
    """

    __slots__ = ("denominator", "histogram", "nanoseconds")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.nanoseconds: defaultdict[int, int] = defaultdict(int)
        """Time by value, since the last call of `fold`."""
        self.denominator = 1
        self.histogram = FlowHistogram(bounds)
        """Nanoseconds by ratio."""

    def fold(self, denominator: int | None = None) -> Moments:
        """Add the observations to the histogram, and change the limit; return their distribution."""
        elapsed = integral = squares = 0
        for value, nanoseconds in self.nanoseconds.items():
            self.histogram.observe(value / self.denominator, nanoseconds)
            elapsed += nanoseconds
            integral += value * nanoseconds
            squares += value * value * nanoseconds
        self.nanoseconds.clear()
        if denominator is not None:
            self.denominator = denominator
        if not elapsed:
            return Moments(0, 0.0, 0.0)
        average = integral / elapsed
        return Moments(elapsed, average, math.sqrt(max(0.0, squares / elapsed - average * average)))


class LevelTimes:
    """How long a priority level had how many requests and seats."""

    __slots__ = ("demand", "executing", "seats", "uncontended", "waiting")

    def __init__(self) -> None:
        self.waiting = Occupancy(REQUEST_UTILIZATION_BUCKETS)
        self.executing = Occupancy(REQUEST_UTILIZATION_BUCKETS)
        self.seats = Occupancy(SEAT_UTILIZATION_BUCKETS)
        self.demand = Occupancy(DEMAND_BUCKETS)
        self.uncontended: defaultdict[int, int] = defaultdict(int)
        """Nanoseconds without waiting requests, by the number of running requests of one seat each, until `settle`."""

    def add(self, nanoseconds: int, *, waiting: int, executing: int, seats: int, waiting_seats: int) -> None:
        """Count time with these requests and seats."""
        self.waiting.nanoseconds[waiting] += nanoseconds
        self.executing.nanoseconds[executing] += nanoseconds
        self.seats.nanoseconds[seats] += nanoseconds
        self.demand.nanoseconds[seats + waiting_seats] += nanoseconds

    def settle(self) -> None:
        """Count the uncontended time everywhere."""
        for requests, nanoseconds in self.uncontended.items():
            self.add(nanoseconds, waiting=0, executing=requests, seats=requests, waiting_seats=0)
        self.uncontended.clear()


class DispatchProgress(NamedTuple):
    """Progress of a queue set at its latest dispatch, in units of seat-seconds."""

    current: int = 0
    """Progress at the dispatch."""
    start: int = 0
    """Virtual start of the dispatched request."""
    least: int = 0
    """Least virtual start of the oldest requests of all queues."""
    greatest: int = 0
    least_discounted: int = 0
    """The same, less the estimated work in progress."""
    greatest_discounted: int = 0


class ReadWriteSamples:
    """How many requests of each kind run and wait, in proportion to how many of both kinds may.

    Samples at intervals replace observations of each change, which every request would pay for.
    """

    __slots__ = ("histograms",)

    def __init__(self) -> None:
        self.histograms = {
            (phase, kind): FlowHistogram(READ_WRITE_BUCKETS) for phase in (Phase.WAITING, Phase.EXECUTING) for kind in (READ_ONLY, MUTATING)
        }
        """Nanoseconds by ratio, by phase and kind."""

    def observe(self, requests: Mapping[tuple[Phase, str], int], limits: Mapping[Phase, int], nanoseconds: int) -> None:
        """Count an interval with these requests by phase and kind; the limits are those of the phases."""
        for (phase, kind), histogram in self.histograms.items():
            histogram.observe(requests.get((phase, kind), 0) / max(1, limits[phase]), nanoseconds)

"""Statistics of priority levels and flow schemas (apiserver pkg/util/flowcontrol/metrics).

Every request is counted, so counting one takes a few additions only. server/routes/flowcontrol_metrics.py renders the Prometheus format.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Self

from apiext.api.flowcontrol.phase import Phase
from apiext.api.flowcontrol.work_estimate import work_in_progress
from apiext.base.meta.request import MUTATING, READ_ONLY

QUEUE_LENGTH_BUCKETS: Final = (0, 10, 25, 50, 100, 250, 500, 1000)
DURATION_BUCKETS: Final = (0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30)
"""Upper bounds of waiting and of execution, in seconds."""
WATCH_COUNT_BUCKETS: Final = (0, 1, 10, 100, 1000, 10000)
SEAT_BUCKETS: Final = (1, 2, 4, 8, 16, 32, 64, 100)
SEAT_UTILIZATION_BUCKETS: Final = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1)
REQUEST_UTILIZATION_BUCKETS: Final = (0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1)
READ_WRITE_BUCKETS: Final = (0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1)
_BATCH: Final = 256
"""Durations that a histogram counts at once: sorting many is faster than searching the bucket of each."""
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
        """Count a value with a weight."""
        self.buckets[bisect_left(self.bounds, value)] += weight
        self.total += value * weight

    def observe_least(self) -> None:
        """Count a value of 0, which must be the lowest bound."""
        self.buckets[0] += 1

    def observe_all(self, values: Sequence[float]) -> None:
        """Count many values."""
        ordered, below = sorted(values), 0
        for index, bound in enumerate(self.bounds):
            least, below = below, bisect_right(ordered, bound)
            self.buckets[index] += below - least
        self.buckets[-1] += len(ordered) - below
        self.total += sum(ordered)

    def plus(self, value: float, weight: int) -> FlowHistogram:
        """Return a copy with one more value."""
        copy = FlowHistogram(self.bounds)
        copy.buckets, copy.total = list(self.buckets), self.total
        copy.observe(value, weight)
        return copy


class FlowStats:
    """Counts of the requests of a flow schema in a priority level."""

    __slots__ = (
        *("_durations", "_executions", "immediate", "more_seats", "no_accommodation", "not_immediate", "queue_lengths", "rejected"),
        *("seats", "waited", "waiting", "waiting_seats", "watch_counts"),
    )

    def __init__(self) -> None:
        self.immediate = 0
        """Requests of one seat that were dispatched without entering a queue; the histograms do not contain them."""
        self.not_immediate = 0
        """The other dispatched requests."""
        self.no_accommodation = 0
        """Dispatches that failed for want of seats."""
        self.rejected: Counter[str] = Counter()
        """Rejected requests by reason."""
        self.waiting = 0
        self.waiting_seats = 0
        self.more_seats = 0
        """Seats in use beyond one for each running request."""
        self.queue_lengths = FlowHistogram(QUEUE_LENGTH_BUCKETS)
        self.waited = {True: FlowHistogram(DURATION_BUCKETS), False: FlowHistogram(DURATION_BUCKETS)}
        """Seconds of waiting, by whether the request was executed."""
        self._executions = {"regular": FlowHistogram(DURATION_BUCKETS), "watch": FlowHistogram(DURATION_BUCKETS)}
        self._durations: list[int] = []
        """Nanoseconds of executions that the histogram does not contain yet."""
        self.seats = FlowHistogram(SEAT_BUCKETS)
        """Estimated seats of requests."""
        self.watch_counts = FlowHistogram(WATCH_COUNT_BUCKETS)
        """Watches that a write reaches."""

    @property
    def executions(self) -> Mapping[str, FlowHistogram]:
        """Seconds of execution, by type."""
        self._settle()
        return self._executions

    @property
    def dispatched(self) -> int:
        """The number of dispatched requests so far."""
        return self.immediate + self.not_immediate

    @property
    def executing(self) -> int:
        """The number of running requests."""
        return self.dispatched - sum(sum(histogram.buckets) for histogram in self.executions.values())

    @property
    def executing_seats(self) -> int:
        """The seats of running requests, and of requests in their additional latency."""
        return self.executing + self.more_seats

    def count_execution(self, nanoseconds: int, *, is_watch: bool) -> None:
        """Count a finished request."""
        if is_watch:
            self._executions["watch"].observe(nanoseconds / 1e9)
            return
        durations = self._durations
        durations.append(nanoseconds)
        if len(durations) >= _BATCH:
            self._settle()

    def _settle(self) -> None:
        durations = [nanoseconds / 1e9 for nanoseconds in self._durations]
        self._durations.clear()
        self._executions["regular"].observe_all(durations)

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
    """The time that a count spent at each value, and the distribution of its ratio to a limit.

    The limit changes rarely: `fold` divides the observations by it, before a change of the limit and before a read.
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
    """The time that a priority level spent at each number of requests and seats."""

    __slots__ = ("demand", "executing", "seats", "uncontended", "waiting")

    def __init__(self) -> None:
        self.waiting = Occupancy(REQUEST_UTILIZATION_BUCKETS)
        self.executing = Occupancy(REQUEST_UTILIZATION_BUCKETS)
        self.seats = Occupancy(SEAT_UTILIZATION_BUCKETS)
        self.demand = Occupancy(DEMAND_BUCKETS)
        self.uncontended: defaultdict[int, int] = defaultdict(int)
        """Nanoseconds without waiting requests, by the number of running requests of one seat each, until `settle`."""

    def add(self, nanoseconds: int, *, waiting: int, executing: int, seats: int, waiting_seats: int) -> None:
        """Add time with these numbers of requests and seats."""
        self.waiting.nanoseconds[waiting] += nanoseconds
        self.executing.nanoseconds[executing] += nanoseconds
        self.seats.nanoseconds[seats] += nanoseconds
        self.demand.nanoseconds[seats + waiting_seats] += nanoseconds

    def settle(self) -> None:
        """Add the uncontended time to all distributions."""
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
    """`least` with the estimated work in progress subtracted."""
    greatest_discounted: int = 0

    @classmethod
    def at_once(cls, current: int, start: int, seats: int) -> Self:
        """Return the progress at the dispatch of a request that did not wait; its queue has `seats` in use."""
        discounted = start - work_in_progress(seats)
        return cls(current, start, start, start, discounted, discounted)


class ReadWriteSamples:
    """The numbers of running and waiting requests of each kind, relative to the limit for both kinds.

    It samples at intervals, because an observation of each change would cost time in every request.
    """

    __slots__ = ("histograms",)

    def __init__(self) -> None:
        self.histograms = {
            (phase, kind): FlowHistogram(READ_WRITE_BUCKETS) for phase in (Phase.WAITING, Phase.EXECUTING) for kind in (READ_ONLY, MUTATING)
        }
        """Nanoseconds by ratio, by phase and kind."""

    def observe(self, requests: Mapping[tuple[Phase, str], int], limits: Mapping[Phase, int], nanoseconds: int) -> None:
        """Count an interval with these requests by phase and kind; `limits` has the limit of each phase."""
        for (phase, kind), histogram in self.histograms.items():
            histogram.observe(requests.get((phase, kind), 0) / max(1, limits[phase]), nanoseconds)

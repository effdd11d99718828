"""Admits requests to the seats of their priority levels (apiserver pkg/util/flowcontrol/apf_controller.go and apf_filter.go)."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from apiext.api.flowcontrol.fairqueuing.clock import Clock, LoopClock
from apiext.api.flowcontrol.fairqueuing.flow_queue import FlowRequest
from apiext.api.flowcontrol.fairqueuing.queue_set import QueueSet
from apiext.api.flowcontrol.phase import ENDED, TIMED_OUT, Phase, Rejected
from apiext.api.flowcontrol.seat_part import WHOLE
from apiext.api.flowcontrol.statistics import ReadWriteSamples
from apiext.base.meta.limits import MAX_QUEUE_WAIT_SECONDS
from apiext.base.scheduling.ticks import until_tick

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from apiext.api.flowcontrol.configuration.classifier import Classification
    from apiext.api.flowcontrol.configuration.priority_level import PriorityLevel
    from apiext.api.flowcontrol.seat_part import SeatPart
    from apiext.api.flowcontrol.statistics import FlowStats, Moments
    from apiext.api.flowcontrol.work_estimate import WorkEstimate
    from apiext.base.meta.request import RequestInfo, UserInfo

_SAMPLE_SECONDS: Final = 1
_SAMPLES_PER_ADJUSTMENT: Final = 10
"""Number of samples of current requests between two adjustments of the limits to the demand."""
_MAX_SEATS_PART: Final = 0.15
"""Maximum part of a priority level's seats for one request."""


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


@dataclass(slots=True)
class LevelState:
    """A priority level, its queues and its seats."""

    level: PriorityLevel
    queues: QueueSet
    limits: SeatLimits = field(default_factory=SeatLimits)
    is_new: bool = True
    quiescing: bool = False
    """Whether the level was removed but still has requests."""
    max_seats: int = 0
    """Maximum of seats in the estimate of a request, 0 for the default."""


class Controller:
    """Divides the seats of the server among priority levels, and the seats of a level among flows."""

    def __init__(self, *, seats: int, part: SeatPart = WHOLE, clock: Clock | None = None) -> None:
        """Create a controller without levels. `seats` is the number of seats of the server, of which this process has a part."""
        self.seats: Final = seats
        self._part = part
        self.clock: Clock = clock or LoopClock()
        self.levels: dict[str, LevelState] = {}
        """The priority levels by name."""
        self.fair_proportion = 0.0
        """Seats of a level that may neither borrow nor lend more, in proportion to its target."""
        self.samples = ReadWriteSamples()

    # --- configuration --------------------------------------------------------------------------------------------------

    def configure(self, priority_levels: Mapping[str, PriorityLevel]) -> None:
        """Replace the priority levels, the mandatory ones included.

        A removed level remains until its requests have ended.
        """
        for name, level in priority_levels.items():
            state = self.levels.get(name)
            if state is None:
                self.levels[name] = LevelState(level, QueueSet(self.clock))
            else:
                state.level, state.quiescing = level, False
        for name, state in self.levels.items():
            state.quiescing = name not in priority_levels
            state.queues.when_idle = self._reap if state.quiescing else None
        self._drop_quiescent()
        self._divide_seats()

    def forget_flows(self, used: Container[tuple[str, str]]) -> None:
        """Drop the statistics of flow schemas without requests that are not in `used`, pairs of priority level and name."""
        for level, state in self.levels.items():
            flows = state.queues.flows
            for name in [name for name, stats in flows.items() if (level, name) not in used and stats.is_idle()]:
                state.queues.forget_flow(name)

    def _drop_quiescent(self) -> None:
        for name, state in list(self.levels.items()):
            if state.quiescing and state.queues.is_idle():
                del self.levels[name]

    def _divide_seats(self) -> None:
        """Set the limits of all levels."""
        share_sum = sum(state.level.nominal_concurrency_shares for state in self.levels.values())
        # by name: all workers must give the levels the same turns
        for turn, (_, state) in enumerate(sorted(self.levels.items())):
            limits, level = state.limits, state.level
            configure_limits(limits, level, server_seats=self.seats, share_sum=share_sum)
            if self._part.workers > 1:
                limits.take_part(self._part, turn)
            if state.is_new:
                state.is_new = False
                limits.current = limits.nominal - (limits.nominal - limits.minimum) // 2
            if level.queuing is not None:
                part = min(math.ceil(limits.nominal * _MAX_SEATS_PART), limits.nominal // level.queuing.hand_size)
                state.max_seats = max(1, part)
        self.adjust()

    def adjust(self) -> None:
        """Adjust the current limits of all levels to their demand."""
        for state in self.levels.values():
            queues = state.queues
            queues.sync()
            queues.times.settle()
            state.limits.demand.update(queues.times.demand.fold(), queues.peak_demand)
            queues.peak_demand = queues.seats_in_use + queues.waiting_seats
        self.fair_proportion = adjust_limits([state.limits for state in self.levels.values()])
        for state in self.levels.values():
            current = state.limits.current
            state.queues.configure(state.level, limit=current, denominator=current or max(1, rounded(self._part.of(self.seats) / 10)))

    async def run(self) -> None:
        """Sample the requests every second, and adjust the limits every ten seconds, until cancelled."""
        while True:
            for _ in range(_SAMPLES_PER_ADJUSTMENT):
                await until_tick(_SAMPLE_SECONDS)
                self.sample(_SAMPLE_SECONDS * 1_000_000_000)
            self.adjust()

    def sample(self, nanoseconds: int) -> None:
        """Add the current requests to the samples, weighted with an interval."""
        seats = capacity = 0
        for state in self.levels.values():
            seats += state.limits.nominal
            if queuing := state.level.queuing:
                capacity += queuing.queues * queuing.queue_length_limit
        self.samples.observe(self.count_requests(), {Phase.EXECUTING: seats, Phase.WAITING: capacity}, nanoseconds)

    # --- requests -------------------------------------------------------------------------------------------------------

    def max_seats(self, priority_level: str) -> int:
        """Return the maximum of seats in the estimate of a request, 0 for the default."""
        state = self.levels.get(priority_level)
        return 0 if state is None else state.max_seats

    def count_requests(self) -> Counter[tuple[Phase, str]]:
        """Count the requests of all levels by phase and kind."""
        found: Counter[tuple[Phase, str]] = Counter()
        for state in self.levels.values():
            if not state.queues.is_idle():
                found.update((request.phase, request.digest[1].kind) for request in state.queues.requests())
        return found

    def stats(self, classification: Classification) -> FlowStats:
        """Return the statistics of the flow schema of a request."""
        return self.levels[classification.level.name].queues.flows[classification.schema.name]

    def start(self, classification: Classification, user: UserInfo, info: RequestInfo, estimate: WorkEstimate) -> FlowRequest:
        """Start a request, or put it into a queue; its phase tells which.

        Raises:
            Rejected: the request can neither run nor wait; `reason` has the cause.
        """
        queues = self.levels[classification.level.name].queues
        return queues.start(classification.schema.name, classification.flow, estimate, (user, info))

    async def wait(self, classification: Classification, request: FlowRequest, *, deadline: float) -> None:
        """Wait until a queued request gets its seats, at most a quarter of its deadline (in seconds).

        Raises:
            Rejected: the request waited too long.
        """
        queues, seconds = self.levels[classification.level.name].queues, min(deadline / 4, MAX_QUEUE_WAIT_SECONDS)
        decided = asyncio.get_running_loop().create_future()

        def dispatched() -> None:
            if not decided.done():
                decided.set_result(None)

        def timed_out() -> None:
            queues.cancel(request)
            dispatched()

        request.notify = dispatched
        timer = self.clock.call_later(round(seconds * 1e9), timed_out)
        try:
            await decided
        except asyncio.CancelledError:
            queues.cancel(request)
            request.finish()
            raise
        finally:
            timer.cancel()
            request.notify = None
        if request.phase is ENDED:
            raise Rejected(TIMED_OUT)

    def _reap(self) -> None:
        """Drop removed levels after their last request, and divide their seats."""
        self._drop_quiescent()
        self._divide_seats()

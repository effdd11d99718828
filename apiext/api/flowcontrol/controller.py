"""Admits requests to the seats of their priority levels (apiserver pkg/util/flowcontrol/apf_controller.go and apf_filter.go)."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from apiext.api.flowcontrol.borrowing import SeatLimits, adjust_limits, configure_limits, rounded
from apiext.api.flowcontrol.fairqueuing.clock import Clock, LoopClock
from apiext.api.flowcontrol.fairqueuing.flow_queue import FlowRequest
from apiext.api.flowcontrol.fairqueuing.queue_set import QueueSet
from apiext.api.flowcontrol.phase import ENDED, Phase
from apiext.api.flowcontrol.rejected import TIMED_OUT, Rejected
from apiext.api.flowcontrol.seat_part import WHOLE
from apiext.api.flowcontrol.statistics import ReadWriteSamples
from apiext.base.meta.limits import MAX_QUEUE_WAIT_SECONDS
from apiext.base.scheduling.ticks import until_tick

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from apiext.api.flowcontrol.configuration.classifier import Classification
    from apiext.api.flowcontrol.configuration.priority_level import PriorityLevel
    from apiext.api.flowcontrol.seat_part import SeatPart
    from apiext.api.flowcontrol.statistics import FlowStats
    from apiext.api.flowcontrol.work_estimate import WorkEstimate
    from apiext.base.meta.request import RequestInfo, UserInfo

_SAMPLE_SECONDS: Final = 1
_SAMPLES_PER_ADJUSTMENT: Final = 10
"""Number of samples of current requests between two adjustments of the limits to the demand."""
_MAX_SEATS_PART: Final = 0.15
"""Maximum part of a priority level's seats for one request."""


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

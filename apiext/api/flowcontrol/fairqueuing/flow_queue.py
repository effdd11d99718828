"""Requests and queues of a queue set (apiserver pkg/util/flowcontrol/fairqueuing/queueset/types.go)."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from apiext.api.flowcontrol.phase import EXECUTING, WAITING, Phase
from apiext.api.flowcontrol.work_estimate import ESTIMATED_SERVICE_NANOSECONDS, NANOSECONDS, work_in_progress
from apiext.base.meta.request import RequestInfo, UserInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from apiext.api.flowcontrol.statistics import FlowStats
    from apiext.api.flowcontrol.work_estimate import WorkEstimate

RequestDigest = tuple[UserInfo, RequestInfo]


class FlowRequest:
    """A request that waits for seats or occupies them; `finish` frees them."""

    __slots__ = (
        *("arrival", "arrival_progress", "digest", "distinguisher", "end", "estimate", "flow_schema", "notify", "phase", "queue"),
        *("started", "stats"),
    )

    def __init__(
        self,
        flow_schema: str,
        distinguisher: str,
        stats: FlowStats,
        estimate: WorkEstimate,
        digest: RequestDigest,
        arrival: int,
        end: Callable[[FlowRequest], None],
    ) -> None:
        self.flow_schema = flow_schema
        self.distinguisher = distinguisher
        self.stats = stats
        self.estimate = estimate
        self.digest = digest
        self.arrival = arrival
        """Nanoseconds of the clock."""
        self.arrival_progress = 0
        """Progress of the queue set at the arrival, if the request has to wait."""
        self.end = end
        self.started = 0
        """Nanoseconds of the clock at the dispatch."""
        self.phase: Phase = WAITING
        self.queue: FlowQueue | None = None
        self.notify: Callable[[], None] | None = None
        """Called at the dispatch of a waiting request."""

    def finish(self) -> None:
        """End the execution; later calls do nothing. A watch ends when it has sent the initial events."""
        if self.phase is EXECUTING:
            self.end(self)


class FlowQueue:
    """A queue: its waiting requests in order of arrival, and its running requests."""

    __slots__ = (
        *("executing", "index", "initial_seats", "more_running", "more_seats", "next_dispatch", "removed", "seats", "started"),
        *("waiting", "work"),
    )

    def __init__(self, index: int) -> None:
        self.index = index
        """Position among the queues of the set."""
        self.waiting: OrderedDict[FlowRequest, None] = OrderedDict()
        self.executing: set[FlowRequest] = set()
        self.next_dispatch = 0
        """Progress of the queue set at which the next request is dispatched in the virtual world."""
        self.more_seats = 0
        """Seats in use beyond one for each running request."""
        self.more_running = 0
        """Initial seats of the running requests beyond one for each."""
        self.started = 0
        """The sum over the running requests of start (nanoseconds of the clock) times initial seats."""
        self.initial_seats = 0
        """Initial seats of all waiting requests."""
        self.seats = 0
        """Maximum seats of all waiting requests."""
        self.work = 0
        """Work of all waiting requests."""
        self.removed = False

    @property
    def seats_in_use(self) -> int:
        """The seats of running requests, and of requests in their additional latency."""
        return len(self.executing) + self.more_seats

    def is_idle(self) -> bool:
        """Report whether no request waits or runs."""
        return not self.waiting and not self.executing

    def push(self, request: FlowRequest) -> None:
        """Append a request."""
        self.waiting[request] = None
        self.initial_seats += request.estimate.initial_seats
        self.seats += request.estimate.seats
        self.work += request.estimate.work

    def remove(self, request: FlowRequest) -> None:
        """Remove a waiting request."""
        del self.waiting[request]
        self.initial_seats -= request.estimate.initial_seats
        self.seats -= request.estimate.seats
        self.work -= request.estimate.work

    def head(self) -> FlowRequest:
        """Return the oldest waiting request; there must be one."""
        return next(iter(self.waiting))

    def overdue(self, now: int) -> int:
        """Return the work that running requests have done beyond their estimate."""
        running = len(self.executing) + self.more_running
        return max(0, (running * (now - ESTIMATED_SERVICE_NANOSECONDS) - self.started) // NANOSECONDS)

    def bound_next_dispatch(self) -> None:
        """Prevent a virtual dispatch before the arrival of the oldest request.

        Otherwise a queue could save up unused seats.
        """
        if self.waiting:
            self.next_dispatch = max(self.next_dispatch, self.head().arrival_progress)


def next_queue(
    queues: Iterable[FlowQueue], *, now: int, robin: int, number: int
) -> tuple[FlowQueue, FlowRequest, tuple[int, int, int, int]]:
    """Return the queue with the least virtual finish time, its oldest request, and the bounds of a DispatchProgress.

    Among equal queues, it is the next one after the index `robin` in the round of all `number` queues.
    """
    found: list[tuple[int, int, FlowQueue, FlowRequest]] = []
    starts: list[int] = []
    discounted: list[int] = []
    for queue in queues:
        oldest = queue.head()
        distance = (queue.index - robin - 1) % number
        found.append((queue.next_dispatch + queue.overdue(now) + oldest.estimate.work, distance, queue, oldest))
        starts.append(queue.next_dispatch)
        discounted.append(queue.next_dispatch - work_in_progress(queue.seats_in_use))
    _, _, queue, oldest = min(found, key=lambda item: item[:2])
    return queue, oldest, (min(starts), max(starts), min(discounted), max(discounted))

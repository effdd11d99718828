"""Fair queuing of the requests of a priority level (apiserver pkg/util/flowcontrol/fairqueuing/queueset).

Progress is the work, in units of seat-seconds, that each active queue could have done since the start. A queue's next dispatch is the
progress at which its oldest request starts if all queues share the seats equally. The set dispatches the request that would finish first.

Two differences from the reference prevent a small request from waiting for the long lists of another flow. The time of running requests
beyond their estimate counts at once, not when they end. And some seats are reserved for requests of one seat.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from apiext.api.flowcontrol.fairqueuing.flow_queue import FlowQueue, FlowRequest, next_queue
from apiext.api.flowcontrol.phase import CONCURRENCY_LIMIT, ENDED, EXECUTING, QUEUE_FULL, TIMED_OUT, WAITING, Rejected
from apiext.api.flowcontrol.shuffle_sharding import Dealer, Hands
from apiext.api.flowcontrol.statistics import DispatchProgress, FlowStats, LevelTimes
from apiext.api.flowcontrol.work_estimate import ESTIMATED_SERVICE_NANOSECONDS, NANOSECONDS, WorkEstimate, duration_per_seat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from apiext.api.flowcontrol.configuration.priority_level import PriorityLevel, QueuingConfiguration
    from apiext.api.flowcontrol.fairqueuing.clock import Clock
    from apiext.api.flowcontrol.fairqueuing.flow_queue import RequestDigest

_NARROW_PART: Final = 8
"""One of this number of seats is reserved for requests of one seat."""


class QueueSet:
    """The queues of a priority level, and its seats in use.

    All methods return at once. The caller waits, and calls `cancel` for a request that must not wait longer.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = clock.now()
        self._queuing: QueuingConfiguration | None = None
        self._hands: Hands | None = None
        self._exempt = False
        self.queues: list[FlowQueue] = []
        """More than configured while others drain after a change."""
        self._configured = 0
        """Queues of the configuration."""
        self._backlog: dict[FlowQueue, None] = {}
        """Queues with waiting requests."""
        self._active = 0
        """Queues with requests that wait or run."""
        self._robin = 0
        """Index of the last queue that dispatched."""
        self._enqueues = 0
        self._unqueued_seats = 0
        """Seats of requests that went through no queue."""
        self._more_seats = 0
        """Seats in use beyond one for each running request."""
        self._wide_seats = 0
        """Seats in use by requests of several seats."""
        self.unqueued: set[FlowRequest] = set()
        """Running requests that went through no queue."""
        self.limit = 0
        self._reserved = 0
        """Seats for requests of one seat."""
        self.progress = 0
        self.waiting = self.waiting_seats = self.executing = 0
        self.peak_demand = 0
        """The maximum of seats in use and waiting seats since the last adjustment of the limit."""
        self._forgotten = 0
        """Dispatched requests of forgotten flows."""
        self.rejected = self.cancelled = 0
        self.flows: defaultdict[str, FlowStats] = defaultdict(FlowStats)
        """Statistics by flow schema."""
        self._latest: DispatchProgress | tuple[int, int, int] = DispatchProgress()
        """The arguments of DispatchProgress.at_once, if the request did not wait."""
        self.when_idle: Callable[[], None] | None = None
        """Called when no request waits or runs any more."""
        self.times = LevelTimes()
        self._uncontended = self.times.uncontended
        self._end = self.finish

    @property
    def seats_in_use(self) -> int:
        """The seats of running requests, and of requests in their additional latency."""
        return self.executing + self._more_seats

    @property
    def dispatched(self) -> int:
        """The number of dispatched requests so far."""
        return self._forgotten + sum(stats.dispatched for stats in self.flows.values())

    @property
    def latest(self) -> DispatchProgress:
        """The progress at the latest dispatch."""
        found = self._latest
        return found if isinstance(found, DispatchProgress) else DispatchProgress.at_once(*found)

    def is_idle(self) -> bool:
        """Report whether no request waits or runs."""
        return not self.waiting and not self.executing

    def requests(self) -> Iterator[FlowRequest]:
        """Yield the waiting and running requests."""
        yield from self.unqueued
        for queue in self.queues:
            yield from queue.waiting
            yield from queue.executing

    def forget_flow(self, flow_schema: str) -> None:
        """Drop the statistics of a flow schema without requests."""
        self._forgotten += self.flows.pop(flow_schema).dispatched

    def configure(self, level: PriorityLevel, *, limit: int, denominator: int) -> None:
        """Change the queues and the limit of seats.

        Removed queues remain until their requests have ended.
        """
        self.sync()
        self._exempt = level.is_exempt
        if level.queuing != self._queuing:
            self._hands = Hands(Dealer(level.queuing.queues, level.queuing.hand_size)) if level.queuing else None
        self._queuing, capacity, self._configured = level.queuing, 1, 0
        if level.queuing is not None:
            wanted = self._configured = level.queuing.queues
            self.queues.extend(FlowQueue(index) for index in range(len(self.queues), wanted))
            capacity = wanted * max(1, level.queuing.queue_length_limit)
        for queue in reversed(self.queues[self._configured :]):
            self._drop_if_drained(queue)
        self.limit, self._reserved = limit, limit // _NARROW_PART
        times = self.times
        times.settle()
        times.waiting.fold(capacity)
        for occupancy in (times.executing, times.seats, times.demand):
            occupancy.fold(denominator)
        self._dispatch_all()

    def sync(self) -> int:
        """Advance the progress to the present; return the present in nanoseconds of the clock."""
        now = self._clock.now()
        elapsed = now - self._last
        if elapsed:
            self._last = now
            executing = self.executing
            demand = executing + self._more_seats + self.waiting_seats
            if self._active:
                seats = demand - self._unqueued_seats
                if seats > self.limit:  # noqa: PLR1730 -- a function call costs more
                    seats = self.limit
                self.progress += seats * elapsed // (self._active * NANOSECONDS)
            if demand == executing:
                self._uncontended[demand] += elapsed
            else:
                used = self.seats_in_use
                self.times.add(elapsed, waiting=self.waiting, executing=executing, seats=used, waiting_seats=self.waiting_seats)
        return now

    # --- arrival --------------------------------------------------------------------------------------------------------

    def start(self, flow_schema: str, distinguisher: str, estimate: WorkEstimate, digest: RequestDigest) -> FlowRequest:
        """Dispatch a request, or put it into a queue; its phase tells which.

        Raises:
            Rejected: the limit is reached, and the queue is full or there are no queues.
        """
        now = self.sync()
        stats = self.flows[flow_schema]
        request = FlowRequest(flow_schema, distinguisher, stats, estimate, digest, now, self._end)
        if self._queuing is None or self._hands is None:
            if not self._exempt and not self._fits(estimate.seats):
                raise self._reject(request, CONCURRENCY_LIMIT)
            self._execute(request, now)
            return request
        queue = self._choose_queue(self._hands[flow_schema, distinguisher])
        fits = not self.waiting and estimate.seats <= self.limit and self._fits(estimate.seats)
        if not fits and len(queue.waiting) >= self._queuing.queue_length_limit and self.seats_in_use >= self.limit:
            raise self._reject(request, QUEUE_FULL)
        request.queue = queue
        if not queue.waiting and not queue.executing:
            queue.next_dispatch = self.progress
            self._active += 1
        if fits:
            start = max(queue.next_dispatch, self.progress)
            self._latest = (self.progress, start, len(queue.executing) + queue.more_seats)
            queue.next_dispatch = start + estimate.work
            self._robin = queue.index
            self._execute(request, now)
            return request
        request.arrival_progress = self.progress
        queue.push(request)
        queue.bound_next_dispatch()
        stats.queue_lengths.observe(len(queue.waiting))
        self._backlog[queue] = None
        self._count_waiting(request, 1)
        self.peak_demand = max(self.peak_demand, self.seats_in_use + self.waiting_seats)
        self._dispatch_all()
        return request

    def _choose_queue(self, hand: tuple[int, ...]) -> FlowQueue:
        """Return the queue with the least waiting work among the queues of a hand."""
        # begin with different queues, for flows with overlapping hands
        offset = self._enqueues % len(hand)
        self._enqueues += 1
        queues = self.queues
        best = queues[hand[offset]]
        if best.work:
            for card in (*hand[offset + 1 :], *hand[:offset]):
                if queues[card].work < best.work:
                    best = queues[card]
        return best

    def _reject(self, request: FlowRequest, reason: str) -> Rejected:
        stats = request.stats
        self.rejected += 1
        stats.rejected[reason] += 1
        stats.seats.observe(request.estimate.seats)
        stats.waited[False].observe((self._last - request.arrival) / 1e9)
        if self.when_idle is not None and self.is_idle():
            self.when_idle()
        return Rejected(reason)

    # --- dispatch -------------------------------------------------------------------------------------------------------

    def _fits(self, seats: int) -> bool:
        """Report whether a request of this many seats can run. A request wider than the limit runs alone."""
        if seats > self.limit:
            return not self.executing
        limit = self.limit
        if seats > 1 and (free := self._free_reserved()) > 0:
            # the widest possible request must still fit
            limit -= min(free, limit - seats)
        return self.executing + self._more_seats + seats <= limit

    def _free_reserved(self) -> int:
        """Return the number of free seats among the reserved ones, 0 or less if there are none."""
        return self._reserved - (self.seats_in_use - self._wide_seats)

    def _execute(self, request: FlowRequest, now: int, *, queued: bool = False) -> None:
        """Occupy the seats of a request; `queued` if it has waited in its queue."""
        seats, queue, stats = request.estimate.seats, request.queue, request.stats
        request.phase = EXECUTING
        request.started = now
        self.executing += 1
        if queue is None:
            self.unqueued.add(request)
            self._unqueued_seats += seats
        else:
            queue.executing.add(request)
            queue.started += request.estimate.initial_seats * now
        if seats > 1:
            self._wide_seats += seats
            self._count_more_seats(request, seats - 1)
            if queue is not None:
                queue.more_running += request.estimate.initial_seats - 1
        if seats == 1 and not queued:
            stats.immediate += 1
        else:
            stats.not_immediate += 1
            stats.seats.observe(seats)
            if not self._exempt:
                stats.waited[True].observe((now - request.arrival) / 1e9)
            if queue is not None and not queued:
                stats.queue_lengths.observe(1)
        demand = self.executing + self._more_seats + self.waiting_seats
        if demand > self.peak_demand:  # noqa: PLR1730 -- a function call costs more
            self.peak_demand = demand

    def _dispatch_all(self) -> None:
        """Dispatch waiting requests while there are free seats."""
        while self.waiting and self.seats_in_use < self.limit and self._dispatch_next():
            pass

    def _dispatch_next(self) -> bool:
        """Dispatch the request that would finish first; return False if its seats are not free."""
        queue, request = self._next_queue(self._backlog)
        if not self._fits(request.estimate.seats):
            request.stats.no_accommodation += 1
            narrow = [queue for queue in self._backlog if queue.head().estimate.seats == 1] if self._free_reserved() > 0 else []
            if not narrow:
                return False
            queue, request = self._next_queue(narrow)
        self._leave_queue(request, queue)
        estimate = request.estimate
        if estimate.final_seats > self.limit:
            # spread the same work over fewer seats
            latency = duration_per_seat(estimate.final_work, self.limit)
            request.estimate = WorkEstimate(estimate.initial_seats, self.limit, latency)
        self._robin = queue.index
        self._execute(request, self._last, queued=True)
        queue.next_dispatch += estimate.work
        queue.bound_next_dispatch()
        if request.notify is not None:
            request.notify()
        return True

    def _next_queue(self, queues: Iterable[FlowQueue]) -> tuple[FlowQueue, FlowRequest]:
        """Return the queue with the least virtual finish time, and its oldest request; among equal queues the next in the round."""
        queue, oldest, bounds = next_queue(queues, now=self._last, robin=self._robin, number=len(self.queues))
        self._latest = DispatchProgress(self.progress, queue.next_dispatch, *bounds)
        return queue, oldest

    def _leave_queue(self, request: FlowRequest, queue: FlowQueue) -> None:
        queue.remove(request)
        if not queue.waiting:
            del self._backlog[queue]
        self._count_waiting(request, -1)

    def _count_waiting(self, request: FlowRequest, sign: int) -> None:
        seats = sign * request.estimate.seats
        self.waiting += sign
        self.waiting_seats += seats
        request.stats.waiting += sign
        request.stats.waiting_seats += seats

    # --- end ------------------------------------------------------------------------------------------------------------

    def cancel(self, request: FlowRequest) -> None:
        """Remove a waiting request; do nothing for any other."""
        self.sync()
        queue = request.queue
        if queue is None or request.phase is not WAITING:
            return
        request.phase = ENDED
        self._leave_queue(request, queue)
        self.cancelled += 1
        if queue.is_idle():
            self._active -= 1
            self._drop_if_drained(queue)
        queue.bound_next_dispatch()
        # the next request may need fewer seats
        self._dispatch_all()
        self._reject(request, TIMED_OUT)

    def finish(self, request: FlowRequest) -> None:
        """End the execution of a request; its seats are free now, or after its additional latency."""
        now = self.sync()
        queue, estimate = request.queue, request.estimate
        duration = now - request.started
        request.phase = ENDED
        self.executing -= 1
        request.stats.count_execution(duration, is_watch=request.digest[1].verb == "watch")
        if queue is None:
            self.unqueued.discard(request)
        else:
            seats = estimate.initial_seats
            queue.executing.discard(request)
            queue.started -= seats * request.started
            if seats > 1:
                queue.more_running -= seats - 1
            # replace the estimated duration by the real one
            queue.next_dispatch -= seats * (ESTIMATED_SERVICE_NANOSECONDS - duration) // NANOSECONDS
            if queue.waiting:
                queue.bound_next_dispatch()
            elif not queue.executing:
                self._active -= 1
        if estimate.additional_latency:
            self._count_more_seats(request, 1)
            self._clock.call_later(estimate.additional_latency, lambda: self._end_latency(request))
        else:
            self._release(request, estimate.seats - 1)
        if self.waiting:
            self._dispatch_all()
        if self.when_idle is not None and self.is_idle():
            self.when_idle()

    def _end_latency(self, request: FlowRequest) -> None:
        self.sync()
        self._release(request, request.estimate.seats)
        self._dispatch_all()

    def _release(self, request: FlowRequest, more: int) -> None:
        """Free the seats of a finished request; `more` of them are counted in `more_seats`."""
        seats, queue = request.estimate.seats, request.queue
        if seats > 1:
            self._wide_seats -= seats
        if more:
            self._count_more_seats(request, -more)
        if queue is None:
            self._unqueued_seats -= seats
        elif len(self.queues) > self._configured:
            self._drop_if_drained(queue)

    def _count_more_seats(self, request: FlowRequest, seats: int) -> None:
        self._more_seats += seats
        request.stats.more_seats += seats
        if request.queue is not None:
            request.queue.more_seats += seats

    def _drop_if_drained(self, queue: FlowQueue) -> None:
        """Remove an idle queue if there are more queues than configured."""
        if queue.removed or len(self.queues) <= self._configured or not queue.is_idle():
            return
        del self.queues[queue.index]
        for later in self.queues[queue.index :]:
            later.index -= 1
        queue.removed = True
        if self._robin >= queue.index:
            self._robin -= 1

"""Properties of queue sets that hold whatever happens."""

import contextlib

from hypothesis import given, settings
from hypothesis import strategies as st

from apiext.api.flowcontrol.fairqueuing.flow_queue import FlowRequest
from apiext.api.flowcontrol.phase import Phase, Rejected
from apiext.api.flowcontrol.work_estimate import WorkEstimate
from tests.unit.api.flowcontrol.fake_clock import SECOND
from tests.unit.api.flowcontrol.traffic import DIGEST, Client, Traffic, distinct_flows, level

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("start"), st.integers(0, 4), st.integers(1, 5), st.integers(0, 5)),
        st.tuples(st.just("finish"), st.integers(0, 50)),
        st.tuples(st.just("cancel"), st.integers(0, 50)),
        st.tuples(st.just("advance"), st.integers(0, 20_000_000)),
        st.tuples(st.just("configure"), st.integers(0, 6), st.integers(1, 20)),
    ),
    max_size=60,
)


class Model:
    """A queue set, and the requests that it has accepted."""

    def __init__(self) -> None:
        self.traffic = Traffic(level(4, 2, 3), 4)
        self.requests: list[FlowRequest] = []
        self.released: dict[FlowRequest, int] = {}
        """When the seats of finished requests become free."""

    def step(self, action: str, *arguments: int) -> None:
        """Take a step."""
        queues, clock = self.traffic.queues, self.traffic.clock
        if action == "start":
            flow, initial, final = arguments
            with contextlib.suppress(Rejected):
                self.requests.append(queues.start("schema", str(flow), WorkEstimate(initial, final, 3_000_000 if final else 0), DIGEST))
        elif action == "advance":
            clock.advance(arguments[0])
        elif action == "configure":
            number, limit = arguments
            queues.configure(level(number, min(number, 2), 3), limit=limit, denominator=limit)
        elif self.requests:
            request = self.requests[arguments[0] % len(self.requests)]
            if action == "cancel":
                queues.cancel(request)
            elif request.phase is Phase.EXECUTING:
                request.finish()
                self.released[request] = clock.time + request.estimate.additional_latency

    def check(self, before: set[FlowRequest]) -> None:
        """Check the counts of seats and requests."""
        queues, now = self.traffic.queues, self.traffic.clock.time
        waiting = [request for request in self.requests if request.phase is Phase.WAITING]
        executing = {request for request in self.requests if request.phase is Phase.EXECUTING}
        lingering = [request for request, until in self.released.items() if until > now]
        assert queues.waiting == len(waiting) == sum(len(queue.waiting) for queue in queues.queues)
        assert queues.waiting_seats == sum(request.estimate.seats for request in waiting) == sum(queue.seats for queue in queues.queues)
        assert queues.executing == len(executing) == len(queues.unqueued) + sum(len(queue.executing) for queue in queues.queues)
        assert queues.seats_in_use == sum(request.estimate.seats for request in (*executing, *lingering))
        stats = queues.flows["schema"]
        assert (stats.executing, stats.executing_seats, stats.dispatched) == (len(executing), queues.seats_in_use, queues.dispatched)
        for queue in queues.queues:
            assert queue.seats_in_use == sum(request.estimate.seats for request in (*executing, *lingering) if request.queue is queue)
        assert [queue.index for queue in queues.queues] == list(range(len(queues.queues)))
        if executing - before:
            assert queues.seats_in_use <= queues.limit or len(executing) == 1
        if waiting and not executing:
            assert queues.seats_in_use > 0


@given(STEPS)
@settings(max_examples=200, deadline=None)
def test_no_seat_is_lost_or_used_twice(steps: list[tuple[str, *tuple[int, ...]]]) -> None:
    """Count each seat once, keep the limit at each dispatch, and free all seats in the end."""
    model = Model()
    for step in steps:
        before = {request for request in model.requests if request.phase is Phase.EXECUTING}
        model.step(*step)
        model.check(before)

    queues = model.traffic.queues
    while running := [request for request in model.requests if request.phase is Phase.EXECUTING] or queues.waiting:
        if isinstance(running, list):
            running[0].finish()
        else:
            model.traffic.clock.advance(SECOND)
    model.traffic.clock.advance(SECOND)
    assert (queues.seats_in_use, queues.waiting_seats, queues.executing, queues.waiting) == (0, 0, 0, 0)
    assert {request.phase for request in model.requests} <= {Phase.ENDED}


@given(
    limit=st.integers(1, 6),
    threads=st.tuples(st.integers(6, 20), st.integers(6, 20)),
    runs=st.tuples(st.integers(2, 50), st.integers(2, 50)),
)
@settings(max_examples=15, deadline=None)
def test_two_flows_get_equal_seats(limit: int, threads: tuple[int, int], runs: tuple[int, int]) -> None:
    """Divide the seats equally between two demanding flows, whatever their number of connections and the duration of their requests."""
    flows = distinct_flows(2, 16, 2)
    clients = [Client(flow, number, run=run * SECOND // 1000, pause=0) for flow, number, run in zip(flows, threads, runs, strict=True)]

    used = Traffic(level(16, 2, 50), limit).run(clients, 4)

    assert sum(used) > 0.98 * limit
    assert abs(used[0] - used[1]) <= 0.25 * limit

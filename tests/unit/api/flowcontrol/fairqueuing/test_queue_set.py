"""Tests of fair queuing: scenarios of long duration, and single decisions."""

import pytest

from apiext.api.flowcontrol.fairqueuing.flow_queue import FlowRequest
from apiext.api.flowcontrol.phase import CONCURRENCY_LIMIT, QUEUE_FULL, Phase, Rejected
from apiext.api.flowcontrol.work_estimate import ONE_SEAT, WorkEstimate
from tests.unit.api.flowcontrol.fake_clock import SECOND
from tests.unit.api.flowcontrol.traffic import DIGEST, Client, Traffic, distinct_flows, level


def start(traffic: Traffic, flow: str = "a", estimate: WorkEstimate = ONE_SEAT) -> FlowRequest:
    """Start a request."""
    return traffic.queues.start("schema", flow, estimate, DIGEST)


def test_one_client_within_the_limit() -> None:
    """Give a client the seats that it asks for."""
    (used,) = Traffic(level(9, 1, 8), 4).run([Client("a", 1)], 20)

    assert used == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    "queues, hand, length, limit, seconds, margin, threads, widths",
    [
        (9, 1, 8, 4, 50, 0.01, (8, 8), (1, 1)),
        (8, 3, 16, 4, 60, 0.03, (8, 8), (1, 1)),
        (9, 1, 8, 4, 40, 0.01, (8, 7), (1, 1)),
        (64, 7, 13, 6, 20, 0.155, (13, 7), (1, 2)),
        (64, 7, 35, 6, 200, 0.35, (15, 15, 15, 15, 15), (2, 2, 2, 2, 7)),
    ],
    ids=["one queue each", "three queues each", "different demands", "different widths", "too wide"],
)
def test_flows_get_equal_seats(
    queues: int, hand: int, length: int, limit: int, seconds: int, margin: float, threads: tuple[int, ...], widths: tuple[int, ...]
) -> None:
    """Divide the seats equally among flows that want more than their part."""
    flows = distinct_flows(len(threads), queues, hand) if hand * len(threads) <= queues else list(map(str, range(len(threads))))
    clients = [Client(flow, number, estimate=WorkEstimate(width)) for flow, number, width in zip(flows, threads, widths, strict=True)]
    traffic = Traffic(level(queues, hand, length), limit)

    used = traffic.run(clients, seconds)

    average = sum(used) / len(used)
    assert used == pytest.approx([average] * len(used), rel=margin)
    assert average * len(used) > limit * 0.6
    assert not any(client.rejected for client in clients)


def test_a_flow_with_little_demand_gets_it() -> None:
    """Leave to other flows what a flow does not use."""
    one, two = distinct_flows(2, 9, 1)

    used = Traffic(level(9, 1, 6), 3).run([Client(one, 4), Client(two, 2)], 20)

    assert used == pytest.approx([2, 1], rel=0.01)


def test_an_elephant_does_not_delay_a_mouse() -> None:
    """Execute each request of a small flow next, however many requests of another one wait."""
    elephant, mouse = distinct_flows(2, 64, 8)
    traffic = Traffic(level(64, 8, 50), 4)
    clients = [Client(elephant, 100, pause=0), Client(mouse, 1, run=SECOND // 100, pause=SECOND, begin=10 * SECOND)]

    traffic.run(clients, 110)

    # a second until a seat is free, the request, and the pause
    assert clients[1].executed >= 100 // 2.02 - 1


def test_seats_saved_up_are_limited() -> None:
    """Bound what a flow gains that did not use its part for a while."""
    one, two = distinct_flows(2, 9, 1)
    traffic = Traffic(level(9, 1, 6), 3)
    clients = [Client(one, 2, pause=0), Client(two, 1, pause=0)]
    assert traffic.run(clients, 20) == pytest.approx([2, 1], rel=0.01)

    before, more = clients[1].executed, Client(two, 1, pause=0)
    traffic.run([more], 20)

    assert clients[1].executed - before + more.executed == pytest.approx(30, rel=0.27)


@pytest.mark.parametrize("exempt, limit, executed, rejected", [(True, 0, 20, 0), (False, 4, 4, 16)])
def test_without_queues(*, exempt: bool, limit: int, executed: int, rejected: int) -> None:
    """Execute everything on an exempt level; reject what exceeds the limit on a level without queues."""
    traffic, client = Traffic(level(exempt=exempt), limit), Client("a", 20)

    traffic.run([client], 1)

    assert (client.executed, client.rejected) == (executed, rejected)
    assert traffic.queues.flows["schema"].rejected == ({CONCURRENCY_LIMIT: rejected} if rejected else {})


def test_queue_length_limit() -> None:
    """Reject a request whose queue is full while there are no free seats."""
    traffic = Traffic(level(1, 1, 2), 1)
    running, waiting = start(traffic), [start(traffic) for _ in range(2)]

    with pytest.raises(Rejected) as rejected:
        start(traffic)

    assert rejected.value.reason == QUEUE_FULL
    running.finish()
    assert [request.phase for request in waiting] == [Phase.EXECUTING, Phase.WAITING]
    assert start(traffic).phase is Phase.WAITING


def test_a_flow_uses_the_least_loaded_queue_of_its_hand() -> None:
    """Spread the requests of a flow over the queues of its hand."""
    traffic = Traffic(level(8, 4, 50), 1)
    for _ in range(9):
        start(traffic)

    assert sorted(len(queue.waiting) for queue in traffic.queues.queues) == [0, 0, 0, 0, 2, 2, 2, 2]


def test_a_wide_request_waits_for_its_seats_and_holds_back_others() -> None:
    """Dispatch nothing else until the seats of the next request are free."""
    one, two = distinct_flows(2, 8, 1)
    traffic = Traffic(level(8, 1, 50), 4)
    running = [start(traffic, one) for _ in range(3)]
    wide = start(traffic, two, WorkEstimate(3))
    traffic.clock.advance(SECOND)
    narrow = start(traffic, two)

    running[0].finish()
    assert (wide.phase, narrow.phase) == (Phase.WAITING, Phase.WAITING)
    running[1].finish()
    assert (wide.phase, narrow.phase) == (Phase.EXECUTING, Phase.WAITING)
    assert wide.stats.no_accommodation >= 1


@pytest.mark.parametrize("seats, wanted", [(4, 9), (16, 16)], ids=["more than the limit", "almost all"])
def test_a_wide_request_runs_alone(seats: int, wanted: int) -> None:
    """Dispatch a request that needs more seats than there are, or than are left beside the kept ones, when nothing else runs."""
    traffic = Traffic(level(8, 1, 50), seats)
    first = start(traffic, "a")
    wide = start(traffic, "b", WorkEstimate(wanted))
    phases = [wide.phase]

    first.finish()

    assert [*phases, wide.phase] == [Phase.WAITING, Phase.EXECUTING]
    assert start(traffic, "a").phase is Phase.WAITING


def test_a_cancelled_wide_request_makes_room() -> None:
    """Dispatch the requests behind one that leaves its queue."""
    traffic = Traffic(level(1, 1, 50), 2)
    start(traffic)
    wide, narrow = start(traffic, "a", WorkEstimate(2)), start(traffic)

    traffic.queues.cancel(wide)
    traffic.queues.cancel(narrow)

    assert (wide.phase, narrow.phase) == (Phase.ENDED, Phase.EXECUTING)


def test_seats_are_kept_for_the_additional_latency() -> None:
    """Keep the seats of a finished request until its additional latency has passed."""
    traffic = Traffic(level(4, 1, 50), 2)
    request = start(traffic, "a", WorkEstimate(1, 2, 5_000_000))

    request.finish()

    assert (traffic.queues.executing, traffic.queues.seats_in_use) == (0, 2)
    waiting = start(traffic)
    phases = [waiting.phase]
    for nanoseconds in (4_999_999, 1):
        traffic.clock.advance(nanoseconds)
        phases.append(waiting.phase)
    assert phases == [Phase.WAITING, Phase.WAITING, Phase.EXECUTING]


def test_final_seats_above_the_limit_are_stretched() -> None:
    """Do the same work after the answer on as many seats as there are."""
    traffic = Traffic(level(4, 1, 50), 2)

    request = start(traffic, "a", WorkEstimate(1, 10, 5_000_000))

    assert (request.estimate.final_seats, request.estimate.additional_latency, traffic.queues.seats_in_use) == (2, 25_000_000, 2)
    request.finish()
    traffic.clock.advance(25_000_000)
    assert traffic.queues.seats_in_use == 0


def test_queues_are_removed_when_they_are_empty() -> None:
    """Keep the requests of queues that are not configured any more, and remove the queues after them."""
    traffic = Traffic(level(8, 1, 50), 1)
    requests = [start(traffic, str(number)) for number in range(20)]

    traffic.queues.configure(level(2, 1, 50), limit=1, denominator=1)

    assert len(traffic.queues.queues) > 2
    assert traffic.queues.waiting == 19
    for request in requests:
        assert request.phase is not Phase.ENDED
    while running := [request for request in requests if request.phase is Phase.EXECUTING]:
        running[0].finish()
    assert {request.phase for request in requests} == {Phase.ENDED}
    assert [queue.index for queue in traffic.queues.queues] == [0, 1]


def test_queuing_ends_while_requests_wait() -> None:
    """Reject new requests of a level that has lost its queues, and still dispatch the waiting ones."""
    traffic = Traffic(level(4, 1, 50), 1)
    running, waiting = start(traffic), start(traffic)

    traffic.queues.configure(level(), limit=1, denominator=1)

    with pytest.raises(Rejected):
        start(traffic)
    running.finish()
    assert waiting.phase is Phase.EXECUTING
    waiting.finish()
    assert (traffic.queues.queues, traffic.queues.is_idle()) == ([], True)


def test_a_higher_limit_dispatches() -> None:
    """Dispatch waiting requests as soon as the limit allows it."""
    traffic = Traffic(level(4, 1, 50), 1)
    start(traffic)
    waiting = [start(traffic) for _ in range(3)]

    traffic.queues.configure(level(4, 1, 50), limit=3, denominator=3)

    assert [request.phase for request in waiting] == [Phase.EXECUTING, Phase.EXECUTING, Phase.WAITING]


def test_seats_are_kept_for_requests_of_one_seat() -> None:
    """Run a narrow request at once while wide ones wait for seats, as long as few narrow ones run."""
    lists, gets = distinct_flows(2, 64, 6)
    traffic, wide = Traffic(level(64, 6, 50), 16), WorkEstimate(2)
    running = [start(traffic, lists, wide) for _ in range(8)]
    waiting = running.pop()
    narrow = [start(traffic, gets) for _ in range(3)]

    assert [request.phase for request in (*narrow, waiting)] == [Phase.EXECUTING, Phase.EXECUTING, Phase.WAITING, Phase.WAITING]
    running[0].finish()
    assert (waiting.phase, narrow[2].phase) == (Phase.WAITING, Phase.EXECUTING)
    narrow[0].finish()
    assert [waiting.phase] == [Phase.EXECUTING]


def test_each_arrival_counts_the_length_of_its_queue_once() -> None:
    """Count requests of any width that are dispatched at once, past waiting ones, or later; those of one seat without a queue apart."""
    lists, gets = distinct_flows(2, 64, 6)
    traffic, wide = Traffic(level(64, 6, 50), 16), WorkEstimate(2)
    start(traffic, gets)
    for _ in range(9):
        start(traffic, lists, wide)
    for _ in range(3):
        start(traffic, gets)

    stats = traffic.queues.flows["schema"]
    assert (stats.immediate, sum(stats.queue_lengths.buckets)) == (1, 12)
    assert sum(stats.waited[True].buckets) + stats.immediate == stats.dispatched


def test_long_requests_count_while_they_run() -> None:
    """Do not dispatch the next request of a flow whose running requests have taken long before the one of another flow."""
    elephant, mouse = distinct_flows(2, 8, 1)
    traffic = Traffic(level(8, 1, 50), 2)
    running = [start(traffic, elephant) for _ in range(6)]
    traffic.clock.advance(SECOND)
    request = start(traffic, mouse)
    traffic.clock.advance(1000)

    running[0].finish()

    assert request.phase is Phase.EXECUTING

"""Tests of the controller of priority levels."""

import asyncio

import pytest

from apiext.api.flowcontrol.configuration.classifier import Classification
from apiext.api.flowcontrol.configuration.flow_schema import Distinguisher, FlowSchema
from apiext.api.flowcontrol.configuration.priority_level import PriorityLevel, QueuingConfiguration
from apiext.api.flowcontrol.controller import Controller
from apiext.api.flowcontrol.fairqueuing.flow_queue import FlowRequest
from apiext.api.flowcontrol.phase import CONCURRENCY_LIMIT, QUEUE_FULL, TIMED_OUT, Phase, Rejected
from apiext.api.flowcontrol.work_estimate import ONE_SEAT
from apiext.base.meta.request import RequestInfo, UserInfo
from tests.unit.api.flowcontrol.fake_clock import SECOND, FakeClock

ALICE = UserInfo("alice")
GET = RequestInfo(is_resource=True, verb="get", resource="widgets", group="example.com", version="v1", namespace="default")
EXEMPT = PriorityLevel(name="exempt", is_exempt=True)
QUEUED = PriorityLevel(name="queued", nominal_concurrency_shares=10, queuing=QueuingConfiguration(4, 1, 2))
REJECTING = PriorityLevel(name="rejecting", nominal_concurrency_shares=10)


class Server:
    """A controller with a fake clock."""

    def __init__(self, *levels: PriorityLevel, seats: int = 2) -> None:
        self.clock = FakeClock()
        self.controller = Controller(seats=seats, clock=self.clock)
        self.configure(*levels)

    def configure(self, *levels: PriorityLevel) -> None:
        """Replace the levels."""
        self.controller.configure({level.name: level for level in levels})

    async def admit(self, level: PriorityLevel, *, user: UserInfo = ALICE, deadline: float = 60) -> FlowRequest:
        """Admit a GET of one seat."""
        schema = FlowSchema(name="all", priority_level=level.name, precedence=1, distinguisher=Distinguisher.BY_USER, rules=())
        classification = Classification(schema, level, user.name, {})
        request = self.controller.start(classification, user, GET, ONE_SEAT)
        if request.phase is Phase.WAITING:
            await self.controller.wait(classification, request, deadline=deadline)
        return request

    async def wait(self, level: PriorityLevel, *, deadline: float = 60) -> asyncio.Task[FlowRequest]:
        """Return a request that waits."""
        task = asyncio.create_task(self.admit(level, deadline=deadline))
        await asyncio.sleep(0)
        assert not task.done()
        return task


async def test_exempt_requests_are_never_limited() -> None:
    """Run all requests of an exempt level at once, even without seats."""
    server = Server(EXEMPT, seats=1)

    admissions = [await server.admit(EXEMPT) for _ in range(20)]

    assert server.controller.levels["exempt"].queues.executing == 20
    for admission in admissions:
        admission.finish()
        admission.finish()
    assert server.controller.levels["exempt"].queues.is_idle()


async def test_a_level_without_queues_rejects() -> None:
    """Reject a request above the limit at once, and admit the next one after an end."""
    server = Server(REJECTING)
    first, _ = await server.admit(REJECTING), await server.admit(REJECTING)
    with pytest.raises(Rejected) as rejected:
        await server.admit(REJECTING)
    first.finish()

    assert rejected.value.reason == CONCURRENCY_LIMIT
    (await server.admit(REJECTING)).finish()


async def test_a_request_waits_for_a_seat() -> None:
    """Dispatch the waiting request when another one ends."""
    server = Server(QUEUED)
    first, _ = await server.admit(QUEUED), await server.admit(QUEUED)
    waiting = await server.wait(QUEUED)
    server.clock.advance(SECOND)

    first.finish()

    (await waiting).finish()
    stats = server.controller.levels["queued"].queues.flows["all"]
    assert (stats.waiting, stats.executing, stats.dispatched) == (0, 1, 3)
    assert stats.waited[True].total == 1


async def test_a_full_queue_rejects() -> None:
    """Reject a request whose queue has reached its length limit."""
    server = Server(QUEUED)
    for _ in range(2):
        await server.admit(QUEUED)
    tasks = [await server.wait(QUEUED) for _ in range(2)]

    with pytest.raises(Rejected) as rejected:
        await server.admit(QUEUED)

    assert rejected.value.reason == QUEUE_FULL
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("deadline, limit", [(4, 1), (34, 8.5), (1000, 60)])
async def test_wait_limit(deadline: float, limit: float) -> None:
    """Let a request wait for a quarter of its deadline, and for a minute at most."""
    server = Server(QUEUED)
    for _ in range(2):
        await server.admit(QUEUED)
    waiting = await server.wait(QUEUED, deadline=deadline)

    server.clock.advance(round(limit * SECOND) - 1)
    await asyncio.sleep(0)
    assert not waiting.done()
    server.clock.advance(1)

    with pytest.raises(Rejected) as rejected:
        await waiting
    assert rejected.value.reason == TIMED_OUT
    queues = server.controller.levels["queued"].queues
    assert (queues.waiting, queues.waiting_seats, queues.rejected, queues.cancelled) == (0, 0, 1, 1)


async def test_a_client_that_goes_leaves_the_queue() -> None:
    """Remove the waiting request of a task that is cancelled."""
    server = Server(QUEUED)
    first, second = await server.admit(QUEUED), await server.admit(QUEUED)
    waiting = await server.wait(QUEUED)

    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting
    queues = server.controller.levels["queued"].queues
    assert (queues.waiting, queues.cancelled) == (0, 1)
    first.finish()
    second.finish()
    assert (queues.seats_in_use, queues.executing) == (0, 0)


async def test_a_client_that_goes_after_the_dispatch_gives_its_seat_back() -> None:
    """Free the seat of a request that was dispatched in the moment of its cancellation."""
    server = Server(QUEUED)
    first, _ = await server.admit(QUEUED), await server.admit(QUEUED)
    waiting = await server.wait(QUEUED)

    first.finish()
    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert server.controller.levels["queued"].queues.seats_in_use == 1


async def test_a_removed_level_remains_until_its_requests_have_ended() -> None:
    """Quiesce a level that is not configured any more, and drop it after its last request."""
    server = Server(EXEMPT, QUEUED)
    first, second = await server.admit(QUEUED), await server.admit(QUEUED)
    waiting = await server.wait(QUEUED)

    server.configure(EXEMPT, REJECTING)

    assert server.controller.levels["queued"].quiescing
    first.finish()
    second.finish()
    (await waiting).finish()
    assert set(server.controller.levels) == {"exempt", "rejecting"}


async def test_a_level_that_returns_keeps_its_requests() -> None:
    """Use the state of a quiescing level when it is configured again."""
    server = Server(QUEUED)
    admission = await server.admit(QUEUED)
    state = server.controller.levels["queued"]

    server.configure(REJECTING)
    server.configure(QUEUED)

    assert server.controller.levels["queued"] is state
    assert not state.quiescing
    admission.finish()


async def test_seats_are_divided_by_shares() -> None:
    """Divide the seats of the server by nominal shares, rounded up, and limit the width of requests."""
    big = PriorityLevel(name="big", nominal_concurrency_shares=40, lendable_percent=50, queuing=QueuingConfiguration(64, 6, 50))
    small = PriorityLevel(name="small", nominal_concurrency_shares=20, borrowing_limit_percent=50)
    server = Server(EXEMPT, big, small, seats=100)

    limits = {name: state.limits for name, state in server.controller.levels.items()}

    assert [(limits[name].minimum, limits[name].nominal, limits[name].maximum) for name in ("exempt", "big", "small")] == [
        (0, 0, 100),
        (33, 67, 167),
        (34, 34, 51),
    ]
    assert [server.controller.max_seats(name) for name in ("big", "small", "missing")] == [11, 0, 0]

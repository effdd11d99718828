"""Tests of the dumps, whose expected tables come from Go's text/tabwriter."""

import pytest

from apiext.api.flowcontrol.configuration.priority_level import PriorityLevel, QueuingConfiguration
from apiext.api.flowcontrol.controller import Controller
from apiext.api.flowcontrol.dumps import dump_priority_levels, dump_queues, dump_requests
from apiext.api.flowcontrol.work_estimate import ONE_SEAT, WorkEstimate
from apiext.base.meta.request import RequestInfo, UserInfo
from apiext.base.meta.steps import at_once
from tests.unit.api.flowcontrol.fake_clock import SECOND, FakeClock

EXEMPT = PriorityLevel(name="exempt", is_exempt=True)
QUEUED = PriorityLevel(name="global-default", nominal_concurrency_shares=1, queuing=QueuingConfiguration(1, 1, 5))
ROOT, ALICE = UserInfo("root"), UserInfo("alice")
HEALTH = RequestInfo(verb="get", path="/healthz")
LIST = RequestInfo(
    is_resource=True, verb="list", path="/apis/a.b/v1/ws", group="a.b", version="v1", resource="ws", namespace="default", name=""
)
WALL_CLOCK = 1_700_000_000 * SECOND


def cells(table: str) -> list[list[str]]:
    """Return the cells of a table."""
    return [[cell.strip() for cell in line.split(",")] for line in table.splitlines()]


@pytest.fixture
def controller() -> Controller:
    """Return a controller with an exempt request, one that runs and one that waits."""
    clock = FakeClock()
    found = Controller(seats=1, clock=clock)
    found.configure({"exempt": EXEMPT, "global-default": QUEUED})
    found.levels["exempt"].queues.start("exempt", "", ONE_SEAT, (ROOT, HEALTH))
    queues = found.levels["global-default"].queues
    queues.start("global-default", "alice", WorkEstimate(1, 1, 5_000_000), (ALICE, LIST))
    clock.advance(SECOND // 2)
    queues.start("global-default", "alice", WorkEstimate(2), (ALICE, LIST))
    return found


def test_priority_levels(controller: Controller) -> None:
    """Describe each priority level."""
    table = at_once(dump_priority_levels(controller))

    assert cells(table) == [
        [
            *("PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests", "ExecutingRequests", "DispatchedRequests"),
            *("RejectedRequests", "TimedoutRequests", "CancelledRequests"),
        ],
        ["exempt", "0", "false", "false", "0", "1", "1", "0", "0", "0"],
        ["global-default", "1", "false", "false", "1", "1", "1", "0", "0", "0"],
    ]
    assert table.splitlines()[1].startswith("exempt,            0,            false,  false,       0,               1, ")


def test_queues(controller: Controller) -> None:
    """Describe each queue."""
    assert cells(at_once(dump_queues(controller))) == [
        [
            *("PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse", "NextDispatchR", "InitialSeatsSum"),
            *("MaxSeatsSum", "TotalWorkSum"),
        ],
        ["global-default", "0", "1", "1", "1", "0.50000000ss", "2", "2", "0.00600000ss"],
    ]


def test_requests(controller: Controller) -> None:
    """Describe each request that waits or runs."""
    header, exempt, waiting, running = cells(at_once(dump_requests(controller, wall_clock=lambda: WALL_CLOCK)))

    assert header == [
        *("PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue", "FlowDistingsher", "ArriveTime", "InitialSeats"),
        *("FinalSeats", "AdditionalLatency", "StartTime"),
    ]
    before, now = "2023-11-14T22:13:19.500000Z", "2023-11-14T22:13:20.000000Z"
    assert waiting == ["global-default", "global-default", "0", "0", "alice", now, "2", "0", "0s", "0001-01-01T00:00:00Z"]
    assert running == ["global-default", "global-default", "0", "-1", "alice", before, "1", "1", "0.005s", before]
    assert exempt == ["exempt", "exempt", "-1", "-1", "", before, "1", "0", "0s", before]


def test_request_details(controller: Controller) -> None:
    """Add the user and the path."""
    lines = at_once(dump_requests(controller, details=True, wall_clock=lambda: WALL_CLOCK)).splitlines()

    assert [line.partition("  UserName, ")[2] for line in lines[:1]] == [
        "Verb,   APIPath,         Namespace, Name,   APIVersion, Resource, SubResource"
    ]
    assert lines[1].endswith(" root,     get,    /healthz,        ,          ,       ,           ,         ")
    assert lines[2].endswith(" alice,    list,   /apis/a.b/v1/ws, default,   ,       a.b/v1,     ws,       ")


@pytest.mark.parametrize("nanoseconds, text", [(1500, "1.5e-06s"), (16_000_000, "0.016s"), (61_500_000_000, "61.5s")])
def test_durations(nanoseconds: int, text: str) -> None:
    """Write durations in seconds."""
    controller = Controller(seats=1, clock=FakeClock())
    controller.configure({"exempt": EXEMPT})
    controller.levels["exempt"].queues.start("exempt", "", WorkEstimate(1, 1, nanoseconds), (ROOT, HEALTH))

    assert f" {text}," in at_once(dump_requests(controller))


def test_requests_that_end_meanwhile(controller: Controller) -> None:
    """Describe the requests as they were at the beginning, one in a step."""
    steps = dump_requests(controller, wall_clock=lambda: WALL_CLOCK)
    next(steps)
    for state in controller.levels.values():
        for request in (*state.queues.unqueued, *(one for queue in state.queues.queues for one in (*queue.executing, *queue.waiting))):
            state.queues.cancel(request)
            request.finish()

    rows = cells(at_once(steps))
    assert [row[-1] for row in rows[1:]] == ["2023-11-14T22:13:19.500000Z", "0001-01-01T00:00:00Z", "2023-11-14T22:13:19.500000Z"]

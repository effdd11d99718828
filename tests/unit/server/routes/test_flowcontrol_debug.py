"""Tests of the dumps of priority and fairness over HTTP."""

import pytest
from aiohttp.test_utils import make_mocked_request

from apiext.api.endpoints.responsewriters.response import Reply
from apiext.api.flowcontrol.configuration.configuration import BOOTSTRAP
from apiext.api.flowcontrol.controller import Controller
from apiext.api.flowcontrol.work_estimate import ONE_SEAT
from apiext.base.meta.request import RequestInfo, UserInfo
from apiext.server.routes.flowcontrol_debug import FlowControlDebug
from tests.unit.api.flowcontrol.fake_clock import FakeClock

QUEUES = sum(level.queuing.queues for level in BOOTSTRAP.levels.values() if level.queuing is not None)


@pytest.mark.parametrize(
    "name, status, header, rows",
    [
        ("dump_priority_levels", 200, "PriorityLevelName, ActiveQueues, ", 8),
        ("dump_queues", 200, "PriorityLevelName, Index,  PendingRequests, ", QUEUES),
        ("dump_requests", 200, "PriorityLevelName, FlowSchemaName, QueueIndex, ", 1),
        ("dump_requests?includeRequestDetails=1", 200, "PriorityLevelName, FlowSchemaName, QueueIndex, ", 1),
        ("dump_everything", 404, "404 page not found", 0),
    ],
)
async def test_dumps(name: str, status: int, header: str, rows: int) -> None:
    """Write a line for each row of the table, after the names of the columns."""
    controller = Controller(seats=100, clock=FakeClock())
    controller.configure(BOOTSTRAP.levels)
    controller.levels["exempt"].queues.start("exempt", "", ONE_SEAT, (UserInfo("root"), RequestInfo(verb="get", path="/healthz")))

    reply = await FlowControlDebug(controller)(make_mocked_request("GET", f"/debug/api_priority_and_fairness/{name}"))

    assert isinstance(reply, Reply)
    lines = b"".join(reply.parts).decode().splitlines()
    assert reply.status == status
    assert lines[0].startswith(header)
    assert len(lines) == rows + 1
    assert ("UserName" in lines[0]) is ("Details" in name)


async def test_names_that_are_not_utf8() -> None:
    """Write the bytes of a user name as the front proxy sent them."""
    controller = Controller(seats=100, clock=FakeClock())
    controller.configure(BOOTSTRAP.levels)
    controller.levels["exempt"].queues.start("exempt", "", ONE_SEAT, (UserInfo("J\udcfcrgen"), RequestInfo(verb="get", path="/healthz")))
    path = "/debug/api_priority_and_fairness/dump_requests?includeRequestDetails=1"

    reply = await FlowControlDebug(controller)(make_mocked_request("GET", path))

    assert isinstance(reply, Reply)
    assert b" J\xfcrgen," in b"".join(reply.parts)

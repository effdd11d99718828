"""The filter of API Priority and Fairness."""

import asyncio
import logging
from contextlib import suppress

import pytest
from aiohttp import web

from apiext.api.endpoints.request import WATCH_INITIALIZED, Handler
from apiext.api.endpoints.responsewriters.response import Reply
from apiext.api.filters.failures import ErrorRendering
from apiext.api.filters.metrics import RequestStats
from apiext.api.filters.priority_and_fairness import PriorityAndFairness
from apiext.api.filters.request_deadline import RequestDeadline
from apiext.api.filters.request_logging import RequestLogging
from apiext.api.flowcontrol.configuration.configuration import BOOTSTRAP, MANDATORY, configuration_steps
from apiext.api.flowcontrol.flow_control import FlowControl
from apiext.api.flowcontrol.phase import Phase
from apiext.api.flowcontrol.work_estimator import ObjectStats
from apiext.base.meta.host_annotations import IMPORT_PATH
from apiext.base.meta.request import AUTHENTICATED, MUTATING, READ_ONLY, UserInfo
from apiext.base.meta.steps import at_once
from tests.support.captured_logs import logged
from tests.unit.api.filters.conftest import ADMIN, Exchange, Make, hello
from tests.unit.api.flowcontrol.configuration.test_flow_schema import EVERYONE, EVERYTHING, schema
from tests.unit.api.flowcontrol.configuration.test_priority_level import queue

ANN = UserInfo("ann", (AUTHENTICATED,))
SCHEMA, LEVEL = "X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
WATCH = "/api/v1/namespaces?watch=1"
_ENOUGH_SEATS = 150
"""With one seat in all, most of the bootstrap levels have none, and a request waits there for a quarter of its deadline."""


class Gate:
    """A handler that waits until the test opens it."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.entered = 0

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return an answer once the gate is open."""
        self.entered += 1
        await self.opened.wait()
        return Reply(b"hello", content_type="text/plain")


def limited(handler: Handler, *, seats: int = 1, stored: ObjectStats | None = None) -> tuple[PriorityAndFairness, FlowControl]:
    """Return the filter with the mandatory objects, which reject what exceeds the seats."""
    control = FlowControl(seats=seats, objects=lambda *_: stored)
    chain = PriorityAndFairness(handler, flow_control=control, maximum=60.0, stats=RequestStats())
    return chain, control


async def start(exchange: Exchange, chain: Handler) -> "asyncio.Task[Exchange]":
    """Start a request and let it run as far as it can."""
    task = asyncio.create_task(exchange.through(chain))
    for _ in range(5):
        await asyncio.sleep(0)
    return task


async def test_names_the_classification(exchange: Make) -> None:
    """Add the uids of the FlowSchema and of the priority level to every answer."""
    chain, control = limited(hello, seats=_ENOUGH_SEATS)
    control.configure(BOOTSTRAP)
    done = await exchange(user=ANN).through(chain)

    assert done.status == 200
    by_name = {one.name: one.uid for one in BOOTSTRAP.schemas}
    assert (done.headers[SCHEMA], done.headers[LEVEL]) == (by_name["global-default"], BOOTSTRAP.levels["global-default"].uid)
    exempt = await exchange(user=ADMIN).through(chain)
    assert (exempt.headers[SCHEMA], exempt.headers[LEVEL]) == (by_name["exempt"], BOOTSTRAP.levels["exempt"].uid)


async def test_rejects_above_the_seats(exchange: Make) -> None:
    """Answer 429 where a level has no free seat and no queue; the exempt level has no limit."""
    gate = Gate()
    chain, control = limited(gate)
    first = await start(exchange(user=ANN), chain)

    done = await exchange(user=ANN).through(chain)

    assert (done.status, done.headers["Retry-After"]) == (429, "1")
    assert done.body == b"Too many requests, please try again later.\n"
    assert {SCHEMA, LEVEL} < done.headers.keys()
    exempt = await start(exchange(user=ADMIN, method="DELETE"), chain)
    assert gate.entered == 2
    assert control.controller.count_requests() == {(Phase.EXECUTING, READ_ONLY): 1, (Phase.EXECUTING, MUTATING): 1}

    gate.opened.set()
    assert [(await task).status for task in (first, exempt)] == [200, 200]
    assert not control.controller.count_requests()
    assert (await exchange(user=ANN).through(chain)).status == 200


async def test_a_client_that_leaves_frees_its_seat(exchange: Make) -> None:
    """Free the seat of a cancelled request."""
    gate = Gate()
    chain, _ = limited(gate)
    first = await start(exchange(user=ANN), chain)
    first.cancel()
    with suppress(asyncio.CancelledError):
        await first

    gate.opened.set()
    assert (await exchange(user=ANN).through(chain)).status == 200


async def test_watches_need_seats_while_they_begin(exchange: Make) -> None:
    """Free the seat of a watch when it has sent its initial events."""
    gate = Gate()

    async def watch(request: web.BaseRequest) -> web.StreamResponse:
        if gate.entered:
            request[WATCH_INITIALIZED]()
        return await gate(request)

    chain, _ = limited(watch)
    beginning = await start(exchange(WATCH, user=ANN), chain)
    assert (await exchange(user=ANN).through(chain)).status == 429
    beginning.cancel()
    with suppress(asyncio.CancelledError):
        await beginning
    begun = await start(exchange(WATCH, user=ANN), chain)

    other = await start(exchange(WATCH, user=ANN), chain)

    gate.opened.set()
    assert [(await task).status for task in (begun, other)] == [200, 200]


@pytest.mark.parametrize("path", ["/api/v1/namespaces/a/pods/b/log", f"{IMPORT_PATH}widgets.example.com"])
async def test_other_long_running_requests_need_no_seat(exchange: Make, path: str) -> None:
    """Pass other long-running requests on without a classification."""
    chain, control = limited(Gate())
    busy = await start(exchange(user=ANN), chain)
    chain = PriorityAndFairness(hello, flow_control=control, maximum=60.0, stats=RequestStats())

    done = await exchange(path, user=ANN).through(chain)

    assert (done.status, SCHEMA in done.headers) == (200, False)
    busy.cancel()


async def test_late_answers_have_no_classification(exchange: Make) -> None:
    """Send the answer to a request that times out without the headers of filters behind the deadline."""
    chain, _ = limited(Gate())
    late = ErrorRendering(RequestDeadline(chain, maximum=0.01, stats=RequestStats()))

    done = await exchange(user=ANN).through(late)

    assert (done.status, done.headers["Audit-Id"], SCHEMA in done.headers) == (504, "an-id", False)


async def test_waits_for_a_quarter_of_the_timeout(exchange: Make) -> None:
    """Reject a request that has waited for a quarter of its timeout; without one, and for a watch, the server's applies."""
    chain, control = limited(Gate())
    everything = {"subjects": EVERYONE, "resourceRules": [EVERYTHING]}
    control.configure(at_once(configuration_steps([schema(everything)], [queue()])))
    deadline = RequestDeadline(chain, maximum=60.0, stats=RequestStats())
    busy = await start(exchange(user=ANN), deadline)
    assert control.controller.levels["pl"].queues.seats_in_use == 1

    path = "/apis/example.com/v1/namespaces/default/widgets"
    waiting = [await start(exchange(f"{path}{rest}", user=ANN), deadline) for rest in ("/a", "?watch=1&timeout=400ms")]
    done = await exchange(f"{path}/a?timeout=400ms", user=ANN).through(deadline)

    assert (done.status, [task.done() for task in waiting]) == (429, [False, False])
    assert control.controller.count_requests() == {(Phase.EXECUTING, READ_ONLY): 1, (Phase.WAITING, READ_ONLY): 2}
    for task in (busy, *waiting):
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    assert not control.controller.count_requests()


@pytest.mark.parametrize(
    "path, seats",
    [
        (WIDGETS, 8),
        (f"{WIDGETS}?limit=100", 2),
        (f"{WIDGETS}?limit=500&continue=a", 8),
        (f"{WIDGETS}?limit=1&resourceVersion=0", 1),
        (f"{WIDGETS}?labelSelector=a%3Db&limit=1&resourceVersion=1", 8),
        (f"{WIDGETS}?fieldSelector=metadata.name%3Da", 1),
        (f"{WIDGETS}?limit=x", 8),
        (f"{WIDGETS}?watch=1", 8),
        (f"{WIDGETS}?watch=1&resourceVersion=5", 1),
        (f"{WIDGETS}?watch=1&resourceVersion=5&sendInitialEvents=true", 8),
        (f"{WIDGETS}?watch=1&resourceVersion=5&sendInitialEvents=yes", 8),
        (f"{WIDGETS}?watch=1&resourceVersion=5&sendInitialEvents=False", 1),
        (f"{WIDGETS}/a", 1),
    ],
)
async def test_lists_are_as_wide_as_what_they_read(exchange: Make, path: str, seats: int) -> None:
    """Give lists, and watches that begin with one, a seat for 100 kB, up to 8 of the 49 of the global-default level."""
    used = 0

    async def note(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal used
        used = control.controller.levels["global-default"].queues.seats_in_use
        return await hello(request)

    chain, control = limited(note, seats=600, stored=ObjectStats(3000, 2000))
    control.configure(BOOTSTRAP)

    await exchange(path, user=ANN).through(chain)

    assert (used, control.controller.levels["global-default"].queues.seats_in_use) == (seats, 0)


async def test_writes_reach_watches(exchange: Make) -> None:
    """Occupy seats after a write by the watches of its resource, which count while they are open."""
    gate = Gate()
    chain, control = limited(gate, seats=600)
    control.configure(BOOTSTRAP)
    watches = [await start(exchange(f"{WIDGETS}?watch=1", user=ANN), chain) for _ in range(25)]
    queues = control.controller.levels["global-default"].queues
    writing = await start(exchange(f"{WIDGETS}/a", user=ANN, method="DELETE"), chain)
    assert queues.seats_in_use == 25 + 3

    gate.opened.set()
    for task in (*watches, writing):
        await task

    assert queues.seats_in_use == 3
    await exchange(f"{WIDGETS}/a", user=ANN, method="DELETE").through(chain)
    assert queues.seats_in_use == 3


def test_mandatory_objects_have_no_uid() -> None:
    """Name no uid for a mandatory object that exists nowhere, as the reference does."""
    assert {one.uid for one in MANDATORY.schemas} == {""}


async def test_logs_the_classification(exchange: Make, caplog: pytest.LogCaptureFixture) -> None:
    """Log FlowSchema, priority level and seats of a request."""
    chain, control = limited(hello, seats=_ENOUGH_SEATS)
    control.configure(BOOTSTRAP)
    with caplog.at_level(logging.INFO):
        await exchange(user=ANN).through(RequestLogging(chain, everything=True))

    [line] = logged(caplog)
    assert (line["apf_fs"], line["apf_pl"]) == ("global-default", "global-default")
    assert (line["apf_iseats"], line["apf_fseats"], line["apf_additional_latency_ms"]) == (1, 0, 0.0)

"""Properties of the filter of API Priority and Fairness that hold whatever clients and administrators do."""

import asyncio

from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from hypothesis import given, settings
from hypothesis import strategies as st

from apiext.api.endpoints.request import HEADERS, INFO, TIMEOUT, USER, WATCH_INITIALIZED
from apiext.api.endpoints.responsewriters.response import Reply
from apiext.api.filters.metrics import RequestStats
from apiext.api.filters.priority_and_fairness import PriorityAndFairness
from apiext.api.flowcontrol.configuration.configuration import MANDATORY, Configuration
from apiext.api.flowcontrol.configuration.flow_schema import Distinguisher, FlowSchema, PolicyRule, ResourceRule, Subjects
from apiext.api.flowcontrol.configuration.priority_level import PriorityLevel, QueuingConfiguration
from apiext.api.flowcontrol.flow_control import FlowControl
from apiext.api.flowcontrol.work_estimator import ObjectStats
from apiext.base.meta.request import RequestInfo, UserInfo
from tests.support.event_loop import settle
from tests.unit.api.flowcontrol.fake_clock import FakeClock

_USERS = 4
_VERBS = ("get", "list", "watch", "create")
STEPS = st.lists(
    st.one_of(
        *[st.tuples(st.just("arrive"), st.integers(0, _USERS - 1), st.sampled_from(_VERBS))] * 3,
        st.tuples(st.sampled_from(("answer", "leave", "initialize")), st.integers(0, 30), st.just("")),
        st.tuples(st.just("advance"), st.integers(0, 20_000_000_000), st.just("")),
        st.tuples(st.just("configure"), st.integers(0, 7), st.sampled_from(("", "one", "two"))),
    ),
    min_size=10,
    max_size=60,
)


class _Request:
    """A request, which ends when the test answers it."""

    def __init__(self, number: int, verb: str) -> None:
        self.answered = asyncio.Event()
        self.request = make_mocked_request("GET", "/?resourceVersion=0")
        self.request[INFO] = RequestInfo(is_resource=True, verb=verb, group="g", resource="r", namespace="n", long_running=verb == "watch")
        self.request[USER] = UserInfo(f"user-{number}")
        self.request[HEADERS] = {}
        self.request[TIMEOUT] = 40.0


class _Server:
    """The filter with two levels for half of the users each."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.control = FlowControl(seats=4, objects=lambda *_: ObjectStats(1, 250_000))
        self.control.controller.clock = self.clock
        self.control.controller.levels.clear()
        self.chain = PriorityAndFairness(self._handle, flow_control=self.control, maximum=40.0, stats=RequestStats())
        self.known: dict[int, _Request] = {}
        self.tasks: list[tuple[_Request, asyncio.Task[web.StreamResponse]]] = []
        self.configure(3, "one")

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        await self.known[id(request)].answered.wait()
        return Reply(b"")

    def configure(self, queues: int, name: str) -> None:
        """Replace the levels and FlowSchemas, but for the mandatory ones if there is no name."""
        levels, schemas = dict(MANDATORY.levels), list(MANDATORY.schemas)
        if name:
            queuing = QueuingConfiguration(queues, 1, 2) if queues else None
            levels[name] = PriorityLevel(name=name, nominal_concurrency_shares=10, queuing=queuing)
            users = frozenset(f"user-{number}" for number in range(_USERS // 2))
            rule = PolicyRule(Subjects(users), (ResourceRule(None, None, None, None, cluster_scope=True),))
            schemas.insert(1, FlowSchema(name=name, priority_level=name, precedence=5, distinguisher=Distinguisher.BY_USER, rules=(rule,)))
        self.control.configure(Configuration(tuple(schemas), levels))

    def step(self, action: str, number: int, text: str) -> None:
        """Take a step."""
        if action == "arrive":
            made = _Request(number, text)
            self.known[id(made.request)] = made
            self.tasks.append((made, asyncio.ensure_future(self.chain(made.request))))
        elif action == "advance":
            self.clock.advance(number)
        elif action == "configure":
            self.configure(number, text)
        elif self.tasks:
            made, task = self.tasks[number % len(self.tasks)]
            if action == "answer":
                made.answered.set()
            elif action == "leave":
                task.cancel()
            elif WATCH_INITIALIZED in made.request:
                made.request[WATCH_INITIALIZED]()


async def _run(steps: list[tuple[str, int, str]]) -> None:
    server = _Server()
    for number, step in enumerate(steps):
        server.step(*step)
        # several steps happen in one iteration of the event loop, too
        if number % 3:
            await settle(number % 4)
    for made, _ in server.tasks:
        made.answered.set()
    await settle()
    server.clock.advance(60_000_000_000)
    done = await asyncio.gather(*(task for _, task in server.tasks), return_exceptions=True)
    server.clock.advance(60_000_000_000)

    for found in done:
        assert isinstance(found, (asyncio.CancelledError, web.StreamResponse)), found
    controller = server.control.controller
    assert not controller.count_requests()
    assert controller.levels.keys() == server.control.classifier.configuration.levels.keys()
    for state in controller.levels.values():
        queues = state.queues
        assert (queues.seats_in_use, queues.waiting_seats, queues.executing, queues.waiting) == (0, 0, 0, 0)
        assert [queue.index for queue in queues.queues] == list(range(state.level.queuing.queues if state.level.queuing else 0))
        assert all(stats.is_idle() and not stats.executing for stats in queues.flows.values())
    assert server.control.watches.interested(RequestInfo(group="g", resource="r", namespace="n")) == 0


@given(STEPS)
@settings(max_examples=150, deadline=None)
def test_no_seat_is_lost(steps: list[tuple[str, int, str]]) -> None:
    """Free all seats, queues and levels in the end, whenever clients leave, watches begin and levels change."""
    asyncio.run(_run(steps))

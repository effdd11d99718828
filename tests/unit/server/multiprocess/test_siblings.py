"""Questions between workers, and the answers of a whole server."""

import asyncio
import os
import socket
from collections import Counter
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request

from apiext.api.endpoints.responsewriters.response import Reply
from apiext.api.flowcontrol.configuration.configuration import BOOTSTRAP
from apiext.api.flowcontrol.controller import Controller
from apiext.api.flowcontrol.seat_part import SeatPart
from apiext.api.flowcontrol.work_estimate import ONE_SEAT
from apiext.base.meta.request import RequestInfo, UserInfo
from apiext.base.workers.messages import ProcessMessage, message_sockets, receive_message, send_message
from apiext.server.multiprocess import whole_flow_control
from apiext.server.multiprocess import worker as whole_health
from apiext.server.multiprocess.siblings import SiblingAnswer, Siblings
from apiext.server.multiprocess.whole_flow_control import WholeFlowControl, sum_levels
from apiext.server.multiprocess.worker import WholeHealth
from apiext.server.routes.healthz import PING, HealthCheck, HealthEndpoint, UnhealthyError
from tests.unit.api.flowcontrol.fake_clock import FakeClock


class _Switchboard:
    """Connects workers in one process, as the supervisor does."""

    def __init__(self, workers: int) -> None:
        self.channels: list[socket.socket] = []
        self.siblings: list[Siblings] = []
        self.gone: set[int] = set()
        self.asked: Counter[int] = Counter()
        """The questions of each worker."""
        self._theirs: list[socket.socket] = []
        for index in range(workers):
            ours, theirs = message_sockets()
            self.channels.append(ours)
            self._theirs.append(theirs)
            self.siblings.append(Siblings(theirs, index, workers))
            asyncio.get_running_loop().add_reader(ours, self._receive, index)

    def _receive(self, asker: int) -> None:
        message = receive_message(self.channels[asker])
        assert message is not None
        assert message.kind == "ask"
        self.asked[asker] += 1
        for index, channel in enumerate(self.channels):
            if index == asker:
                continue
            ours, theirs = socket.socketpair()
            with ours, theirs:
                there = index not in self.gone and send_message(channel, "question", descriptor=theirs.fileno())
                descriptor = ours.fileno() if there else None
                send_message(self.channels[asker], "connected", descriptor=descriptor, id=message.fields["id"], worker=index)

    def close(self) -> None:
        """Close all channels."""
        for channel, theirs, siblings in zip(self.channels, self._theirs, self.siblings, strict=True):
            asyncio.get_running_loop().remove_reader(channel)
            siblings.close()
            theirs.close()
            channel.close()


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the machine be slow: no worker here leaves a question of a whole server unanswered."""
    for module in (whole_flow_control, whole_health):
        monkeypatch.setattr(module, "ANSWER_SECONDS", 60.0)


@pytest.fixture
async def board() -> AsyncIterator[_Switchboard]:
    """Connect three workers."""
    found = _Switchboard(3)
    yield found
    found.close()


async def _answer(index: int, arguments: dict[str, Any]) -> bytes:
    times: int = arguments["times"]
    return f"{index} {arguments['what']}".encode() * times


async def test_answers_of_all_others(board: _Switchboard) -> None:
    """Return the answers in the order of the workers, also long ones and at the same time."""
    for siblings in board.siblings:
        siblings.on_question("echo", partial(_answer, siblings.index))

    short, long = await asyncio.gather(
        board.siblings[1].ask("echo", seconds=60, what="a", times=1), board.siblings[1].ask("echo", seconds=60, what="b", times=300_000)
    )

    assert short == [SiblingAnswer(1, b"0 a", is_there=True), SiblingAnswer(3, b"2 a", is_there=True)]
    assert [answer.data for answer in long] == [b"0 b" * 300_000, b"2 b" * 300_000]


async def test_workers_that_do_not_answer(board: _Switchboard) -> None:
    """Tell a worker that is not there from one that does not answer, and one that fails."""
    board.gone.add(1)
    forever = asyncio.Event()

    async def wait(_arguments: dict[str, Any]) -> bytes:
        await forever.wait()
        return b"late"

    board.siblings[2].on_question("echo", wait)

    late = await board.siblings[0].ask("echo", seconds=0.01)
    assert [(answer.number, answer.data) for answer in late] == [(2, None), (3, None)]
    board.siblings[2].on_question("echo", partial(_answer, 2))
    # "times" is missing in the arguments
    assert await board.siblings[0].ask("echo", seconds=60) == [
        SiblingAnswer(2, None, is_there=False),
        SiblingAnswer(3, None, is_there=True),
    ]
    board.gone.clear()
    # worker 2 does not know the question
    assert await board.siblings[0].ask("echo", seconds=60, what="a", times=1) == [
        SiblingAnswer(2, None, is_there=True),
        SiblingAnswer(3, b"2 a", is_there=True),
    ]


async def test_the_end_of_the_supervisor(board: _Switchboard) -> None:
    """Stop when the supervisor has ended, and at once when it says so twice."""
    send_message(board.channels[0], "stop")
    await asyncio.wait_for(board.siblings[0].stopping.wait(), 60)
    assert not board.siblings[0].hurry.is_set()
    send_message(board.channels[0], "stop")
    await asyncio.wait_for(board.siblings[0].hurry.wait(), 60)
    asyncio.get_running_loop().remove_reader(board.channels[1])

    board.channels[1].shutdown(socket.SHUT_RDWR)

    await asyncio.wait_for(board.siblings[1].stopping.wait(), 60)


def test_messages() -> None:
    """Pass values and a descriptor; report that the other end is closed."""
    ours, theirs = message_sockets()
    read, write = os.pipe()
    with ours, theirs, os.fdopen(read, "rb") as reader:
        assert send_message(ours, "ready", descriptor=write, facts={"a": "b"})
        os.close(write)
        message = receive_message(theirs)
        assert isinstance(message, ProcessMessage)
        assert (message.kind, message.fields) == ("ready", {"facts": {"a": "b"}})
        assert message.descriptor is not None
        os.write(message.descriptor, b"x")
        os.close(message.descriptor)
        assert reader.read() == b"x"
        with pytest.raises(BlockingIOError):
            receive_message(theirs)
        ours.close()
        assert receive_message(theirs) is None
        assert not send_message(theirs, "late")


def _health(siblings: Siblings, problem: list[str]) -> HealthEndpoint:
    async def probe() -> None:
        if problem:
            raise UnhealthyError(problem[0])

    (endpoint,) = WholeHealth(siblings).endpoints([HealthEndpoint("readyz", [PING, HealthCheck("store", probe)])])
    return endpoint


async def _text(endpoint: HealthEndpoint, path: str) -> tuple[int, str]:
    response = await endpoint(make_mocked_request("GET", path))
    assert isinstance(response, Reply)
    return response.status, b"".join(response.parts).decode()


async def test_health_of_the_whole(board: _Switchboard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pass if all workers pass; name the one that fails, with its reason on a path of its own."""
    monkeypatch.setattr("apiext.server.multiprocess.worker.ANSWER_SECONDS", 60.0)
    problems: list[list[str]] = [[], [], []]
    endpoints = [_health(siblings, problem) for siblings, problem in zip(board.siblings, problems, strict=True)]
    assert await _text(endpoints[0], "/readyz") == (200, "ok")
    verbose = await _text(endpoints[1], "/readyz?verbose")
    assert verbose == (200, "[+]ping ok\n[+]store ok\n[+]worker-1 ok\n[+]worker-3 ok\nreadyz check passed\n")

    problems[2].append("etcd is down")

    failed = "[+]ping ok\n[+]store ok\n[+]worker-2 ok\n[-]worker-3 failed: reason withheld\nreadyz check failed\n"
    assert await _text(endpoints[0], "/readyz") == (500, failed)
    assert await _text(endpoints[0], "/readyz/worker-3") == (500, "internal server error: worker 3: store: etcd is down\n")
    assert (await _text(endpoints[0], "/readyz?exclude=store"))[0] == 200
    assert (await _text(endpoints[0], "/readyz?exclude=worker-3"))[0] == 200
    board.gone.add(2)
    assert await _text(endpoints[0], "/readyz/worker-3") == (500, "internal server error: worker 3 is not running\n")
    assert endpoints[0].paths == ["/readyz", *(f"/readyz/{name}" for name in ("ping", "store", "worker-2", "worker-3"))]


async def test_requests_for_health_share_a_question(board: _Switchboard) -> None:
    """Ask once for requests at the same time, however many come, and again for later ones."""
    endpoints = [_health(siblings, []) for siblings in board.siblings]

    answers = await asyncio.gather(*(_text(endpoints[0], f"/readyz?exclude=nothing-{number}") for number in range(20)))

    assert {status for status, _ in answers} == {200}
    assert board.asked[0] == 1
    assert await _text(endpoints[0], "/readyz") == (200, "ok")
    assert board.asked[0] == 2
    assert await _text(endpoints[0], "/readyz?exclude=store") == (200, "ok")
    assert board.asked[0] == 3


async def test_flow_control_of_the_whole(board: _Switchboard) -> None:
    """Show one row for each level with the sums, and the requests of all workers."""
    handlers = []
    for siblings in board.siblings:
        controller = Controller(seats=100, part=SeatPart(siblings.index, 3), clock=FakeClock())
        controller.configure(BOOTSTRAP.levels)
        user = UserInfo(f"J\udcfcrgen-{siblings.index}")
        controller.levels["exempt"].queues.start("exempt", "", ONE_SEAT, (user, RequestInfo(verb="get", path="/healthz")))
        handlers.append(WholeFlowControl(controller, siblings))

    async def table(name: str) -> list[bytes]:
        reply = await handlers[1](make_mocked_request("GET", f"/debug/api_priority_and_fairness/{name}"))
        assert isinstance(reply, Reply)
        return b"".join(reply.parts).splitlines()

    levels = await table("dump_priority_levels")
    assert len(levels) == 1 + len(BOOTSTRAP.levels)
    (exempt,) = [line.replace(b" ", b"").split(b",") for line in levels if line.startswith(b"exempt,")]
    assert exempt[:6] == [b"exempt", b"0", b"false", b"false", b"0", b"3"]
    requests = await table("dump_requests?includeRequestDetails=1")
    assert [sum(b"J\xfcrgen-%d" % index in line for line in requests) for index in range(3)] == [1, 1, 1]
    queues = sum(level.queuing.queues for level in BOOTSTRAP.levels.values() if level.queuing is not None)
    assert len(await table("dump_queues")) == 1 + 3 * queues
    assert await table("dump_everything") == [b"404 page not found"]


def test_levels_of_some_workers() -> None:
    """Sum the numbers of a level; it is idle if it is idle in all workers, and quiescing if it is so in one."""
    first = [("a", "1", "true", "false", "1", "2", "3", "4", "5", "6"), ("b", "0", "true", "false", *["0"] * 6)]
    second = [("a", "2", "false", "true", "10", "20", "30", "40", "50", "60"), ("c", "0", "true", "true", *["7"] * 6)]

    assert sum_levels([first, second]) == [
        ("a", "3", "false", "true", "11", "22", "33", "44", "55", "66"),
        ("b", "0", "true", "false", *["0"] * 6),
        ("c", "0", "true", "true", *["7"] * 6),
    ]

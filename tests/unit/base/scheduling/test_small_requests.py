"""Small requests, for which long work makes room."""

import asyncio
from types import SimpleNamespace

import pytest

from apiext.base.scheduling import small_requests
from apiext.base.scheduling.small_requests import SmallRequests
from tests.support.event_loop import Clock, advance, settle


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the clock of the module."""
    clock = Clock()
    monkeypatch.setattr(small_requests, "time", SimpleNamespace(perf_counter=clock))
    return clock


async def under_way(requests: SmallRequests) -> tuple[asyncio.Task[None], asyncio.Event]:
    """Begin a small request in a task; return both the task and the event that ends the request."""
    ends = asyncio.Event()

    async def run() -> None:
        requests.begin()
        await ends.wait()
        requests.end()

    task = asyncio.create_task(run())
    await settle()
    return task, ends


async def test_expects_more(clock: Clock) -> None:
    """Expect more small requests for a quarter of a second after one."""
    requests = SmallRequests()
    before = requests.expected
    requests.note()
    after = requests.expected
    clock.now += 0.25

    assert [before, after, requests.expected] == [False, True, False]


async def test_holds_until_the_last_request_ends(clock: Clock) -> None:
    """Hold long work until the last small request ends, and resume it once."""
    requests, resumed = SmallRequests(), list[str]()
    assert not requests.hold(lambda: resumed.append("early"))
    requests.begin()
    other, other_ends = await under_way(requests)
    clock.now += 0.001

    assert requests.hold(lambda: resumed.append("now"))
    requests.end()
    assert not resumed
    other_ends.set()
    await other
    requests.begin()
    requests.end()
    assert resumed == ["now"]


async def test_ends_the_request_of_another_task(clock: Clock) -> None:
    """Resume long work when the request of a given task ends."""
    requests, resumed, begun = SmallRequests(), list[str](), list[asyncio.Task[object] | None]()

    async def begin() -> None:
        begun.append(requests.begin())

    await asyncio.create_task(begin())
    clock.now += 0.001
    assert requests.hold(lambda: resumed.append("now"))
    requests.end()
    assert not resumed
    requests.end(*begun)

    assert resumed == ["now"]


async def test_a_request_with_long_work_holds_nothing(clock: Clock) -> None:
    """Let long work continue when the only small request turns out to have long work; the end of a task without one changes nothing."""
    requests, resumed = SmallRequests(), list[str]()
    other, other_ends = await under_way(requests)
    clock.now += 0.001
    assert requests.hold(lambda: resumed.append("now"))
    requests.end()
    assert not resumed

    other_ends.set()
    await other

    assert resumed == ["now"]
    assert not requests.hold(lambda: None)


async def test_holds_for_half_of_the_time(clock: Clock) -> None:
    """Do not hold long work again for as long as it was held."""
    requests = SmallRequests()
    requests.begin()
    assert requests.hold(lambda: None)
    millisecond = 2**-10
    clock.now += 3 * millisecond
    requests.end()
    requests.begin()
    held = []
    for _ in range(4):
        held.append(requests.hold(lambda: None))
        clock.now += millisecond

    assert held == [False, False, False, True]


async def test_a_slow_request_does_not_hold(clock: Clock) -> None:
    """Resume long work after 5 ms, and hold it no more for a request that takes longer."""
    requests, resumed = SmallRequests(), list[str]()
    requests.begin()
    assert requests.hold(lambda: resumed.append("later"))
    clock.now += 0.005
    advance(0.005)
    await settle()
    clock.now += 0.006

    assert resumed == ["later"]
    assert not requests.hold(lambda: None)

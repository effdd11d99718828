"""Slices of long work."""

import asyncio
import math
from itertools import pairwise

import pytest

from apiext.base.meta.steps import Steps, at_once
from apiext.base.scheduling import small_requests, time_slice
from apiext.base.scheduling.small_requests import SmallRequests
from apiext.base.scheduling.tasks import end_tasks
from apiext.base.scheduling.time_slice import Pace, in_slices, paced
from tests.support.event_loop import settle


def counting(count: int, log: list[str], name: str) -> Steps[int]:
    """Log a name in each step, and return their number."""
    for _ in range(count):
        log.append(name)
        yield
    return count


@pytest.fixture(autouse=True)
def tiny_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pause after every step."""
    monkeypatch.setattr(time_slice, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(time_slice, "SHARED_SLICE_SECONDS", 0.0)
    monkeypatch.setattr(time_slice, "SHORT_SLICE_SECONDS", 0.0)


async def test_returns_the_result() -> None:
    """Return what the steps return, in slices and at once."""
    assert await in_slices(counting(3, [], "a")) == 3
    assert at_once(counting(3, [], "a")) == 3


async def test_urgent_work_does_not_queue() -> None:
    """Continue urgent work in each iteration, whatever else waits."""
    log: list[str] = []
    works = [asyncio.create_task(in_slices(counting(100, log, name))) for name in "abc"]
    await asyncio.sleep(0)
    urgent = Pace(urgent=True)
    for _ in range(10):
        assert urgent.due
        await urgent.pause()
    await end_tasks(*works)

    assert 3 + 5 <= len(log) <= 3 + 10


async def test_one_slice_in_each_iteration() -> None:
    """Run one slice of all paused work in each iteration of the event loop, in turn, and none of cancelled work."""
    log: list[str] = []
    works = [asyncio.create_task(in_slices(counting(4, log, name))) for name in "abc"]
    gone = asyncio.create_task(in_slices(counting(4, log, "x")))
    await asyncio.sleep(0)
    gone.cancel()
    sizes = []
    while not all(work.done() for work in works):
        sizes.append(len(log))
        await asyncio.sleep(0)

    assert "".join(log) == "abcx" + "abc" * 3
    assert max(after - before for before, after in pairwise(sizes)) == 1


def _fresh(monkeypatch: pytest.MonkeyPatch) -> SmallRequests:
    """Forget the small requests so far."""
    requests = SmallRequests()
    monkeypatch.setattr(time_slice, "SMALL_REQUESTS", requests)
    return requests


async def test_short_slices_while_small_requests_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pause sooner after a small request has come; urgent work does not."""
    monkeypatch.setattr(time_slice, "SLICE_SECONDS", 1000.0)
    monkeypatch.setattr(small_requests, "EXPECTED_SECONDS", 1000.0)
    requests = _fresh(monkeypatch)
    pace, urgent = Pace(), Pace(urgent=True)
    due = [pace.due, urgent.due]

    requests.note()
    for each in (pace, urgent):
        await each.pause()

    assert [*due, pace.due, urgent.due] == [False, False, True, False]
    _fresh(monkeypatch)
    await pace.pause()
    assert not pace.due


async def test_work_waits_for_small_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do no work while a small request is under way, and continue at its end."""
    monkeypatch.setattr(small_requests, "HOLD_SECONDS", 1000.0)
    requests = _fresh(monkeypatch)
    log: list[str] = []
    work = asyncio.create_task(in_slices(counting(3, log, "a")))
    await asyncio.sleep(0)
    requests.begin()
    await settle()
    held = "".join(log)
    requests.end()
    await work

    assert (held, "".join(log)) == ("a", "aaa")


async def test_a_small_request_does_not_hold_its_own_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Continue the work of a request that was taken for a small one, while nothing else is under way."""
    monkeypatch.setattr(small_requests, "HOLD_SECONDS", 1000.0)
    requests = _fresh(monkeypatch)
    monkeypatch.setattr(time_slice, "SHARED_SLICE_SECONDS", 0.0)
    log: list[str] = []
    requests.begin()

    await in_slices(counting(3, log, "a"))

    assert log == ["a"] * 3


async def test_yields_paced_items() -> None:
    """Yield all items in order, and let other work run between them."""
    log: dict[str, None] = {}

    async def walk(name: str) -> None:
        async for number in paced(range(3)):
            log[f"{name}{number}"] = None

    await asyncio.gather(walk("a"), walk("b"))

    assert list(log) == ["a0", "b0", "a1", "b1", "a2", "b2"]


async def test_checkpoints_pause_only_at_the_end_of_a_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let other work run at a checkpoint after the end of the slice, and not before."""
    log: list[str] = []
    pace = Pace()
    other = asyncio.create_task(in_slices(counting(1, log, "other")))

    await pace.checkpoint()
    assert log == ["other"]
    monkeypatch.setattr(pace, "until", math.inf)
    later = asyncio.create_task(in_slices(counting(1, log, "later")))
    await pace.checkpoint()
    assert log == ["other"]

    await asyncio.gather(other, later)

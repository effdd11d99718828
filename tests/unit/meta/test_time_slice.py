"""Slices of long work."""

import asyncio
from itertools import pairwise

import pytest

from apiext.meta import time_slice
from apiext.meta.tasks import end_tasks
from apiext.meta.time_slice import Pace, Steps, at_once, in_slices


def counting(count: int, log: list[str], name: str) -> Steps[int]:
    """Log a name in each step, and return their number."""
    for _ in range(count):
        log.append(name)
        yield
    return count


@pytest.fixture(autouse=True)
def tiny_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pause after every step."""
    monkeypatch.setattr(time_slice, "_SLICE_SECONDS", 0.0)
    monkeypatch.setattr(time_slice, "_SHORT_SLICE_SECONDS", 0.0)


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

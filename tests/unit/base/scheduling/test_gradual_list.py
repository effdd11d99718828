"""Lists whose objects are freed in slices."""

import asyncio
from collections.abc import Callable

import pytest

from apiext.base.scheduling import time_slice
from apiext.base.scheduling.gradual_list import GradualList, GradualListOfLarge


class Freed:
    """Calls a function when it is freed."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call

    def __del__(self) -> None:
        self._call()


class Things:
    """Makes objects, and counts those that were freed."""

    def __init__(self) -> None:
        self.freed = 0

    def make(self, count: int, kind: type[GradualList[Freed]] = GradualList) -> GradualList[Freed]:
        """Return a list of new objects."""
        return kind(Freed(self._count) for _ in range(count))

    def _count(self) -> None:
        self.freed += 1


@pytest.mark.parametrize("kind, count, step", [(GradualList, 5000, 256), (GradualListOfLarge, 5, 1)])
async def test_frees_in_slices(monkeypatch: pytest.MonkeyPatch, kind: type[GradualList[Freed]], count: int, step: int) -> None:
    """Let other tasks run between the objects of a long list; a copy of the list keeps them."""
    monkeypatch.setattr(time_slice, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(time_slice, "SHARED_SLICE_SECONDS", 0.0)
    monkeypatch.setattr(time_slice, "SHORT_SLICE_SECONDS", 0.0)
    things = Things()
    long = things.make(count, kind)
    copy = long[:]
    del long
    assert things.freed == 0
    long = kind(copy)
    del copy, long
    steps: list[int] = []
    while things.freed < count:
        before = things.freed
        await asyncio.sleep(0)
        steps.append(things.freed - before)

    assert max(steps) <= step
    assert len([freed for freed in steps if freed]) >= count // step


async def test_frees_few_at_once() -> None:
    """Free a short list at once, without a task."""
    things = Things()
    short = things.make(10)
    del short

    assert things.freed == 10


def test_frees_without_an_event_loop() -> None:
    """Free everything at once where no event loop runs."""
    things = Things()
    long = things.make(5000)
    del long

    assert things.freed == 5000

"""Work that is too long for the event loop and too short for a worker process."""

import asyncio
import threading
import time
from collections.abc import Callable
from itertools import count
from types import SimpleNamespace

import pytest

from apiext.base.scheduling import inline_work
from apiext.base.scheduling.inline_work import HeavyWorkError, InlineWork, bounded, current_work

_LOOP, _THREAD = "MainThread", "bounded_0"
_LATER = count(1)


@pytest.fixture(autouse=True)
def _forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget between tests whose work was long."""
    later = next(_LATER)
    monkeypatch.setattr(inline_work, "time", SimpleNamespace(**{**vars(time), "monotonic": lambda: time.monotonic() + later}))


class _Work:
    """Takes a number of steps, and notes the threads that try it."""

    def __init__(self, steps: int) -> None:
        self.threads: list[str] = []
        self._steps = steps

    def __call__(self) -> str:
        self.threads.append(threading.current_thread().name)
        current_work().step(self._steps)
        return "done"


@pytest.mark.parametrize(
    "steps, threads", [(1, [_LOOP]), (2_000, [_LOOP, _THREAD])], ids=["short work stays on the loop", "medium work goes to the thread"]
)
async def test_work_that_ends(steps: int, threads: list[str]) -> None:
    """Return its result."""
    work = _Work(steps)

    with InlineWork():
        assert await bounded(work, work) == "done"
    assert work.threads == threads


async def test_long_work_goes_to_a_worker_process() -> None:
    """Try it in the thread once; later work of its owner goes to a worker process at once, and work of others does not."""
    long, medium = _Work(20_000), _Work(2_000)

    for _ in range(2):
        with InlineWork(), pytest.raises(HeavyWorkError):
            await bounded(long, "owner")
    with InlineWork():
        assert await bounded(medium, "another owner") == "done"
    with InlineWork(), pytest.raises(HeavyWorkError):
        await bounded(medium, "owner")

    assert long.threads == [_LOOP, _THREAD, _LOOP]
    assert medium.threads == [_LOOP, _THREAD, _LOOP]


async def test_work_without_limits_stays_where_it_is() -> None:
    """In a worker process, nothing takes too long."""
    work = _Work(20_000)

    assert await bounded(work, work) == "done"
    assert work.threads == [_LOOP]


async def test_work_waits_for_little_other_work() -> None:
    """Send work to a worker process while another one waits for the thread."""
    proceed = threading.Event()

    async def blocked() -> bool:
        def work() -> bool:
            if threading.current_thread() is threading.main_thread():
                raise HeavyWorkError
            return proceed.wait()

        with InlineWork():
            return await bounded(work, work)
        return False

    waiting = [asyncio.create_task(blocked()) for _ in range(2)]
    await asyncio.sleep(0)
    try:
        with InlineWork(), pytest.raises(HeavyWorkError):
            await bounded(_Work(2_000), "another")
    finally:
        proceed.set()
    assert await asyncio.gather(*waiting) == [True, True]


@pytest.mark.parametrize("error", [ValueError, HeavyWorkError])
async def test_errors(error: type[Exception]) -> None:
    """Raise the errors of work in the thread; its limits end with it."""

    def failing() -> None:
        raise HeavyWorkError if threading.current_thread() is threading.main_thread() else error

    work: Callable[[], None] = failing
    with InlineWork(), pytest.raises(error):
        await bounded(work, work)
    assert not current_work().is_limited

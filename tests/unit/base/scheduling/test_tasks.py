"""Cancellation of tasks, and shared tasks."""

import asyncio
import gc
import weakref
from contextlib import suppress
from functools import partial

import pytest

from apiext.base.scheduling.tasks import SharedWork, end_tasks, shared_task
from tests.support.event_loop import settle


async def test_ends_all_tasks() -> None:
    """Cancel running tasks, wait for them, and ignore their results and exceptions."""
    steps: list[str] = []

    async def go_on() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            steps.append("cleaned up")

    async def fail() -> None:
        raise RuntimeError("no")

    tasks = [asyncio.create_task(go_on()), asyncio.create_task(fail())]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    await end_tasks(*tasks)
    await end_tasks()

    assert steps == ["cleaned up"]
    assert [task.done() for task in tasks] == [True, True]


async def test_a_shared_task_outlives_its_callers(caplog: pytest.LogCaptureFixture) -> None:
    """Go on without a cancelled caller, and log no exception that nobody awaits."""
    go_on = asyncio.Event()

    async def fail() -> None:
        await go_on.wait()
        raise RuntimeError("no")

    task = shared_task(fail())
    caller = asyncio.ensure_future(asyncio.shield(task))
    await asyncio.sleep(0)
    await end_tasks(caller)
    go_on.set()
    await asyncio.wait([task])
    del task, caller
    gc.collect()

    assert caplog.records == []


async def test_equal_work_is_done_once() -> None:
    """Share the result or the exception of work with equal keys; do it again for later callers."""
    shared: SharedWork[int] = SharedWork()
    done: list[str] = []

    async def work(name: str) -> int:
        await asyncio.sleep(0)
        done.append(name)
        if name == "bad":
            raise RuntimeError(name)
        return len(done)

    assert await asyncio.gather(*(shared.run(name, partial(work, name)) for name in ("a", "b", "a"))) == [1, 2, 1]
    assert await shared.run("a", partial(work, "a")) == 3
    failures = await asyncio.gather(*(shared.run("bad", partial(work, "bad")) for _ in range(2)), return_exceptions=True)
    assert [str(failure) for failure in failures] == ["bad", "bad"]
    assert done == ["a", "b", "a", "bad"]


async def test_work_ends_with_its_last_caller() -> None:
    """Go on while one caller waits; cancel the work when the last one is cancelled."""
    shared: SharedWork[None] = SharedWork()
    ended: list[bool] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    callers = [asyncio.create_task(shared.run("a", work)) for _ in range(2)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await end_tasks(callers[0])
    assert ended == []
    await end_tasks(callers[1])
    await asyncio.sleep(0)
    assert ended == [True]


class _Failure(Exception):  # noqa: N818 -- no error of anything
    """An exception that can be referred to weakly."""


async def test_failed_work_leaves_no_cycle() -> None:
    """Free an exception of shared work with its last caller, without the garbage collector."""
    failures: weakref.WeakSet[_Failure] = weakref.WeakSet()

    async def fail() -> None:
        error = _Failure("no")
        failures.add(error)
        try:
            raise error
        finally:
            del error

    gc.disable()
    try:
        with suppress(_Failure):
            await SharedWork[None]().run("key", fail)
        await settle()
        left = len(failures)
    finally:
        gc.enable()

    assert not left

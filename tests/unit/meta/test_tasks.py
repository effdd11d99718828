"""Cancellation of tasks, and shared tasks."""

import asyncio
import gc

import pytest

from apiext.meta.tasks import end_tasks, shared_task


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

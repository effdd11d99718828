"""Cancellation of tasks."""

import asyncio

from apiext.meta.tasks import end_tasks


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

"""Waits in a test's event loop, moves the loop's clock, and provides a stopped clock."""

import asyncio
from collections.abc import Awaitable, Callable


async def until(condition: Callable[[], object]) -> None:
    """Return once a condition holds. Poll: no event announces it.

    Raises:
        TimeoutError: It does not hold after 30 s.
    """
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 -- the caller knows no event for it
            await asyncio.sleep(0)


async def until_answered(condition: Callable[[], Awaitable[object]]) -> None:
    """Return once an asynchronous condition holds. Poll: no event announces it.

    Raises:
        TimeoutError: It does not hold after 30 s.
    """
    async with asyncio.timeout(30):
        while not await condition():  # noqa: ASYNC110 -- as above
            await asyncio.sleep(0)


async def settle(turns: int = 20) -> None:
    """Run the event loop until its ready callbacks are done."""
    for _ in range(turns):
        await asyncio.sleep(0)


async def turns_of(job: Awaitable[object]) -> int:
    """Return the number of turns that other tasks get during a job."""
    count = 0

    async def count_turns() -> None:
        nonlocal count
        while True:
            await asyncio.sleep(0)
            count += 1

    counting = asyncio.create_task(count_turns())
    await job
    counting.cancel()
    return count


async def tasks_of(job: Awaitable[object]) -> set[asyncio.Task[object]]:
    """Return the tasks that a job has started."""
    before = asyncio.all_tasks()
    await job
    return asyncio.all_tasks() - before


def advance(seconds: float) -> None:
    """Move the clock of the running event loop forward. Due timers run next."""
    loop = asyncio.get_running_loop()
    clock = loop.time
    loop.time = lambda: clock() + seconds  # type: ignore[method-assign]


class Clock:
    """A clock in seconds that only moves when the test sets it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now

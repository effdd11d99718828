"""Asyncio tasks: their cancellation, and tasks with several callers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from contextlib import AsyncExitStack
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def run_until_closed(stack: AsyncExitStack, work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine in a task that `stack` cancels."""
    stack.callback(asyncio.create_task(work).cancel)


async def end_tasks(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks and wait until they have ended; their results and exceptions are ignored."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def shared_task(coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Start a task that several callers await with asyncio.shield. If all of them are cancelled, its exception is not logged."""
    task = asyncio.get_running_loop().create_task(coroutine)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task


class SharedWork(Generic[T]):
    """Does equal work once for all callers that want it at the same time. The work is cancelled with its last caller."""

    __slots__ = ("_callers", "_tasks")

    def __init__(self) -> None:
        self._tasks: dict[Hashable, asyncio.Task[T]] = {}
        self._callers: dict[asyncio.Task[T], int] = {}

    async def run(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the result of the work with a key. Raises the errors of the work."""
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = shared_task(work())
            self._callers[task] = 0
        self._callers[task] += 1
        try:
            return await asyncio.shield(task)
        finally:
            self._callers[task] -= 1
            if not self._callers[task]:
                del self._callers[task], self._tasks[key]
                task.cancel()
            # the variable would be a reference cycle through the traceback of the task's exception
            del task

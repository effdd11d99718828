"""Asyncio tasks: their cancellation, and tasks with several callers."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Any, TypeVar

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

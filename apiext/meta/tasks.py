"""Cancellation of asyncio tasks."""

from __future__ import annotations

import asyncio
from typing import Any


async def end_tasks(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks and wait until they have ended; their results and exceptions are ignored."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

"""Tasks of the event loop, and their end."""

from __future__ import annotations

import asyncio
from typing import Any


async def end_tasks(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks, and return when they have ended, whatever they ended with."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

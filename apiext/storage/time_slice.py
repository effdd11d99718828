"""Long work in small steps, so that the event loop is never held for long."""

from __future__ import annotations

import asyncio
import time
from typing import Final

_STEP: Final = 0.002


class Pace:
    """Tells when work has held the loop long enough."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until = time.perf_counter() + _STEP

    @property
    def due(self) -> bool:
        """Whether about two milliseconds have passed since the last pause."""
        return time.perf_counter() >= self._until

    async def pause(self) -> None:
        """Let everything else run once."""
        await asyncio.sleep(0)
        self._until = time.perf_counter() + _STEP

"""Long work in slices, so that the event loop is not blocked."""

from __future__ import annotations

import asyncio
import time
from typing import Final

_SLICE_SECONDS: Final = 0.002


class Pace:
    """Measures how long the current task has held the event loop."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until = time.perf_counter() + _SLICE_SECONDS

    @property
    def due(self) -> bool:
        """Report whether 2 ms have passed since the last pause."""
        return time.perf_counter() >= self._until

    async def pause(self) -> None:
        """Give way to other tasks once."""
        await asyncio.sleep(0)
        self._until = time.perf_counter() + _SLICE_SECONDS

"""Common times for periodic work, so that an idle process wakes up once for all of it."""

from __future__ import annotations

import asyncio
import math
from typing import Final

_EARLY_PART: Final = 0.01
"""Part of an interval before a multiple that counts as this multiple: timers are not exact."""


async def until_tick(interval: float) -> None:
    """Sleep until the next multiple of so many seconds on the event loop's clock."""
    now = asyncio.get_running_loop().time()
    await asyncio.sleep((math.floor(now / interval + _EARLY_PART) + 1) * interval - now)

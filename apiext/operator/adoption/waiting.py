"""Waiting for what a server makes true by and by."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from apiext.operator.clients import ApiError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

PATIENCE: Final = 60.0
_PAUSE: Final = 0.1


async def until(holds: Callable[[], Awaitable[bool]], otherwise: Callable[[], str]) -> None:
    """Return when a condition holds. Raises ApiError, saying `otherwise`, where it does not come to that."""
    loop = asyncio.get_running_loop()
    end = loop.time() + PATIENCE
    while not await holds():
        if loop.time() > end:
            raise ApiError(f"{otherwise()} within {PATIENCE:.0f} s")
        await asyncio.sleep(_PAUSE)

"""Waiting for what a server makes true by and by, and for a server that asks for patience."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeVar

from apiext.operator.api_clients import ApiError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

T = TypeVar("T")
PATIENCE: Final = 60.0
_LOOK: Final = 0.1
_TRIES: Final = 20
_PAUSE: Final = 0.25


async def until(holds: Callable[[], Awaitable[bool]], otherwise: Callable[[], str]) -> None:
    """Return when a condition holds. Raises ApiError, saying `otherwise`, where it does not come to that."""
    loop = asyncio.get_running_loop()
    end = loop.time() + PATIENCE
    while not await holds():
        if loop.time() > end:
            raise ApiError(f"{otherwise()} within {PATIENCE:.0f} s")
        await asyncio.sleep(_LOOK)


async def patiently(ask: Callable[[], Awaitable[T]], *, codes: Collection[int]) -> T:
    """What is answered, asked for again and again where a refusal with one of the codes will pass. Raises ApiError."""
    for _ in range(_TRIES):
        try:
            return await ask()
        except ApiError as error:
            if error.code not in codes:
                raise
        await asyncio.sleep(_PAUSE)
    return await ask()

"""Polling of a condition, and retries of a call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Final, TypeVar

from apiext.operator.api_clients import ApiError

T = TypeVar("T")
TIMEOUT_SECONDS: Final = 60.0
"""Seconds after which `until` gives up."""
_POLL_SECONDS: Final = 0.1
_RETRIES: Final = 20
RETRY_SECONDS: Final = 0.25
"""Pause between two attempts of a call."""


async def until(holds: Callable[[], Awaitable[bool]], otherwise: Callable[[], str]) -> None:
    """Poll a condition until it holds.

    Raises:
        ApiError: it does not hold after the timeout; the message starts with `otherwise`.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + TIMEOUT_SECONDS
    while not await holds():
        if loop.time() > end:
            raise ApiError(f"{otherwise()} within {TIMEOUT_SECONDS:.0f} s")
        await asyncio.sleep(_POLL_SECONDS)


async def retry_on_codes(call: Callable[[], Awaitable[T]], *, codes: Collection[int]) -> T:
    """Return the result of a call, repeated up to 20 times while it fails with one of the codes.

    Raises:
        ApiError: the call failed with another code, or at the last attempt.
    """
    for _ in range(_RETRIES):
        try:
            return await call()
        except ApiError as error:
            if error.code not in codes:
                raise
        await asyncio.sleep(RETRY_SECONDS)
    return await call()

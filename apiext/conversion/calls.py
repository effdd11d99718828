"""Calls of a conversion webhook: how they begin, what they send, and how they are counted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Protocol

from apiext.meta.random_uuid import random_uuid
from apiext.workers.restarts import recorded

if TYPE_CHECKING:
    from apiext.conversion.metrics import ConversionCall, ConversionStats


BEGIN: Final = "begin_conversion"
POST: Final = "post_conversion"
OBSERVE: Final = "observe_conversion"
"""The questions of worker processes, by which calls are recorded too."""


class Hook(Protocol):
    """Calls a webhook."""

    async def post(self, body: bytes) -> bytes:
        """Send a document and return the answer.

        Raises:
            HookError: the call failed.
        """
        ...


class ConversionCalls(Hook, Protocol):
    """What a converter needs for its calls."""

    async def begin(self) -> tuple[str, float]:
        """Return the uid of a call, and when it begins, as `time.monotonic` of this machine."""
        ...

    async def observe(self, call: ConversionCall) -> None:
        """Count a call."""
        ...


class CountedCalls:
    """Implements ConversionCalls with a webhook and the metrics."""

    def __init__(self, hook: Hook, stats: ConversionStats) -> None:
        self._hook = hook
        self._stats = stats

    async def begin(self) -> tuple[str, float]:
        """Implement ConversionCalls.begin."""
        return await recorded(BEGIN, self._begun())

    async def post(self, body: bytes) -> bytes:
        """Implement Hook.post."""
        return await recorded(POST, self._hook.post(body))

    async def observe(self, call: ConversionCall) -> None:
        """Implement ConversionCalls.observe."""
        await recorded(OBSERVE, self._observed(call))

    async def _begun(self) -> tuple[str, float]:
        return random_uuid(), time.monotonic()

    async def _observed(self, call: ConversionCall) -> None:
        self._stats.observe(call)

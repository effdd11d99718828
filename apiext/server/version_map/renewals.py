"""Renewals of the map after changes."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from apiext.base.meta.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_LOG: Final = get_logger(__name__)
DEBOUNCE_SECONDS: Final = 0.25
"""Pause before a renewal, in which more changes come. A reader that waits for the renewal ends it."""
_SHARE: Final = 10.0
"""A renewal is followed by a pause of so many times its processor time, up to the longest pause."""
_LONGEST_PAUSE_SECONDS: Final = 5.0
TICK_SECONDS: Final = 2.0
"""Seconds between renewals without a known change: conversions, and changes of a store without a watch, are not reported."""


class Renewals:
    """Renews the map at a limited share of the time. One renewal shows all changes before it, and serves all readers."""

    def __init__(self, renew: Callable[[], Awaitable[None]]) -> None:
        self._renew = renew
        self._begun = 0
        """Number of renewals that have begun."""
        self._begun_at = 0.0
        self._ended = 0
        self._dirty = asyncio.Event()
        self._hurried = asyncio.Event()
        self._renewed = asyncio.Event()
        self._stopped = False

    def note(self) -> None:
        """Renew the map soon."""
        self._dirty.set()

    async def current(self) -> None:
        """Wait until a renewal that has begun after the latest known change has ended, or all work."""
        is_old = self._begun == self._ended and asyncio.get_running_loop().time() >= self._begun_at + TICK_SECONDS
        wanted = self._begun + (self._dirty.is_set() or is_old or not self._begun)
        while self._ended < wanted and not self._stopped:
            if self._begun < wanted:
                self._dirty.set()
                self._hurried.set()
            await self._renewed.wait()

    def stop(self) -> None:
        """End all waits: `run` is being cancelled."""
        self._stopped = True
        self._renewed.set()

    async def run(self) -> None:
        """Renew the map until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            before = time.thread_time()
            self._dirty.clear()
            self._hurried.clear()
            self._begun += 1
            self._begun_at = loop.time()
            try:
                await self._renew()
            except Exception:  # noqa: BLE001 -- the readers keep the last state
                _LOG.exception("version map not renewed, retrying")
            self._ended = self._begun
            self._renewed.set()
            self._renewed = asyncio.Event()
            await asyncio.sleep(min(_SHARE * (time.thread_time() - before), _LONGEST_PAUSE_SECONDS))
            await _waited(self._hurried, DEBOUNCE_SECONDS)
            await _waited(self._dirty, TICK_SECONDS)


async def _waited(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, for some seconds at most."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()

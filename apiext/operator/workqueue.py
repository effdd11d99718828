"""What is to be looked at: each key at most once at a time, once more where it was told meanwhile, later and later where it fails."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from apiext.meta.log import get_logger
from apiext.operator.clients import ApiError

_LOG: Final = get_logger(__name__)
_SOON: Final = 0.05
"""Seconds that changes may take to come together."""
_FIRST: Final = 0.5
_LONGEST: Final = 60.0

Handle = Callable[[str], Awaitable[float | None]]
"""Looks at a key; the seconds after which it wants to do so again, None for not by itself."""


@dataclass(slots=True)
class _Entry:
    due: float | None = None
    timer: asyncio.TimerHandle | None = None
    task: asyncio.Task[None] | None = None
    failures: int = 0


class WorkQueue:
    """Keys are handled side by side, each in a task of its own."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._entries: dict[str, _Entry] = {}
        self._closed = False

    def add(self, key: str, after: float = _SOON) -> None:
        """Have a key handled after so many seconds, or sooner where that was asked for."""
        if self._closed:
            return
        due = asyncio.get_running_loop().time() + after
        entry = self._entries.setdefault(key, _Entry())
        if entry.due is None or due < entry.due:
            entry.due = due
            if entry.task is None:
                self._arm(key, entry)

    async def close(self) -> None:
        """End what goes on, and take nothing more."""
        self._closed = True
        tasks = [entry.task for entry in self._entries.values() if entry.task is not None]
        for entry in self._entries.values():
            if entry.timer is not None:
                entry.timer.cancel()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._entries.clear()

    def _arm(self, key: str, entry: _Entry) -> None:
        if entry.timer is not None:
            entry.timer.cancel()
        entry.timer = asyncio.get_running_loop().call_at(entry.due or 0.0, self._start, key, entry)

    def _start(self, key: str, entry: _Entry) -> None:
        entry.timer = entry.due = None
        entry.task = asyncio.create_task(self._work(key, entry))

    async def _work(self, key: str, entry: _Entry) -> None:
        after: float | None
        try:
            after = await self._handle(key)
            entry.failures = 0
        except ApiError as error:
            after = self._failed(entry)
            _LOG.warning("a group waits for another attempt", group=key, seconds=round(after, 1), error=str(error))
        except Exception:  # noqa: BLE001 -- a defect in one group must not keep the others from their due
            after = self._failed(entry)
            _LOG.exception("a group failed", group=key, seconds=round(after, 1))
        entry.task = None
        if after is not None:
            self.add(key, after)
        if entry.due is not None and not self._closed:
            self._arm(key, entry)
        elif entry.due is None and not entry.failures:
            self._entries.pop(key, None)

    def _failed(self, entry: _Entry) -> float:
        entry.failures += 1
        seconds = min(_FIRST * 2.0 ** min(entry.failures - 1, 10), _LONGEST)
        return seconds * (1 + random.random() / 5)  # noqa: S311 -- spreads load, guards nothing

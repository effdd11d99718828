"""Groups that are to be looked at: each at most once at a time, once more where it was told meanwhile, later and later where it fails."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from apiext.meta.backoff import Backoff
from apiext.meta.log import get_logger
from apiext.meta.tasks import end_tasks
from apiext.operator.api_clients import ApiError

_LOG: Final = get_logger(__name__)
_SOON: Final = 0.05
"""Seconds that changes may take to come together."""
_FIRST: Final = 0.5
_LONGEST: Final = 60.0

Look = Callable[[str], Awaitable[float | None]]
"""Looks at a group; the seconds after which it wants to do so again, None for not by itself."""


@dataclass(slots=True)
class _Entry:
    due: float | None = None
    timer: asyncio.TimerHandle | None = None
    task: asyncio.Task[None] | None = None
    backoff: Backoff = field(default_factory=lambda: Backoff(_FIRST, _LONGEST))


class GroupQueue:
    """Groups are looked at side by side, each in a task of its own."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._entries: dict[str, _Entry] = {}
        self._closed = False

    def add(self, group: str, after: float = _SOON) -> None:
        """Have a group looked at after so many seconds, or sooner where that was asked for."""
        if self._closed:
            return
        due = asyncio.get_running_loop().time() + after
        entry = self._entries.setdefault(group, _Entry())
        if entry.due is None or due < entry.due:
            entry.due = due
            if entry.task is None:
                self._arm(group, entry)

    async def close(self) -> None:
        """End what goes on, and take nothing more."""
        self._closed = True
        tasks = [entry.task for entry in self._entries.values() if entry.task is not None]
        for entry in self._entries.values():
            if entry.timer is not None:
                entry.timer.cancel()
        await end_tasks(*tasks)
        self._entries.clear()

    def _arm(self, group: str, entry: _Entry) -> None:
        if entry.timer is not None:
            entry.timer.cancel()
        entry.timer = asyncio.get_running_loop().call_at(entry.due or 0.0, self._start, group, entry)

    def _start(self, group: str, entry: _Entry) -> None:
        entry.timer = entry.due = None
        entry.task = asyncio.create_task(self._work(group, entry))

    async def _work(self, group: str, entry: _Entry) -> None:
        after: float | None
        try:
            after = await self._look(group)
            entry.backoff.reset()
        except ApiError as error:
            after = self._failed(entry)
            _LOG.warning("a group waits for another attempt", group=group, seconds=round(after, 1), error=str(error))
        except Exception:  # noqa: BLE001 -- a defect in one group must not keep the others from their due
            after = self._failed(entry)
            _LOG.exception("a group failed", group=group, seconds=round(after, 1))
        entry.task = None
        if after is not None:
            self.add(group, after)
        if entry.due is not None and not self._closed:
            self._arm(group, entry)
        elif entry.due is None:
            self._entries.pop(group, None)

    def _failed(self, entry: _Entry) -> float:
        return entry.backoff.take() * (1 + random.random() / 5)  # noqa: S311 -- spreads load, guards nothing

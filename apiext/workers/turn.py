"""The slot of a running job."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from apiext.meta import limits

if TYPE_CHECKING:
    from apiext.workers.fair_slots import FairSlots, Flow


class Turn:
    """A slot that a job has, lends while it waits for others, and gives away for good when it takes long."""

    __slots__ = ("_flow", "_is_long", "_slots", "_timer")

    def __init__(self, slots: FairSlots, flow: Flow) -> None:
        """Hold a slot that is acquired."""
        self._slots = slots
        self._flow = flow
        self._is_long = False
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Begin to measure the time of the job."""
        self._timer = asyncio.get_running_loop().call_later(limits.MAX_SHORT_JOB_SECONDS, self._lengthen)

    def end(self) -> None:
        """Return the slot."""
        if self._timer is not None:
            self._timer.cancel()
        if self._is_long:
            self._slots.end_long(self._flow)
        else:
            self._slots.release(self._flow)

    def resume(self) -> None:
        """Take the slot again after `end`, though it may be used meanwhile."""
        self._is_long = False
        self._slots.resume(self._flow)
        self.begin()

    def _lengthen(self) -> None:
        """Go on without a slot. While there is no room, try again later."""
        self._is_long = self._slots.lengthen(self._flow)
        if not self._is_long:
            self.begin()

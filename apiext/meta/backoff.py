"""How long to wait between attempts: twice as long after each, up to a bound."""

from __future__ import annotations

import asyncio


class Backoff:
    """Seconds from `first` to `longest`; `next` are those of the pause to come."""

    __slots__ = ("_first", "_longest", "next")

    def __init__(self, first: float, longest: float) -> None:
        self._first = first
        self._longest = longest
        self.next = first

    def reset(self) -> None:
        """Begin anew, after a success."""
        self.next = self._first

    def take(self) -> float:
        """The seconds of the pause that begins now; the one after it is longer."""
        seconds, self.next = self.next, min(self.next * 2, self._longest)
        return seconds

    async def pause(self) -> None:
        """Wait for that long."""
        await asyncio.sleep(self.take())

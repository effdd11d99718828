"""Exponential backoff: the pause doubles after each attempt, up to a bound."""

from __future__ import annotations

import asyncio


class Backoff:
    """Pauses from `first` to `longest` seconds; `next` is the coming pause."""

    __slots__ = ("_first", "_longest", "next")

    def __init__(self, first: float, longest: float) -> None:
        self._first = first
        self._longest = longest
        self.next = first

    def reset(self) -> None:
        """Start again with the first pause, after a success."""
        self.next = self._first

    def take(self) -> float:
        """Return the current pause in seconds and double the next one."""
        seconds, self.next = self.next, min(self.next * 2, self._longest)
        return seconds

    async def pause(self) -> None:
        """Sleep for the current pause."""
        await asyncio.sleep(self.take())

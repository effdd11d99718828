"""A limited number of slots, shared fairly by users."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from typing import Final

from apiext.meta import errors

_RETRY_AFTER: Final = 1
"""Seconds after which a refused client may try again."""


class FairSlots:
    """A number of slots, assigned to waiting users round-robin."""

    def __init__(self, *, slots: int, waiting: int) -> None:
        """Create the slots. One user gets all but one of them (at least one), and at most `waiting` jobs in the queue.

        The queue of the user "", the server itself, has no limit.
        """
        self._free = slots
        self._for_one = max(slots - 1, 1)
        self._most = waiting
        self._taken: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """The jobs of each user in order; the users in the order of their turns."""

    @property
    def taken(self) -> int:
        """Return the number of slots in use."""
        return self._taken.total()

    @property
    def waiting(self) -> int:
        """Return the number of waiting jobs."""
        return sum(map(len, self._waiting.values()))

    async def acquire(self, user: str) -> None:
        """Wait for a slot.

        Raises:
            StatusError: 429, if too many jobs of the user wait.
        """
        queue = self._waiting.setdefault(user, deque())
        if user and len(queue) >= self._most:
            raise errors.too_many_requests("too many large requests, please try again later", _RETRY_AFTER)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(turn)
        self._give()
        try:
            await turn
        except asyncio.CancelledError:
            if turn in queue:
                queue.remove(turn)
                self._forget_empty(user)
            else:
                self.release(user)
            raise

    def release(self, user: str) -> None:
        """Return a slot."""
        self._free += 1
        self._taken[user] -= 1
        if not self._taken[user]:
            del self._taken[user]
        self._give()

    def resume(self, user: str) -> None:
        """Take a returned slot again at once, even if none is free: until jobs end, more jobs run than there are slots."""
        self._free -= 1
        self._taken[user] += 1

    def _give(self) -> None:
        while self._free > 0 and (user := self._next_user()) is not None:
            queue = self._waiting.pop(user)
            turn = queue.popleft()
            if queue:
                # behind the other users
                self._waiting[user] = queue
            self._free -= 1
            self._taken[user] += 1
            if not turn.done():
                turn.set_result(None)

    def _next_user(self) -> str | None:
        return next((user for user in self._waiting if self._taken[user] < self._for_one), None)

    def _forget_empty(self, user: str) -> None:
        if not self._waiting.get(user, True):
            del self._waiting[user]

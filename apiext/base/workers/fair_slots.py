"""A limited number of slots, shared fairly by users, and by the kinds of a user's jobs."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from typing import TYPE_CHECKING, Final, NamedTuple

from apiext.base.meta import errors

if TYPE_CHECKING:
    from collections.abc import Hashable

_RETRY_AFTER: Final = 1
"""Seconds after which a refused client may try again."""


class Flow(NamedTuple):
    """Jobs that wait for each other: those of a user that are alike, and may take equally long."""

    user: str
    kind: Hashable


class FairSlots:
    """A number of slots, assigned to waiting users round-robin, and to the flows of a user round-robin.

    A job that takes long gives its slot to others, and goes on; while it does, further jobs of its flow wait. So a short job waits for
    jobs of its own flow, and for other short ones.
    """

    def __init__(self, *, slots: int, waiting: int, long: int) -> None:
        """Create the slots. One user gets all but one of them (at least one), and at most `waiting` jobs in the queue.

        At most `long` jobs go on without a slot, of a user all but one (at least one). The queue of the user "", the server itself, has no
        limit.
        """
        self._free = slots
        self._for_one = max(slots - 1, 1)
        self._most = waiting
        self._long = long
        self._long_for_one = max(long - 1, min(long, 1))
        self._taken: Counter[str] = Counter()
        self._lasting: set[Flow] = set()
        """Flows of the jobs that go on without a slot."""
        self._waiting: dict[str, dict[Flow, deque[asyncio.Future[None]]]] = {}
        """The jobs of each flow in order; the users and their flows in the order of their turns."""

    @property
    def taken(self) -> int:
        """Return the number of slots in use, and of jobs that go on without one."""
        return self._taken.total() + len(self._lasting)

    @property
    def waiting(self) -> int:
        """Return the number of waiting jobs."""
        return sum(map(self._waiting_of, self._waiting))

    async def acquire(self, flow: Flow) -> None:
        """Wait for a slot.

        Raises:
            StatusError: 429, if too many jobs of the user wait.
        """
        if flow.user and self._waiting_of(flow.user) >= self._most:
            raise errors.too_many_requests("too many large requests, please try again later", _RETRY_AFTER)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue = self._waiting.setdefault(flow.user, {}).setdefault(flow, deque())
        queue.append(turn)
        self._give()
        try:
            await turn
        except asyncio.CancelledError:
            if turn in queue:
                queue.remove(turn)
                self._forget_empty(flow)
            else:
                self.release(flow)
            raise

    def release(self, flow: Flow) -> None:
        """Return a slot."""
        self._free += 1
        self._taken[flow.user] -= 1
        if not self._taken[flow.user]:
            del self._taken[flow.user]
        self._give()

    def resume(self, flow: Flow) -> None:
        """Take a returned slot again at once, even if none is free: until jobs end, more jobs run than there are slots."""
        self._free -= 1
        self._taken[flow.user] += 1

    def lengthen(self, flow: Flow) -> bool:
        """Return a slot, whose job goes on. Return whether there is room for it; one of its flow may already do so."""
        of_user = sum(one.user == flow.user for one in self._lasting)
        if flow in self._lasting or len(self._lasting) >= self._long or of_user >= self._long_for_one:
            return False
        self._lasting.add(flow)
        self.release(flow)
        return True

    def end_long(self, flow: Flow) -> None:
        """End a job that went on without a slot."""
        self._lasting.discard(flow)
        self._give()

    def _give(self) -> None:
        while self._free > 0 and (flow := self._next_flow()) is not None:
            flows = self._waiting.pop(flow.user)
            queue = flows.pop(flow)
            turn = queue.popleft()
            if queue:
                # behind the other flows of the user
                flows[flow] = queue
            if flows:
                # behind the other users
                self._waiting[flow.user] = flows
            self._free -= 1
            self._taken[flow.user] += 1
            if not turn.done():
                turn.set_result(None)

    def _next_flow(self) -> Flow | None:
        users = (user for user in self._waiting if self._taken[user] < self._for_one)
        return next((flow for user in users for flow in self._waiting[user] if flow not in self._lasting), None)

    def _waiting_of(self, user: str) -> int:
        return sum(map(len, self._waiting.get(user, {}).values()))

    def _forget_empty(self, flow: Flow) -> None:
        flows = self._waiting.get(flow.user, {})
        if not flows.get(flow, True):
            del flows[flow]
            if not flows:
                del self._waiting[flow.user]

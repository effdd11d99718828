"""Conditions of a resource's writes on other keys."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from apiext.storage.backend import Guard, WriteResult


class WriteGuard(Protocol):
    """Supplies the condition of each write; the condition is committed atomically with the write."""

    def decide(self) -> Guard | None:
        """Return the condition of a write now, or None.

        Raises:
            StatusError: the write is refused.
        """
        ...

    async def outdated(self, guard: Guard) -> None:
        """Refresh the state behind a condition that no longer holds; `decide` is called next.

        Raises:
            StatusError: the state cannot be refreshed.
            BackendError: the backend does not answer.
        """
        ...


async def retry_guarded(guard: WriteGuard | None, write: Callable[..., Awaitable[WriteResult]]) -> WriteResult:
    """Write under the condition of a guard if there is one; retry with a new condition while the previous one does not hold.

    Raises:
        BackendError: the backend does not answer; also raises what the guard raises.
    """
    while guard is not None:
        condition = guard.decide()
        result = await write(guard=condition)
        if condition is None or not result.guard_failed:
            return result
        await guard.outdated(condition)
    return await write(guard=None)

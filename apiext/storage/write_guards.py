"""Conditions of a resource's writes on other keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

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


class Unguarded:
    """Implements WriteGuard for writes without a condition."""

    def decide(self) -> None:
        """Return no condition."""

    async def outdated(self, guard: Guard) -> None:
        """Raise AssertionError: there is no condition to refresh."""
        raise AssertionError(guard)


UNGUARDED = Unguarded()


async def retry_guarded(guard: WriteGuard, write: Callable[..., Awaitable[WriteResult]]) -> WriteResult:
    """Write under the guard's condition; retry with a new condition while the previous one does not hold.

    Raises:
        BackendError: the backend does not answer; also raises what the guard raises.
    """
    while True:
        condition = guard.decide()
        result = await write(guard=condition)
        if condition is None or not result.guard_failed:
            return result
        await guard.outdated(condition)

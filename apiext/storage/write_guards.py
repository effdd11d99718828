"""What the writes of a resource depend on besides their own objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from apiext.storage.backend import Guard, WriteResult


class WriteGuard(Protocol):
    """Decides about every write of a resource, as late as can be; the decision holds in the moment of the write or there is none."""

    def decide(self) -> Guard | None:
        """What must hold for a write now; None for nothing. Raises StatusError when it is refused."""
        ...

    async def outdated(self, guard: Guard) -> None:
        """A decision was made by what does not hold any more: learn what does. Raises StatusError or BackendError when it cannot be learnt.

        It is asked for another decision next.
        """
        ...


class Unguarded:
    """Implements WriteGuard for writes that depend on nothing else."""

    def decide(self) -> None:
        """Nothing."""

    async def outdated(self, guard: Guard) -> None:
        """Never called."""
        raise AssertionError(guard)


UNGUARDED = Unguarded()


async def decided(guard: WriteGuard, write: Callable[..., Awaitable[WriteResult]]) -> WriteResult:
    """Do a write of the backend's as the guard decides, anew for as long as that was by what does not hold any more."""
    while True:
        condition = guard.decide()
        result = await write(guard=condition)
        if condition is None or not result.guard_failed:
            return result
        await guard.outdated(condition)

"""Conditions of a resource's writes on other keys."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from apiext.storage.backend import Backend, Guard, WriteResult


class WriteGuard(Protocol):
    """Supplies each write's condition, which commits atomically with the write."""

    def decide(self, value: bytes | None, /) -> Guard | None:
        """Return the condition of a write of these stored bytes, None for no condition. The value None stands for a deletion.

        Raises:
            StatusError: the write is refused.
        """
        ...

    async def outdated(self, guard: Guard) -> None:
        """Refresh the state behind a condition that no longer holds. The caller then repeats `decide`.

        Raises:
            StatusError: the state cannot be refreshed.
            BackendError: the backend does not answer.
        """
        ...


@dataclass(slots=True, eq=False)
class GuardedWrites:
    """Writes of a backend under a guard's conditions, if there is a guard. Retries while a condition does not hold.

    Raises:
        BackendError: from every method, when the backend does not answer. Methods also raise the guard's errors.
    """

    _backend: Backend
    guard: WriteGuard | None = None

    def create(self, key: str, value: bytes) -> Coroutine[Any, Any, WriteResult]:
        """See Backend.create."""
        return self._retry(partial(self._backend.create, key, value), value)

    def update(self, key: str, value: bytes, expected: int) -> Coroutine[Any, Any, WriteResult]:
        """See Backend.update."""
        return self._retry(partial(self._backend.update, key, value, expected=expected), value)

    def delete(self, key: str, expected: int) -> Coroutine[Any, Any, WriteResult]:
        """See Backend.delete."""
        return self._retry(partial(self._backend.delete, key, expected=expected), None)

    async def _retry(self, write: Callable[..., Awaitable[WriteResult]], value: bytes | None) -> WriteResult:
        while self.guard is not None:
            condition = self.guard.decide(value)
            result = await write(guard=condition)
            if condition is None or not result.guard_failed:
                return result
            await self.guard.outdated(condition)
        return await write(guard=None)

"""The calls of other servers that a job makes, for a job that may start again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

T = TypeVar("T")


class CallLog(Protocol):
    """How one attempt at a job makes its calls of other servers."""

    async def call(self, key: Hashable, make: Callable[[], Awaitable[T]], size: Callable[[T], int] | None = None) -> T:
        """Return the answer to the call with a key: that of an earlier attempt, or that of `make`.

        All attempts at a job must give equal keys to equal calls. `size` returns the bytes of an answer, 0 by default.

        Raises:
            Exception: what `make` raised, in this attempt or an earlier one.
        """
        ...

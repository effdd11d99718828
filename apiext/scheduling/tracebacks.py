"""The frames that an exception refers to by its traceback, and with them all their variables."""

from __future__ import annotations

from typing import TypeVar

E = TypeVar("E", bound=BaseException)


def without_frames(error: E) -> E:
    """Return an exception without tracebacks: its own, and those of the exceptions that led to it, which it forgets.

    What keeps an exception keeps the frames that it has left. If one of them refers to the keeper, this is a reference cycle.
    """
    earlier: BaseException | None = error
    while earlier is not None:
        following = earlier.__cause__ or earlier.__context__
        earlier.__cause__ = earlier.__context__ = earlier.__traceback__ = None
        earlier = following
    return error

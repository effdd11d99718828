"""Frees the frames that an exception's traceback keeps, with all their variables."""

from __future__ import annotations

from typing import TypeVar

E = TypeVar("E", bound=BaseException)


def without_frames(error: E) -> E:
    """Remove the tracebacks of an exception and of its causes, and the causes themselves. Return the exception.

    A stored exception keeps its frames alive. If one of them refers to the place where it is stored, this is a reference cycle.
    """
    earlier: BaseException | None = error
    while earlier is not None:
        following = earlier.__cause__ or earlier.__context__
        earlier.__cause__ = earlier.__context__ = earlier.__traceback__ = None
        earlier = following
    return error

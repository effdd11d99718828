"""Long work as a generator that yields wherever it may be interrupted; `base/scheduling/time_slice.py` runs it in slices."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")

Steps = Generator[None, None, T]
"""Work that yields at least every few hundred operations, and returns its result."""


def at_once(steps: Steps[T]) -> T:
    """Return the result of the work without a pause."""
    while (result := step(steps)) is None:
        pass
    return result[0]


def step(steps: Steps[T]) -> tuple[T] | None:
    """Take a step. Return the result in a tuple after the last step, None before."""
    try:
        next(steps)
    except StopIteration as done:
        return (done.value,)
    return None

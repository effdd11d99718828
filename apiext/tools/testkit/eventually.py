"""Waits for what an operator does."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def eventually(check: Callable[[], T], *, seconds: float = 30.0, pause: float = 0.05) -> T:
    """Call a check until it returns a true value; return that. An exception of the check counts as false.

    Raises:
        AssertionError: it returns no true value within `seconds`. The message has its last value; its last exception is the cause.
    """
    end = time.monotonic() + seconds
    while True:
        problem: Exception | None = None
        value: T | None = None
        try:
            value = check()
        except Exception as error:  # noqa: BLE001 -- clients have errors of their own, and all of them may pass
            problem = error
        if problem is None and value:
            return value
        if time.monotonic() > end:
            last = f"{type(problem).__name__}: {problem}" if problem is not None else repr(value)
            raise AssertionError(f"not within {seconds:g} s; the last time: {last}") from problem
        time.sleep(pause)

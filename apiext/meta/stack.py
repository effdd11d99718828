"""Room for recursion that goes deeper than one thread's stack."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")


def roomy(function: Callable[[Given], Made], value: Given) -> Made:
    """What a function makes of a value; where this thread's stack ends, it goes on in another one.

    The function must have no effect but its result: it may be called again after it came half way.
    """
    try:
        return function(value)
    except RecursionError:
        # at the very end there is no room even to start a thread, but some calls above there is
        with ThreadPoolExecutor(max_workers=1) as pool:
            return pool.submit(function, value).result()

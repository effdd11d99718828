"""Room for recursion: over schemas of a thousand levels and more, and deeper than one thread's stack."""

from __future__ import annotations

import resource
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")

_CALLS: Final = 6000
"""Nested calls: some five for each level of a schema."""
_STACK: Final = 8 << 20
_PER_CALL: Final = _STACK // _CALLS
"""Bytes of stack that a nested call may take; those that go through C take up to some 800."""


def make_room() -> None:
    """Let calls nest as deeply as the stack allows, in this thread and in those that are started from now on; for the whole process."""
    given = resource.getrlimit(resource.RLIMIT_STACK)[0]
    stack = _STACK if given == resource.RLIM_INFINITY else min(given, _STACK)
    threading.stack_size(_STACK)
    sys.setrecursionlimit(max(sys.getrecursionlimit(), stack // _PER_CALL))


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

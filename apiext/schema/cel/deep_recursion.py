"""Makes room on Python's stack for deep syntax trees."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_LIMIT: Final = 50_000
"""Frames. Python functions that call each other use heap memory, not the process's stack.

The parser admits 1,250 levels, and a pass has up to ten frames for a level.
"""
_lock: Final = threading.Lock()
_before: Final[list[int]] = []
"""The recursion limit that each open context found when it began. The process has one limit: the last context to end sets the first of
these again.
"""


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Let recursive functions over a syntax tree go as deep as the parser allows. They must not call each other through C code."""
    with _lock:
        _before.append(sys.getrecursionlimit())
        sys.setrecursionlimit(max(_before[-1], _LIMIT))
    try:
        yield
    finally:
        with _lock:
            limit = _before.pop()
            if not _before:
                sys.setrecursionlimit(limit)

"""Makes room on Python's stack for deep syntax trees."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_LIMIT: Final = 50_000
"""Frames. Python functions that call each other use heap memory, not the process's stack.

The parser admits 1,250 levels, and a pass has up to ten frames for a level.
"""


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Let recursive functions over a syntax tree go as deep as the parser allows. They must not call each other through C code."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)

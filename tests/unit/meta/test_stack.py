"""Recursion that needs more than one stack."""

import sys

from apiext.meta.stack import roomy


def _count(levels: int) -> int:
    return 1 + roomy(_count, levels - 1) if levels else 0


def test_deeper_than_the_limit() -> None:
    """A result comes back from far below what one thread can call."""
    assert _count(5 * sys.getrecursionlimit()) == 5 * sys.getrecursionlimit()

"""Room on the stack for deep syntax trees."""

import sys
from contextlib import ExitStack

from apiext.schema.cel.program import deep_recursion


def test_limit_returns() -> None:
    """Set the limit back when the last one has left, in whatever order they leave."""
    before = sys.getrecursionlimit()
    first, second = ExitStack(), ExitStack()
    first.enter_context(deep_recursion())
    second.enter_context(deep_recursion())
    first.close()

    assert sys.getrecursionlimit() > before
    second.close()
    assert sys.getrecursionlimit() == before

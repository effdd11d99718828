"""Waiting for what a test expects."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

PATIENCE: Final = 60.0


def until(condition: Callable[[], bool], patience: float = PATIENCE) -> None:
    """Return when a condition holds; a broken connection means not yet."""
    deadline = time.monotonic() + patience
    while True:
        with suppress(OSError):
            if condition():
                return
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)

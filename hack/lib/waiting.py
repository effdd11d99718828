"""Waits for a condition that no event announces."""

import http.client
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from hack.lib.interruption import sleep

PATIENCE: Final = 120.0
"""Seconds to wait by default."""
_FIRST_PAUSE: Final = 0.005
_LONGEST_PAUSE: Final = 0.1
"""Seconds between two checks: the pause doubles from the first to the longest."""


def until(condition: Callable[[], bool], what: str = "the condition", *, patience: float = PATIENCE) -> None:
    """Wait until `condition` returns true; an OSError or HTTPException that it raises counts as false.

    Raises:
        AssertionError: `condition` is still false after `patience` seconds; the message names `what`.
    """
    deadline = time.monotonic() + patience
    pause = _FIRST_PAUSE
    while True:
        with suppress(OSError, http.client.HTTPException):
            if condition():
                return
        assert time.monotonic() < deadline, f"{what} does not hold after {patience:g} s"
        sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)

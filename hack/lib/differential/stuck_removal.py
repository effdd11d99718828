"""Resumes the removal of a definition that the reference gave up."""

import time
from collections.abc import Callable
from typing import Final

_FAILED: Final = "InstanceDeletionFailed"
_INITIALIZING: Final = "storage is (re)initializing"
_PAUSE: Final = 1.0
"""Seconds before a change (the reference mostly resumes by itself), and between two changes."""


class StuckRemoval:
    """Changes a definition whose finalizer failed because its storage was still opening.

    kube-apiserver retries a few milliseconds later, and drops the definition if its informer lacks its own report of the failure.
    It ignores the event of that report, so nothing happens before the next resync, minutes later. Any other change of the
    definition makes it continue.
    """

    def __init__(self, change: Callable[[], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._change = change
        self._clock = clock
        self._due = clock() + _PAUSE

    def observe(self, state: str) -> None:
        """Check the definition, given as JSON, and change it if its removal has failed and a change is due."""
        if _FAILED in state and _INITIALIZING in state and self._clock() >= self._due:
            self._change()
            self._due = self._clock() + _PAUSE

"""Resumes the removal of a definition that the reference has given up."""

import time
from collections.abc import Callable
from typing import Final

_FAILED: Final = "InstanceDeletionFailed"
_INITIALIZING: Final = "storage is (re)initializing"
_PAUSE: Final = 1.0
"""Seconds in which the reference resumes by itself as a rule, and seconds between two changes."""


class StuckRemoval:
    """Changes a definition whose finalizer failed since its storage was still being opened.

    kube-apiserver tries again a few milliseconds later, and forgets the definition if its informer is older than its own
    report of the failure: it ignores the event of that report, so nothing happens before the next resync, minutes later.
    Any other change of the definition wakes it.
    """

    def __init__(self, change: Callable[[], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._change = change
        self._clock = clock
        self._due = clock() + _PAUSE

    def observe(self, state: str) -> None:
        """Take the definition as it was read, as JSON, and change it if its removal has failed and a change is due."""
        if _FAILED in state and _INITIALIZING in state and self._clock() >= self._due:
            self._change()
            self._due = self._clock() + _PAUSE

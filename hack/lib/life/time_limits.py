"""Time limits of the steps of a life."""

import time
from typing import Final

_LEAST: Final = 180.0
"""Maximum of seconds of a change or a small migration on a busy machine, with kills and the pauses of controllers after kills."""
_PER_OBJECT: Final = 0.15
"""Further seconds of a migration for each object: behind a cluster, kube-controller-manager patches one after the other."""
_LONG_STEPS: Final = 4
"""Number of steps that may use their whole time; a life has three migrations."""


class TimeLimits:
    """Limits each step of a life with this number of objects and, from `begin` on, the whole life."""

    def __init__(self, objects: int) -> None:
        self._step = _LEAST + objects * _PER_OBJECT
        self._end = 0.0

    def begin(self) -> None:
        """Start the time limit of the whole life."""
        self._end = time.monotonic() + _LONG_STEPS * self._step

    def left(self) -> float:
        """Return the seconds that the next step may take."""
        return max(0.0, min(self._step, self._end - time.monotonic()))

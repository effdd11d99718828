"""How long the steps of a life may take."""

import time
from typing import Final

_LEAST: Final = 180.0
"""Seconds that a change or a migration of few objects may take on a busy machine, with kills and the pauses of controllers after them."""
_PER_OBJECT: Final = 0.15
"""Seconds that a migration may take for each object: behind a cluster, kube-controller-manager patches one after the other."""
_LONG_STEPS: Final = 4
"""Steps of a life that may take all their time: it has three migrations."""


class Patience:
    """Bounds each step of a life with a number of objects, and all of them together from `begin` on."""

    def __init__(self, objects: int) -> None:
        self._step = _LEAST + objects * _PER_OBJECT
        self._end = 0.0

    def begin(self) -> None:
        """Begin the time of the whole life."""
        self._end = time.monotonic() + _LONG_STEPS * self._step

    def left(self) -> float:
        """Return the seconds that the next step may take."""
        return max(0.0, min(self._step, self._end - time.monotonic()))

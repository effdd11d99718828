"""Counts of transformations (apiserver pkg/storage/value/metrics.go)."""

from __future__ import annotations

import time
from typing import Final

from apiext.base.scheduling.histogram import Histogram

OK: Final = "OK"
DURATIONS: Final = tuple(5e-6 * 2**power for power in range(25))
"""Upper bounds of the durations of transformations, in seconds."""


class TransformationStats:
    """Counts transformations. A reload of the configuration adds to them."""

    __slots__ = ("durations", "operations")

    def __init__(self) -> None:
        self.operations: dict[tuple[str, str, str, str], int] = {}
        """Numbers by resource, transformation type, prefix and status."""
        self.durations: dict[tuple[str, str], Histogram] = {}
        """Durations of successful ones, by transformation type and prefix."""

    def record(self, resource: str, type_: str, prefix: str, begun: float, status: str = OK) -> None:
        """Count a transformation that began at a time of `time.perf_counter`; `status` is the code of its error."""
        what = resource, type_, prefix, status
        self.operations[what] = self.operations.get(what, 0) + 1
        if status == OK:
            durations = self.durations.get((type_, prefix))
            if durations is None:
                durations = self.durations[type_, prefix] = Histogram(DURATIONS)
            durations.observe(time.perf_counter() - begun)

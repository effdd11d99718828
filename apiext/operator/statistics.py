"""Counts of the operator's work, and what else a running operator shows of itself."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Protocol

from apiext.base.scheduling.histogram import Histogram

RECONCILE_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
"""Upper bounds in seconds; the longest reconciliations move all objects of a group."""
SUCCESS: Final = "success"
ERROR: Final = "error"


class OperatorStatistics:
    """Counts since the start of the process."""

    def __init__(self) -> None:
        self.reconciliations: Final = {result: Histogram(RECONCILE_BUCKETS) for result in (SUCCESS, ERROR)}
        """Durations by result. A reconciliation that the end of the session cancels does not count."""
        self.events: Final[Counter[str]] = Counter()
        """Events by reason, repeated ones included."""
        self.sessions = 0
        """Sessions as the leader that began."""
        self.session_failures = 0
        """Sessions that an error ended."""

    def event(self, reason: str) -> None:
        """Count an event."""
        self.events[reason] += 1

    @contextmanager
    def reconciliation(self) -> Iterator[None]:
        """Measure a reconciliation."""
        begin = time.perf_counter()
        try:
            yield
        except Exception:
            self.reconciliations[ERROR].observe(time.perf_counter() - begin)
            raise
        self.reconciliations[SUCCESS].observe(time.perf_counter() - begin)

    @contextmanager
    def session(self) -> Iterator[None]:
        """Count a session as the leader."""
        self.sessions += 1
        try:
            yield
        except Exception:
            self.session_failures += 1
            raise


class OperatorStatus(Protocol):
    """The state of an operator, for probes and metrics."""

    @property
    def statistics(self) -> OperatorStatistics:
        """Counts since the start."""
        ...

    @property
    def is_synced(self) -> bool:
        """Whether the host's definitions and APIServices were listed once."""
        ...

    @property
    def knows_leader(self) -> bool:
        """Whether this operator has read the lease, or leads without one."""
        ...

    @property
    def is_leader(self) -> bool:
        """Whether this operator reconciles."""
        ...

    def condition_reasons(self) -> Mapping[str, str]:
        """Return the reason of the condition ServedByApiext by the name of the definition, of those that have the condition."""
        ...

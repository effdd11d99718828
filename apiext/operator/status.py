"""What a running operator shows of itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from apiext.operator.statistics import OperatorStatistics


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

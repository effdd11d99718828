"""Counts of audit events and of those that were lost (apiserver pkg/audit/metrics.go)."""

from __future__ import annotations

import time
from collections import Counter
from typing import Final

from apiext.api.audit.levels import LEVEL_NAMES
from apiext.base.meta.log import get_logger

_LOG: Final = get_logger(__name__)
_LOG_INTERVAL: Final = 1.0
"""Minimum of seconds between log lines about one plugin."""


class AuditStats:
    """The counters. server/routes/audit_metrics.py renders them."""

    __slots__ = ("_logged", "errors", "events", "levels", "rejected")

    def __init__(self) -> None:
        self.events = 0
        """Events that were given to the backends."""
        self.errors: Counter[str] = Counter()
        """Lost events by the plugin that lost them: log, webhook, buffered, truncate. Those of used outputs begin with 0."""
        self.levels = [0] * len(LEVEL_NAMES)
        """Requests by level."""
        self.rejected = 0
        """Requests that failed because their first event could not be stored."""
        self._logged: dict[str, float] = {}

    def lose(self, plugin: str, events: int, reason: str) -> None:
        """Count lost events, and log the loss unless the last line about the plugin is recent. May run in any thread."""
        self.errors[plugin] += events
        now = time.monotonic()
        if now - self._logged.get(plugin, -_LOG_INTERVAL) >= _LOG_INTERVAL:
            self._logged[plugin] = now
            _LOG.error("audit events lost", plugin=plugin, events=events, lost=self.errors[plugin], error=reason)

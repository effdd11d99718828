"""The metrics of audit (apiserver pkg/audit/metrics.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.api.audit.levels import LEVEL_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client.metrics_core import Metric

    from apiext.api.audit.backend import AuditStats


class AuditMetrics:
    """Renders the counters (prometheus_client.registry.Collector)."""

    def __init__(self, stats: AuditStats) -> None:
        self._stats = stats

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics."""
        from prometheus_client.core import CounterMetricFamily

        stats = self._stats
        yield CounterMetricFamily("apiserver_audit_event_total", "Audit events that were given to the outputs.", stats.events)
        lost = CounterMetricFamily(
            "apiserver_audit_error_total", "Audit events that were lost, by the plugin that lost them.", labels=("plugin",)
        )
        for plugin, count in list(stats.errors.items()):
            lost.add_metric((plugin,), count)
        levels = CounterMetricFamily("apiserver_audit_level_total", "Requests by the level at which they are audited.", labels=("level",))
        for level, count in zip(LEVEL_NAMES, stats.levels, strict=True):
            if count:
                levels.add_metric((level,), count)
        yield from (lost, levels)
        yield CounterMetricFamily(
            "apiserver_audit_requests_rejected_total", "Requests that failed because their audit event could not be stored.", stats.rejected
        )

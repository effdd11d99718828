"""The metrics of the operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.operator.leader_lease import NAME
from apiext.server.routes.metrics_text import buckets

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client.metrics_core import Metric

    from apiext.operator.status import OperatorStatus


class OperatorMetrics:
    """Collects the metrics of an operator (prometheus_client.registry.Collector)."""

    def __init__(self, status: OperatorStatus) -> None:
        self._status = status

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics."""
        yield from self._work()
        yield from self._leadership()
        yield from self._definitions()

    def _work(self) -> Iterable[Metric]:
        from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

        statistics = self._status.statistics
        durations = HistogramMetricFamily(
            "apiext_operator_reconcile_duration_seconds", "Seconds to reconcile a group, by result.", labels=("result",)
        )
        for result, histogram in statistics.reconciliations.items():
            durations.add_metric((result,), buckets(histogram.bounds, histogram.buckets), histogram.seconds)
        yield durations
        events = CounterMetricFamily(
            "apiext_operator_events_total",
            "Events by reason: changes of APIServices, of the condition ServedByApiext, and problems, also those that were not sent again.",
            labels=("reason",),
        )
        for reason, count in list(statistics.events.items()):
            events.add_metric((reason,), count)
        yield events

    def _leadership(self) -> Iterable[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        leads = GaugeMetricFamily("leader_election_master_status", "Whether this operator is the leader.", labels=("name",))
        leads.add_metric((NAME,), float(self._status.is_leader))
        yield leads
        statistics = self._status.statistics
        yield CounterMetricFamily("apiext_operator_sessions_total", "Sessions as the leader that began.", statistics.sessions)
        yield CounterMetricFamily(
            "apiext_operator_session_failures_total", "Sessions as the leader that an error ended.", statistics.session_failures
        )

    def _definitions(self) -> Iterable[Metric]:
        from prometheus_client.core import GaugeMetricFamily

        conditions = GaugeMetricFamily(
            "apiext_operator_definition_condition",
            "1 for the reason of the condition ServedByApiext of each definition of the host that has one.",
            labels=("crd_name", "reason"),
        )
        for name, reason in self._status.condition_reasons().items():
            conditions.add_metric((name, reason), 1)
        yield conditions

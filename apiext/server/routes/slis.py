"""/metrics/slis: the results of health checks as metrics (component-base metrics/prometheus/slis)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prometheus_client.metrics_core import Metric

    from apiext.server.routes.healthz import HealthEndpoint


class HealthMetrics:
    """Renders the last results of all checks, and how often each of them had which."""

    def __init__(self, health: Sequence[HealthEndpoint]) -> None:
        self._health = health

    async def text(self) -> bytes:
        """Return the metrics in the Prometheus text format."""
        # in a thread: the library takes long to import
        return await asyncio.to_thread(self._write)

    def _write(self) -> bytes:
        from prometheus_client import CollectorRegistry
        from prometheus_client.exposition import generate_latest

        registry = CollectorRegistry()
        registry.register(self)
        return generate_latest(registry)

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics (prometheus_client.registry.Collector)."""
        from prometheus_client import PROCESS_COLLECTOR
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

        results = GaugeMetricFamily(
            "kubernetes_healthcheck", "This metric records the result of a single healthcheck.", labels=("name", "type")
        )
        totals = CounterMetricFamily(
            "kubernetes_healthchecks", "This metric records the results of all healthcheck.", labels=("name", "status", "type")
        )
        for endpoint in self._health:
            # another request may add one meanwhile
            for (name, status), count in sorted(dict(endpoint.outcomes).items()):
                totals.add_metric((name, status, endpoint.name), count)
            for name, passed in sorted(dict(endpoint.results).items()):
                results.add_metric((name, endpoint.name), float(passed))
        yield results
        yield totals
        yield from (metric for metric in PROCESS_COLLECTOR.collect() if metric.name == "process_start_time_seconds")

"""Metrics of garbage collection (kubernetes pkg/controller/garbagecollector/metrics and those of its leader election)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client.metrics_core import Metric

    from apiext.api.garbagecollector.garbage_collection import GarbageCollection


class GarbageCollectionMetrics:
    """Renders who collects, what it follows, and failed reads of the store (prometheus_client.registry.Collector)."""

    def __init__(self, collection: GarbageCollection) -> None:
        self._collection = collection

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        leads = GaugeMetricFamily("leader_election_master_status", "1 on the server that does the work, else 0.", labels=("name",))
        leads.add_metric(("garbage-collector",), self._collection.leads)
        yield leads
        followed = "Objects with owners, or whose deletion waits for the garbage collector."
        yield GaugeMetricFamily("apiext_garbage_collector_objects", followed, value=self._collection.followed)
        errors = "Failed attempts of the garbage collector to read all objects."
        yield CounterMetricFamily("garbagecollector_controller_resources_sync_error_total", errors, value=self._collection.failures)

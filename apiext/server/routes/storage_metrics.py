"""Metrics of the store (apiserver pkg/storage/etcd3/metrics), under the reference's names for SQLite, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.server.routes.metrics_text import buckets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from prometheus_client.metrics_core import Metric

    from apiext.base.meta.gvk import GroupResource
    from apiext.storage.backends.measured_backend import MeasuredBackend
    from apiext.storage.rendering.interest import ShardStats

_LABELS: Final = ("operation", "group", "resource")


class StorageMetrics:
    """Renders the calls of a backend, and how far the watch caches are (prometheus_client.registry.Collector)."""

    def __init__(
        self,
        backend: MeasuredBackend,
        cache_revision: Callable[[], int | None],
        shards: Mapping[GroupResource, ShardStats] | None = None,
    ) -> None:
        """Create the collector. `cache_revision` is None without watch caches, `shards` without shard selectors."""
        self._backend = backend
        self._cache_revision = cache_revision
        self._shards = shards

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        statistics = self._backend.statistics
        durations = HistogramMetricFamily("etcd_request_duration_seconds", "Seconds of calls of the store.", labels=_LABELS)
        total = CounterMetricFamily("etcd_requests_total", "Calls of the store.", labels=_LABELS)
        errors = CounterMetricFamily("etcd_request_errors_total", "Calls that the store did not answer.", labels=_LABELS)
        for labels, histogram in list(statistics.durations.items()):
            durations.add_metric(labels, buckets(histogram.bounds, histogram.buckets), histogram.seconds)
            total.add_metric(labels, histogram.count)
            errors.add_metric(labels, statistics.errors[labels])
        yield from (durations, total, errors)
        yield GaugeMetricFamily("apiext_store_revision", "Newest revision of the store in its answers.", self._backend.newest_revision)
        if self._backend.alarms:
            alarms = GaugeMetricFamily("apiext_etcd_alarms", "1 for each kind of alarm by which etcd refuses writes.", labels=("alarm",))
            for kind in self._backend.alarms:
                alarms.add_metric((kind,), 1)
            yield alarms
        reached = self._cache_revision()
        if reached is not None:
            yield GaugeMetricFamily("apiext_watch_cache_revision", "Revision that the watch caches have reached.", reached)
        if self._shards is not None:
            yield from _shard_metrics(self._shards)


def _shard_metrics(shards: Mapping[GroupResource, ShardStats]) -> Iterable[Metric]:
    """Yield the counts of the resources that have had watches with shard selectors (apiserver pkg/storage/cacher/metrics)."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    watches = GaugeMetricFamily("apiserver_watch_shards_total", "Open watches with a shard selector.", labels=_LABELS[1:])
    filtered = CounterMetricFamily(
        "apiserver_watch_filtered_events_total", "States of objects that shard selectors kept from watches.", labels=_LABELS[1:]
    )
    for resource, stats in list(shards.items()):
        if stats.is_used:
            watches.add_metric((resource.group, resource.resource), stats.watches)
        if stats.filtered:
            filtered.add_metric((resource.group, resource.resource), stats.filtered)
    yield from (watches, filtered)

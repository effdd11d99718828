"""The metrics of reloads of admission manifests (apiserver pkg/admission/plugin/manifest/metrics)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client.metrics_core import Metric

    from apiext.api.serving.static_manifests.static_source import ReloadStats

_PREFIX: Final = "apiserver_manifest_admission_config_controller"
_LABELS: Final = ("status", "plugin", "apiserver_id_hash")


class ManifestMetrics:
    """Renders the counts of reloads (prometheus_client.registry.Collector)."""

    def __init__(self, stats: ReloadStats) -> None:
        self._stats = stats

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        stats = self._stats
        total = CounterMetricFamily(f"{_PREFIX}_automatic_reloads_total", "Loads of admission manifests.", labels=_LABELS)
        last = GaugeMetricFamily(
            f"{_PREFIX}_automatic_reload_last_timestamp_seconds", "Time of the last load of admission manifests.", labels=_LABELS
        )
        for (status, plugin), count in stats.counts.items():
            total.add_metric((status, plugin, stats.server_hash), count)
            last.add_metric((status, plugin, stats.server_hash), stats.times[status, plugin])
        info = GaugeMetricFamily(
            f"{_PREFIX}_last_config_info", "The hash of the admission manifests that apply.", labels=("plugin", "apiserver_id_hash", "hash")
        )
        for plugin, digest in stats.digests.items():
            info.add_metric((plugin, stats.server_hash, digest), 1)
        yield from (total, last, info)

"""The metrics of encryption at rest.

Mirrors apiserver pkg/storage/value/metrics.go, pkg/storage/value/encrypt/envelope/metrics, pkg/server/options/encryptionconfig/metrics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.server.routes.metrics_text import buckets

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client.metrics_core import Metric

    from apiext.storage.value.encryption import Encryption
    from apiext.storage.value.kms.service import KMSStats
    from apiext.storage.value.reloading import EncryptionReloader

_STORAGE: Final = "apiserver_storage"
_ENVELOPE: Final = "apiserver_envelope_encryption"
_CONTROLLER: Final = "apiserver_encryption_config_controller"


class EncryptionMetrics:
    """Renders the counts of transformations, plugins and reloads (prometheus_client.registry.Collector)."""

    def __init__(self, encryption: Encryption, reloader: EncryptionReloader | None, server_hash: str) -> None:
        """Create the collector; `server_hash` is the hash of the server's identity."""
        self._encryption = encryption
        self._reloader = reloader
        self._server = server_hash

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics."""
        yield from self._transformations()
        yield from self._configuration()
        plugins = self._encryption.plugins
        if plugins is not None:
            yield from self._data_keys(plugins.stats)
            yield from self._calls(plugins.stats)
            yield from self._keys(plugins.stats)

    def _transformations(self) -> Iterable[Metric]:
        from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

        stats = self._encryption.stats
        total = CounterMetricFamily(
            f"{_STORAGE}_transformation_operations_total",
            "Encryptions and decryptions of stored values.",
            labels=("resource", "transformation_type", "transformer_prefix", "status"),
        )
        for what, number in list(stats.operations.items()):
            total.add_metric(what, number)
        seconds = HistogramMetricFamily(
            f"{_STORAGE}_transformation_duration_seconds",
            "Seconds of encryptions and decryptions of stored values.",
            labels=("transformation_type", "transformer_prefix"),
        )
        for labels, durations in list(stats.durations.items()):
            seconds.add_metric(labels, buckets(durations.bounds, durations.buckets), durations.seconds)
        yield from (total, seconds)

    def _configuration(self) -> Iterable[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        info = GaugeMetricFamily(
            f"{_CONTROLLER}_last_config_info",
            "Hash of the encryption configuration in use.",
            labels=("apiserver_id_hash", "hash"),
        )
        info.add_metric((self._server, self._encryption.configuration.digest), 1)
        yield info
        if self._reloader is None:
            return
        labels = ("status", "apiserver_id_hash")
        total = CounterMetricFamily(f"{_CONTROLLER}_automatic_reloads_total", "Reloads of the encryption configuration.", labels=labels)
        last = GaugeMetricFamily(
            f"{_CONTROLLER}_automatic_reload_last_timestamp_seconds", "Time of the last reload of the configuration.", labels=labels
        )
        for status, number in self._reloader.counts.items():
            total.add_metric((status, self._server), number)
            if number:
                last.add_metric((status, self._server), self._reloader.times[status])
        yield from (total, last)

    def _data_keys(self, stats: KMSStats) -> Iterable[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        misses = CounterMetricFamily(
            f"{_STORAGE}_envelope_transformation_cache_misses_total",
            "Values whose data key was not known.",
            value=stats.cache_misses,
        )
        made = HistogramMetricFamily(
            f"{_STORAGE}_data_key_generation_duration_seconds",
            "Seconds of the generation of data keys.",
            buckets=buckets(stats.data_keys.bounds, stats.data_keys.buckets),
            sum_value=stats.data_keys.seconds,
        )
        cached = GaugeMetricFamily(f"{_ENVELOPE}_dek_source_cache_size", "Decrypted data keys and seeds.", labels=("provider_name",))
        for plugin, number in stats.cached_seeds.items():
            cached.add_metric((plugin,), number)
        yield from (misses, made, cached)

    def _calls(self, stats: KMSStats) -> Iterable[Metric]:
        from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

        calls = HistogramMetricFamily(
            f"{_ENVELOPE}_kms_operations_latency_seconds",
            "Seconds of calls of KMS plugins.",
            labels=("provider_name", "method_name", "grpc_status_code"),
        )
        for labels, durations in list(stats.calls.items()):
            calls.add_metric(labels, buckets(durations.bounds, durations.buckets), durations.seconds)
        invalid = CounterMetricFamily(
            f"{_ENVELOPE}_invalid_key_id_from_status_total", "Invalid key ids of KMS plugins.", labels=("provider_name", "error")
        )
        for what, number in list(stats.invalid_keys.items()):
            invalid.add_metric(what, number)
        yield from (calls, invalid)

    def _keys(self, stats: KMSStats) -> Iterable[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        from apiext.storage.value.kms.service import hash_of

        labels = ("transformation_type", "provider_name", "key_id_hash", "apiserver_id_hash")
        uses = CounterMetricFamily(f"{_ENVELOPE}_key_id_hash_total", "Uses of keys of KMS plugins.", labels=labels)
        last = GaugeMetricFamily(f"{_ENVELOPE}_key_id_hash_last_timestamp_seconds", "Time of the last use of a key.", labels=labels)
        for (type_, plugin, key), (number, when) in list(stats.keys.items()):
            uses.add_metric((type_, plugin, hash_of(key), self._server), number)
            last.add_metric((type_, plugin, hash_of(key), self._server), when)
        reported = GaugeMetricFamily(
            f"{_ENVELOPE}_key_id_hash_status_last_timestamp_seconds", "Time when a KMS plugin last reported a key.", labels=labels[1:]
        )
        for (plugin, key), when in list(stats.reported_keys.items()):
            reported.add_metric((plugin, hash_of(key), self._server), when)
        yield from (uses, last, reported)

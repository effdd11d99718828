"""Metrics of an etcd member that its API does not have (etcd server/etcdserver/metrics.go, server/storage)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_QUOTA: Final = "etcd_server_quota_backend_bytes"
_COMPACTION: Final = "etcd_debugging_mvcc_db_compaction_last"
_SYNC: Final = "etcd_disk_wal_fsync_duration_seconds"
_COMMIT: Final = "etcd_disk_backend_commit_duration_seconds"
_PERCENTILE: Final = 0.99


@dataclass(frozen=True, slots=True)
class EtcdMetrics:
    """What a member says since its start; None for what it does not have."""

    quota: float | None
    """Bytes that the database may have."""
    compacted: float | None
    """Time of the last compaction in seconds since 1970; 0 without one since the start."""
    sync: float | None
    """Seconds within which 99 % of the log's syncs end."""
    commit: float | None
    """Seconds within which 99 % of the commits end."""


def parse_metrics(text: str) -> EtcdMetrics:
    """Return the metrics in Prometheus's text format.

    Raises:
        ValueError: the text has another format.
    """
    from prometheus_client.parser import text_string_to_metric_families

    values: dict[str, float] = {}
    buckets: dict[str, list[tuple[float, float]]] = {_SYNC: [], _COMMIT: []}
    for family in text_string_to_metric_families(text):
        if family.name in (_QUOTA, _COMPACTION):
            values[family.name] = family.samples[0].value
        elif family.name in buckets:
            found = [(float(sample.labels["le"]), sample.value) for sample in family.samples if sample.name.endswith("_bucket")]
            buckets[family.name] = sorted(found)
    return EtcdMetrics(values.get(_QUOTA), values.get(_COMPACTION), _percentile(buckets[_SYNC]), _percentile(buckets[_COMMIT]))


def _percentile(buckets: list[tuple[float, float]]) -> float | None:
    """Return the bound of the bucket that reaches the percentile; None without a measurement."""
    if not buckets or not buckets[-1][1]:
        return None
    return next(bound for bound, count in buckets if count >= buckets[-1][1] * _PERCENTILE)

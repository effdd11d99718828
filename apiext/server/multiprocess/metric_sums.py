"""The metrics of several workers as those of one server: counters and histograms summed, gauges by their kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from prometheus_client.metrics_core import Metric


class SampleRecord(NamedTuple):
    """A value with its name and labels."""

    name: str
    labels: tuple[tuple[str, str], ...]
    value: float


class FamilyRecord(NamedTuple):
    """The samples of a metric."""

    name: str
    kind: str
    """counter, histogram, gauge and so on."""
    text: str
    samples: list[SampleRecord]


_CUMULATIVE: Final = frozenset({"counter", "histogram", "summary"})
_SUMMED: Final = frozenset(
    {
        "apiext_event_loop_tasks",
        "apiext_worker_queued",
        "apiext_worker_running",
        "apiserver_current_inflight_requests",
        "apiserver_current_inqueue_requests",
        "apiserver_envelope_encryption_dek_source_cache_size",
        "apiserver_flowcontrol_current_executing_requests",
        "apiserver_flowcontrol_current_executing_seats",
        "apiserver_flowcontrol_current_inqueue_requests",
        "apiserver_flowcontrol_current_inqueue_seats",
        "apiserver_flowcontrol_current_limit_seats",
        "apiserver_flowcontrol_demand_seats_average",
        "apiserver_flowcontrol_demand_seats_high_watermark",
        "apiserver_flowcontrol_demand_seats_smoothed",
        "apiserver_flowcontrol_demand_seats_stdev",
        "apiserver_flowcontrol_lower_limit_seats",
        "apiserver_flowcontrol_nominal_limit_seats",
        "apiserver_flowcontrol_target_seats",
        "apiserver_flowcontrol_upper_limit_seats",
        "apiserver_longrunning_requests",
        "apiserver_watch_shards_total",
        "process_max_fds",
        "process_open_fds",
        "process_resident_memory_bytes",
        "process_virtual_memory_bytes",
    }
)
"""Gauges of work and of resources, which each worker has for itself."""
_LEAST: Final = frozenset(
    {
        "apiext_conversion_rules_usable",
        "apiext_serving_certificate_expiration_timestamp_seconds",
        "apiext_watch_cache_revision",
        "apiserver_flowcontrol_seat_fair_frac",
        "process_start_time_seconds",
    }
)
"""Gauges of which the least value shows the worker that lags, or the oldest."""


def kind_of_gauge(name: str) -> Callable[[float, float], float]:
    """Return how two values of a gauge become one. All workers see the same store, so most gauges are equal up to delays: the greatest."""
    if name in _SUMMED:
        return _sum
    return min if name in _LEAST else max


def _sum(first: float, second: float) -> float:
    return first + second


def record_families(families: Iterable[Metric]) -> list[FamilyRecord]:
    """Return the values of a library's metrics."""
    return [
        FamilyRecord(
            family.name,
            family.type,
            family.documentation,
            [SampleRecord(sample.name, tuple(sorted(sample.labels.items())), sample.value) for sample in family.samples],
        )
        for family in families
    ]


def metrics_of(families: Iterable[FamilyRecord]) -> list[Metric]:
    """Return values as metrics of the library."""
    from prometheus_client.metrics_core import Metric

    found = []
    for family in families:
        metric = Metric(family.name, family.text, family.kind)
        for sample in family.samples:
            metric.add_sample(sample.name, dict(sample.labels), sample.value)
        found.append(metric)
    return found


def sum_families(workers: Sequence[Sequence[FamilyRecord]]) -> list[FamilyRecord]:
    """Return the metrics of all workers together, in the order of the first one that has them."""
    found: dict[str, tuple[FamilyRecord, dict[tuple[str, tuple[tuple[str, str], ...]], float]]] = {}
    for families in workers:
        for family in families:
            _, values = found.setdefault(family.name, (family, {}))
            combine = _sum if family.kind in _CUMULATIVE else kind_of_gauge(family.name)
            for name, labels, value in family.samples:
                key = (name, labels)
                values[key] = combine(values[key], value) if key in values else value
    return [
        family._replace(samples=[SampleRecord(name, labels, value) for (name, labels), value in values.items()])
        for family, values in found.values()
    ]


def cumulative(families: Iterable[FamilyRecord]) -> list[FamilyRecord]:
    """Return the metrics that only grow."""
    return [family for family in families if family.kind in _CUMULATIVE]


def encode_families(families: Sequence[FamilyRecord]) -> bytes:
    """Return the bytes of metrics. Infinity and NaN become null."""
    return orjson.dumps(families, default=tuple)


def decode_families(data: bytes) -> list[FamilyRecord]:
    """Return the metrics of bytes."""
    return [
        FamilyRecord(
            name,
            kind,
            text,
            [
                SampleRecord(sample, tuple((key, word) for key, word in labels), float("nan") if value is None else value)
                for sample, labels, value in samples
            ],
        )
        for name, kind, text, samples in orjson.loads(data)
    ]

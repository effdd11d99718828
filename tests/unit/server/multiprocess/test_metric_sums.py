"""The metrics of several workers as those of one server."""

import math

import pytest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

from apiext.server.multiprocess import metric_sums
from apiext.server.multiprocess.metric_sums import FamilyRecord


def _worker(count: float, tasks: float, revision: float, code: str) -> list[FamilyRecord]:
    requests = CounterMetricFamily("apiserver_request_total", "Requests.", labels=("code",))
    requests.add_metric((code,), count)
    requests.add_metric(("404",), 1)
    durations = HistogramMetricFamily("apiserver_request_duration_seconds", "Seconds.")
    durations.add_metric((), [("1", count), ("+Inf", count + 1)], 2.5)
    families: list[Metric] = [
        requests,
        durations,
        GaugeMetricFamily("apiext_event_loop_tasks", "Tasks.", tasks),
        GaugeMetricFamily("apiext_watch_cache_revision", "Revision.", revision),
        GaugeMetricFamily("apiext_store_revision", "Revision.", revision),
    ]
    return metric_sums.decode_families(metric_sums.encode_families(metric_sums.record_families(families)))


def _values(families: list[FamilyRecord]) -> dict[tuple[str, str], float]:
    return {(sample.name, ",".join(value for _, value in sample.labels)): sample.value for family in families for sample in family.samples}


def test_sums() -> None:
    """Sum counters, histograms and gauges of work; of other gauges show the one that lags, or the newest."""
    found = _values(metric_sums.sum_families([_worker(3, 10, 100, "200"), _worker(5, 20, 90, "201")]))

    assert found == {
        ("apiserver_request_total", "200"): 3,
        ("apiserver_request_total", "201"): 5,
        ("apiserver_request_total", "404"): 2,
        ("apiserver_request_duration_seconds_bucket", "1"): 8,
        ("apiserver_request_duration_seconds_bucket", "+Inf"): 10,
        ("apiserver_request_duration_seconds_count", ""): 10,
        ("apiserver_request_duration_seconds_sum", ""): 5.0,
        ("apiext_event_loop_tasks", ""): 30,
        ("apiext_watch_cache_revision", ""): 90,
        ("apiext_store_revision", ""): 100,
    }


def test_the_metrics_of_an_ended_worker() -> None:
    """Keep only what grows."""
    assert {name for name, _ in _values(metric_sums.cumulative(_worker(1, 2, 3, "200")))} == {
        "apiserver_request_total",
        "apiserver_request_duration_seconds_bucket",
        "apiserver_request_duration_seconds_count",
        "apiserver_request_duration_seconds_sum",
    }


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_numbers_that_json_does_not_have(value: float) -> None:
    """Show NaN for them."""
    families = metric_sums.record_families([GaugeMetricFamily("apiext_event_loop_tasks", "Tasks.", value)])

    (family,) = metric_sums.decode_families(metric_sums.encode_families(families))

    assert math.isnan(family.samples[0].value)


def test_families_of_the_library() -> None:
    """Return the values as the library's metrics, with their names, types and labels."""
    families = _worker(3, 10, 100, "200")

    assert metric_sums.record_families(metric_sums.metrics_of(families)) == families

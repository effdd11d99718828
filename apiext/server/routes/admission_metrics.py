"""The metrics of admission (apiserver pkg/admission/metrics/metrics.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.server.routes.metrics_text import buckets

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from prometheus_client.metrics_core import HistogramMetricFamily, Metric

    from apiext.api.admission.metrics import AdmissionStats, StepSeries
    from apiext.base.scheduling.histogram import Histogram


class AdmissionMetrics:
    """Renders the counts of admission (prometheus_client.registry.Collector)."""

    def __init__(self, stats: AdmissionStats) -> None:
        self._stats = stats

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics."""
        yield from self._durations()
        yield from self._counters()
        checked = ("policy", "policy_binding", "error_type")
        yield from _policies("validating", (*checked, "enforcement_action"), self._stats.validating_policies)
        yield from _policies("mutating", checked, self._stats.mutating_policies)

    def _durations(self) -> Iterable[Metric]:
        from prometheus_client.core import HistogramMetricFamily, SummaryMetricFamily

        stats = self._stats
        step = ("type", "operation", "rejected")
        steps = _by_rejection(stats.steps)
        yield _filled(
            HistogramMetricFamily(
                "apiserver_admission_step_admission_duration_seconds", "Seconds in mutating or validating admission.", labels=step
            ),
            steps,
        )
        summary = SummaryMetricFamily(
            "apiserver_admission_step_admission_duration_seconds_summary", "Seconds in mutating or validating admission.", labels=step
        )
        for labels, histogram in steps.items():
            summary.add_metric(labels, histogram.count, histogram.seconds)
        yield summary
        yield _filled(
            HistogramMetricFamily(
                "apiserver_admission_controller_admission_duration_seconds", "Seconds in an admission plug-in.", labels=("name", *step)
            ),
            _by_rejection(stats.controllers),
        )
        yield _filled(
            HistogramMetricFamily(
                "apiserver_admission_webhook_admission_duration_seconds", "Seconds of calls of a webhook.", labels=("name", *step)
            ),
            stats.webhooks,
        )
        yield _filled(
            HistogramMetricFamily(
                "apiserver_admission_match_condition_evaluation_seconds",
                "Seconds in the evaluation of match conditions.",
                labels=("name", "kind", "type", "operation"),
            ),
            stats.condition_seconds,
        )

    def _counters(self) -> Iterable[Metric]:
        stats = self._stats
        call, condition = ("name", "type", "operation"), ("name", "kind", "type", "operation")
        rejected = (*call, "error_type", "rejection_code")
        yield _counted("webhook_rejection_count", "Writes that a webhook or its failure rejected.", rejected, stats.webhook_rejections)
        yield _counted("webhook_fail_open_count", "Failed calls of webhooks that were ignored.", ("name", "type"), stats.fail_open)
        yield _counted("webhook_request_total", "Calls of webhooks.", (*call, "code", "rejected"), stats.webhook_requests)
        yield _counted(
            "match_condition_evaluation_errors_total", "Match conditions that could not be evaluated.", condition, stats.condition_errors
        )
        yield _counted("match_condition_exclusions_total", "Writes that match conditions excluded.", condition, stats.condition_exclusions)


def _policies(kind: str, labels: Sequence[str], checks: Mapping[Any, Histogram]) -> Iterable[Metric]:
    """Yield the metrics of the policies of a kind."""
    from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

    total = CounterMetricFamily(f"apiserver_{kind}_admission_policy_check", f"Checks of {kind} policies.", labels=labels)
    for values, histogram in list(checks.items()):
        total.add_metric(values, histogram.count)
    yield total
    name = f"apiserver_{kind}_admission_policy_check_duration_seconds"
    yield _filled(HistogramMetricFamily(name, f"Seconds of checks of {kind} policies.", labels=labels), checks)


def _counted(name: str, text: str, labels: Sequence[str], counts: Mapping[Any, int]) -> Metric:
    from prometheus_client.core import CounterMetricFamily, UntypedMetricFamily

    # the library adds _total to the names of counters, which two of the reference's do not have
    make = CounterMetricFamily if name.endswith("_total") else UntypedMetricFamily
    family = make(f"apiserver_admission_{name.removesuffix('_total')}", text, labels=labels)
    for values, count in list(counts.items()):
        if count:
            family.add_metric(values, count)
    return family


def _by_rejection(series: Mapping[Any, StepSeries]) -> dict[tuple[str, ...], Histogram]:
    """Return the histograms with observations; the last label says whether the write was rejected."""
    found: dict[tuple[str, ...], Histogram] = {}
    for labels, one in list(series.items()):
        found[*labels, "false"] = one.accepted
        found[*labels, "true"] = one.rejected
    return {labels: histogram for labels, histogram in found.items() if histogram.count}


def _filled(family: HistogramMetricFamily, histograms: Mapping[Any, Histogram]) -> HistogramMetricFamily:
    for labels, histogram in list(histograms.items()):
        family.add_metric(labels, buckets(histogram.bounds, histogram.buckets), histogram.seconds)
    return family

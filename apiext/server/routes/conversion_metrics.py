"""The metrics of conversion (apiextensions-apiserver pkg/apiserver/conversion/metrics.go), of the server and of the conversion webhook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.server.routes.metrics_text import buckets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from prometheus_client.metrics_core import Metric

    from apiext.base.scheduling.histogram import Histogram
    from apiext.resources.conversion.factory import ConverterFactory
    from apiext.resources.conversion.metrics import ConversionStats

_ROUTE: Final = ("crd_name", "from_version", "to_version", "succeeded")


class ConversionMetrics:
    """Renders the counts of a server's conversions, and the circuits of webhooks (prometheus_client.registry.Collector)."""

    def __init__(self, converters: ConverterFactory) -> None:
        self._stats = converters.stats
        self._circuits = converters.circuits

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        yield _durations(
            "apiserver_crd_conversion_webhook_duration_seconds",
            "CRD webhook conversion duration in seconds",
            _ROUTE,
            self._stats.conversions.items(),
        )
        result = ("result", "failure_type")
        total = CounterMetricFamily(
            "apiserver_conversion_webhook_request_total",
            "Counter for conversion webhook requests with success/failure and failure error type",
            labels=result,
        )
        for outcome, histogram in list(self._stats.calls.items()):
            total.add_metric(outcome, sum(histogram.buckets))
        yield total
        text = "Conversion webhook request latency"
        yield _durations("apiserver_conversion_webhook_duration_seconds", text, result, self._stats.calls.items())
        silent = GaugeMetricFamily(
            "apiext_conversion_webhook_circuit_open", "Whether calls of the webhook of a CRD fail at once.", labels=("crd_name",)
        )
        for name, circuit in self._circuits:
            silent.add_metric((name,), circuit.error is not None)
        yield silent
        yield _durations(
            "apiext_crd_conversion_rules_duration_seconds",
            "Duration of the conversion of an object by the rules of a Conversion in the server and its worker processes.",
            _ROUTE,
            self._stats.rules.conversions.items(),
        )


class ReviewMetrics:
    """Renders the counts of a conversion webhook's reviews and of usable rules (prometheus_client.registry.Collector)."""

    def __init__(self, stats: ConversionStats, rules: Callable[[], Mapping[str, bool]]) -> None:
        """Create the collector. `rules` returns for each CRD with a Conversion object whether its rules fit."""
        self._stats = stats
        self._rules = rules

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics."""
        from prometheus_client.core import GaugeMetricFamily

        text = "Seconds to convert the objects of a review, by CRD and versions."
        yield _durations("apiext_conversion_review_duration_seconds", text, _ROUTE, self._stats.conversions.items())
        rules = GaugeMetricFamily(
            "apiext_conversion_rules_usable", "Whether the rules of a Conversion object fit its CRD.", labels=("crd_name",)
        )
        for name, usable in self._rules().items():
            rules.add_metric((name,), usable)
        yield rules


def _durations(name: str, text: str, labels: tuple[str, ...], histograms: Iterable[tuple[tuple[str, ...], Histogram]]) -> Metric:
    from prometheus_client.core import HistogramMetricFamily

    durations = HistogramMetricFamily(name, text, labels=labels)
    for values, histogram in list(histograms):
        durations.add_metric(values, buckets(histogram.bounds, histogram.buckets), histogram.seconds)
    return durations

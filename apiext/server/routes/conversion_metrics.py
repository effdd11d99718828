"""The metrics of conversion by webhooks and by rules (apiextensions-apiserver pkg/apiserver/conversion/metrics.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.server.routes.metrics import buckets

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client.metrics_core import Metric

    from apiext.conversion.factory import ConverterFactory


class ConversionMetrics:
    """Renders the counts of conversions, and the circuits of webhooks (prometheus_client.registry.Collector)."""

    def __init__(self, converters: ConverterFactory) -> None:
        self._stats = converters.stats
        self._circuits = converters.circuits

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        conversions = HistogramMetricFamily(
            "apiserver_crd_conversion_webhook_duration_seconds",
            "CRD webhook conversion duration in seconds",
            labels=("crd_name", "from_version", "to_version", "succeeded"),
        )
        for labels, histogram in list(self._stats.conversions.items()):
            conversions.add_metric(labels, buckets(histogram.bounds, histogram.buckets), histogram.seconds)
        result = ("result", "failure_type")
        total = CounterMetricFamily(
            "apiserver_conversion_webhook_request_total",
            "Counter for conversion webhook requests with success/failure and failure error type",
            labels=result,
        )
        durations = HistogramMetricFamily(
            "apiserver_conversion_webhook_duration_seconds", "Conversion webhook request latency", labels=result
        )
        for outcome, histogram in list(self._stats.calls.items()):
            total.add_metric(outcome, sum(histogram.buckets))
            durations.add_metric(outcome, buckets(histogram.bounds, histogram.buckets), histogram.seconds)
        silent = GaugeMetricFamily(
            "apiext_conversion_webhook_circuit_open", "Whether calls of the webhook of a CRD fail at once.", labels=("crd_name",)
        )
        for name, circuit in self._circuits:
            silent.add_metric((name,), circuit.error is not None)
        yield from (conversions, total, durations, silent, self._rules())

    def _rules(self) -> Metric:
        from prometheus_client.core import HistogramMetricFamily

        rules = HistogramMetricFamily(
            "apiext_crd_conversion_rules_duration_seconds",
            "Duration of the conversion of an object by the rules of a Conversion in the server process.",
            labels=("crd_name", "from_version", "to_version", "succeeded"),
        )
        for labels, histogram in list(self._stats.rules.conversions.items()):
            rules.add_metric(labels, buckets(histogram.bounds, histogram.buckets), histogram.seconds)
        return rules

"""/metrics of the webhook in the Prometheus text format."""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING

from apiext.endpoints.responsewriters.response import Reply
from apiext.server.routes.metrics import buckets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from aiohttp import web
    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import Metric

    from apiext.conversion.metrics import ConversionStats

_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class ReviewMetrics:
    """Renders the counts of reviews, of usable rules, and of the process. Imports prometheus_client with the first request."""

    def __init__(self, stats: ConversionStats, rules: Callable[[], Mapping[str, bool]]) -> None:
        """Create the route. `rules` returns for each CRD with a Conversion object whether its rules can be used."""
        self._stats = stats
        self._rules = rules

    async def __call__(self, _request: web.BaseRequest) -> web.StreamResponse:
        """Return all metrics."""
        return Reply(await asyncio.to_thread(self._write), content_type=_TYPE)

    def _write(self) -> bytes:
        from prometheus_client.exposition import generate_latest

        return generate_latest(self._registry)

    @cached_property
    def _registry(self) -> CollectorRegistry:
        from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

        registry = CollectorRegistry()
        for own in (ProcessCollector, PlatformCollector, GCCollector):
            own(registry=registry)
        registry.register(self)
        return registry

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics (prometheus_client.registry.Collector)."""
        from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily

        reviews = HistogramMetricFamily(
            "apiext_conversion_review_duration_seconds",
            "Seconds to convert the objects of a review, by CRD and versions.",
            labels=("crd_name", "from_version", "to_version", "succeeded"),
        )
        for labels, histogram in list(self._stats.conversions.items()):
            reviews.add_metric(labels, buckets(histogram.bounds, histogram.buckets), histogram.seconds)
        yield reviews
        rules = GaugeMetricFamily(
            "apiext_conversion_rules_usable", "Whether the rules of a Conversion object fit its CRD.", labels=("crd_name",)
        )
        for name, usable in self._rules().items():
            rules.add_metric((name,), usable)
        yield rules

"""Metrics in the Prometheus text format."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import Metric
    from prometheus_client.registry import Collector

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"


class MetricsText:
    """Renders the metrics of collectors, of the process and of Python on request, and imports prometheus_client only then."""

    def __init__(self, *collectors: Collector) -> None:
        self._collectors = collectors
        self._registry: CollectorRegistry | None = None

    async def render(self) -> bytes:
        """Return all metrics."""
        # in a thread: many series take long to write, and the library takes long to import
        return await asyncio.to_thread(self._write)

    async def families(self) -> list[Metric]:
        """Return the same metrics as values."""
        return await asyncio.to_thread(lambda: list(self._registered().collect()))

    def _write(self) -> bytes:
        from prometheus_client.exposition import generate_latest

        return generate_latest(self._registered())

    def _registered(self) -> CollectorRegistry:
        registry = self._registry
        if registry is None:
            from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

            registry = CollectorRegistry()
            for own in (ProcessCollector, PlatformCollector, GCCollector):
                own(registry=registry)
            for collector in self._collectors:
                registry.register(collector)
            self._registry = registry
        return registry


def buckets(bounds: Sequence[float], counts: Sequence[int]) -> list[tuple[str, float]]:
    """Return the cumulative buckets of a histogram from the observations of each bucket; the last bucket has no bound."""
    texts = [*map(_text, bounds), "+Inf"]
    return list(zip(texts, itertools.accumulate(map(float, counts)), strict=True))


def _text(bound: float) -> str:
    """Return a bound as Go writes it: 5e-06, 2.592e+06, but 83.88608."""
    short = f"{bound:g}"
    return short if float(short) == bound else repr(bound)

"""/metrics in the Prometheus text format, with the reference's names (apiserver pkg/endpoints/metrics)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from apiext.api.filters.metrics import DURATION_BUCKETS, EXPIRATION_BUCKETS
from apiext.api.flowcontrol.phase import Phase
from apiext.base.meta.request import MUTATING, READ_ONLY
from apiext.server.routes.metrics_text import MetricsText, buckets

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from prometheus_client.metrics_core import Metric
    from prometheus_client.registry import Collector

    from apiext.api.filters.metrics import RequestStats
    from apiext.base.meta.gvk import GroupResource
    from apiext.base.workers.pool import WorkerPool

_LABELS: Final = ("verb", "group", "version", "resource", "subresource", "scope", "component")


class Metrics:
    """Renders the metrics of the server on request."""

    def __init__(
        self,
        *,
        stats: RequestStats,
        requests: Callable[[], Mapping[tuple[Phase, str], int]],
        objects: Callable[[], Awaitable[Mapping[GroupResource, int]]],
        stored: Callable[[], Mapping[tuple[GroupResource, str], int]] = dict,
        workers: WorkerPool,
        certificates: Callable[[], Mapping[str, float]] = dict,
        more: Sequence[Collector] = (),
    ) -> None:
        """Create the route. `requests` counts current requests by phase and kind; `more` collects the metrics of other parts."""
        self._stats = stats
        self._requests_now = requests
        self._objects = objects
        self._stored = stored
        self._workers = workers
        self._certificates = certificates
        self._current: Mapping[tuple[Phase, str], int] = {}
        self._tasks = 0
        self._counted: Mapping[GroupResource, int] = {}
        self._versions: Mapping[tuple[GroupResource, str], int] = {}
        self._text = MetricsText(self, *more)

    async def reset(self) -> None:
        """Reset the statistics of finished requests."""
        for labels, series in list(self._stats.series.items()):
            series.reset()
            if not series.running:
                del self._stats.series[labels]
        self._stats.terminations.clear()

    async def text(self) -> bytes:
        """Return all metrics, including those of the process and of Python."""
        await self._count()
        return await self._text.render()

    async def families(self) -> list[Metric]:
        """Return the same metrics as values."""
        await self._count()
        return await self._text.families()

    async def _count(self) -> None:
        self._counted = await self._objects()
        self._versions = self._stored()
        self._current = self._requests_now()
        self._tasks = len(asyncio.all_tasks())

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics (prometheus_client.registry.Collector)."""
        yield from self._requests()
        yield from self._gauges()
        yield from self._worker_jobs()
        yield from self._expirations()

    def _requests(self) -> Iterable[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        total = CounterMetricFamily(
            "apiserver_request_total",
            "Requests by verb, resource and HTTP response code.",
            labels=(*_LABELS, "dry_run", "code"),
        )
        durations = HistogramMetricFamily(
            "apiserver_request_duration_seconds",
            "Seconds from the arrival of a request to its answer, by verb and resource.",
            labels=(*_LABELS, "dry_run"),
        )
        running = GaugeMetricFamily("apiserver_longrunning_requests", "Long-running requests in progress.", labels=_LABELS)
        ended = CounterMetricFamily(
            "apiserver_request_terminations_total",
            "Requests that the server terminated, by HTTP response code.",
            labels=(*_LABELS, "code"),
        )
        for labels, series in list(self._stats.series.items()):
            for code, count in list(series.codes.items()):
                total.add_metric((*labels, str(code)), count)
            durations.add_metric(labels, buckets(DURATION_BUCKETS, series.buckets), series.seconds)
            if series.running or labels.verb == "WATCH":
                running.add_metric(labels[:-1], series.running)
        for (labels, code), count in list(self._stats.terminations.items()):
            ended.add_metric((*labels[:-1], str(code)), count)
        yield from (total, durations, running, ended)

    def _gauges(self) -> Iterable[Metric]:
        from prometheus_client.core import GaugeMetricFamily

        for phase, name, text in (
            (Phase.EXECUTING, "apiserver_current_inflight_requests", "Requests in progress, by kind."),
            (Phase.WAITING, "apiserver_current_inqueue_requests", "Requests that wait for seats, by kind."),
        ):
            now = GaugeMetricFamily(name, text, labels=("request_kind",))
            for kind in (READ_ONLY, MUTATING):
                now.add_metric((kind,), self._current.get((phase, kind), 0))
            yield now
        stored = GaugeMetricFamily("apiserver_resource_objects", "Stored objects by resource.", labels=("group", "resource"))
        for resource, count in self._counted.items():
            stored.add_metric((resource.group, resource.resource), count)
        yield stored
        versions = GaugeMetricFamily(
            "apiext_stored_objects",
            "Stored objects of the custom resources in memory, by the version in their stored bytes.",
            labels=("group", "version", "resource"),
        )
        for (resource, version), count in self._versions.items():
            versions.add_metric((resource.group, version, resource.resource), count)
        yield versions
        yield GaugeMetricFamily("apiext_event_loop_tasks", "Tasks of the event loop: connections, watches, followers.", self._tasks)

    def _worker_jobs(self) -> Iterable[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        workers = self._workers
        yield GaugeMetricFamily("apiext_worker_running", "Jobs that run in worker processes.", workers.running)
        yield GaugeMetricFamily("apiext_worker_queued", "Jobs that wait for a worker process.", workers.waiting)
        yield CounterMetricFamily("apiext_worker_killed", "Worker processes killed at the deadline of their job.", workers.killed)

    def _expirations(self) -> Iterable[Metric]:
        from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily

        expirations = self._stats.certificates
        left = HistogramMetricFamily(
            "apiserver_client_certificate_expiration_seconds",
            "Remaining validity in seconds of the client certificates of requests.",
        )
        left.add_metric((), buckets(EXPIRATION_BUCKETS, expirations.buckets), expirations.seconds)
        yield left
        ends = GaugeMetricFamily(
            "apiext_serving_certificate_expiration_timestamp_seconds",
            "Expiration of the serving certificates and of the server's own CA, in seconds since 1970.",
            labels=("certificate",),
        )
        for name, moment in self._certificates().items():
            ends.add_metric((name,), moment)
        yield ends

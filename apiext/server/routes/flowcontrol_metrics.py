"""The metrics of priority and fairness (apiserver pkg/util/flowcontrol/metrics/metrics.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.api.flowcontrol.statistics import DispatchProgress
from apiext.api.flowcontrol.work_estimate import SCALE
from apiext.server.routes.metrics_text import buckets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

    from apiext.api.flowcontrol.controller import Controller, LevelState
    from apiext.api.flowcontrol.statistics import FlowHistogram, FlowStats

_PREFIX: Final = "apiserver_flowcontrol_"
_LEVEL: Final = ("priority_level",)
_FLOW: Final = ("priority_level", "flow_schema")

_LEVEL_GAUGES: Final[dict[str, tuple[str, Callable[[LevelState], float]]]] = {
    "nominal_limit_seats": ("Nominal seats of each priority level.", lambda state: state.limits.nominal),
    "lower_limit_seats": ("Seats that each priority level never lends.", lambda state: state.limits.minimum),
    "upper_limit_seats": ("Seats that each priority level may have with those it borrows.", lambda state: state.limits.maximum),
    "current_limit_seats": ("Current seats of each priority level.", lambda state: state.limits.current),
    "target_seats": ("Seats that each priority level wants.", lambda state: state.limits.target),
    "demand_seats_high_watermark": ("Maximum demand in the last adjustment period.", lambda state: state.limits.demand.peak),
    "demand_seats_average": ("Average demand in the last adjustment period.", lambda state: state.limits.demand.average),
    "demand_seats_stdev": ("Standard deviation of the demand in the last adjustment period.", lambda state: state.limits.demand.deviation),
    "demand_seats_smoothed": ("Smoothed demand.", lambda state: state.limits.demand.smoothed),
    "current_r": ("Progress of the queues at the last change, in seat-seconds.", lambda state: state.queues.progress / SCALE),
    "dispatch_r": ("Progress of the queues at the last dispatch, in seat-seconds.", lambda state: state.queues.latest[0] / SCALE),
    "latest_s": ("Virtual start of the last dispatched request, in seat-seconds.", lambda state: state.queues.latest[1] / SCALE),
}
_FLOW_GAUGES: Final[dict[str, tuple[str, Callable[[FlowStats], float]]]] = {
    "current_inqueue_requests": ("Requests that wait.", lambda stats: stats.waiting),
    "current_inqueue_seats": ("Seats of the requests that wait.", lambda stats: stats.waiting_seats),
    "current_executing_requests": ("Requests that run; watches until they are initialized.", lambda stats: stats.executing),
    "current_executing_seats": ("Seats of the requests that run; watches until they are initialized.", lambda stats: stats.executing_seats),
}


class FlowControlMetrics:
    """Renders the statistics of a controller (prometheus_client.registry.Collector).

    Utilization and demand are from the last adjustment of the limits.
    """

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics."""
        from prometheus_client.core import GaugeMetricFamily

        levels = sorted(self._controller.levels.items())
        fraction = self._controller.fair_proportion
        yield GaugeMetricFamily(f"{_PREFIX}seat_fair_frac", "Seats of a level in proportion to its target.", fraction)
        for name, (text, value) in _LEVEL_GAUGES.items():
            gauge = GaugeMetricFamily(_PREFIX + name, text, labels=_LEVEL)
            for level, state in levels:
                gauge.add_metric((level,), value(state))
            yield gauge
        yield from self._bounds(levels)
        yield from self._utilization(levels)
        yield self._samples()
        flows = [(level, schema, stats) for level, state in levels for schema, stats in sorted(state.queues.flows.items())]
        for name, (text, count) in _FLOW_GAUGES.items():
            gauge = GaugeMetricFamily(_PREFIX + name, text, labels=_FLOW)
            for level, schema, stats in flows:
                gauge.add_metric((level, schema), count(stats))
            yield gauge
        yield from self._counters(flows)
        yield from self._histograms(flows)

    def _bounds(self, levels: list[tuple[str, LevelState]]) -> Iterable[Metric]:
        labels = (*_LEVEL, "bound")
        bounds = _gauge("next_s_bounds", "Least and greatest virtual start of the oldest requests of all queues.", labels)
        discounted = _gauge("next_discounted_s_bounds", "The same, less the estimated work in progress.", labels)
        for level, state in levels:
            latest = DispatchProgress(*state.queues.latest)
            bounds.add_metric((level, "min"), latest.least / SCALE)
            bounds.add_metric((level, "max"), latest.greatest / SCALE)
            discounted.add_metric((level, "min"), latest.least_discounted / SCALE)
            discounted.add_metric((level, "max"), latest.greatest_discounted / SCALE)
        yield from (bounds, discounted)

    def _utilization(self, levels: list[tuple[str, LevelState]]) -> Iterable[Metric]:
        requests = _histogram(
            "priority_level_request_utilization", "Nanoseconds by requests in proportion to the limit.", ("phase", *_LEVEL)
        )
        seats = _histogram("priority_level_seat_utilization", "Nanoseconds by seats in use in proportion to the limit.", (*_LEVEL, "phase"))
        demand = _histogram("demand_seats", "Nanoseconds by the demand of seats in proportion to the limit.", _LEVEL)
        for level, state in levels:
            queues = state.queues
            _add(requests, ("waiting", level), queues.times.waiting.histogram)
            _add(requests, ("executing", level), queues.times.executing.histogram)
            _add(seats, (level, "executing"), queues.times.seats.histogram)
            _add(demand, (level,), queues.times.demand.histogram)
        yield from (requests, seats, demand)

    def _samples(self) -> Metric:
        found = _histogram(
            "read_vs_write_current_requests", "Nanoseconds by requests in proportion to the limit, sampled.", ("phase", "request_kind")
        )
        for (phase, kind), histogram in self._controller.samples.histograms.items():
            found.add_metric((phase.value, kind), buckets(histogram.bounds, histogram.buckets), histogram.total)
        return found

    def _counters(self, flows: list[tuple[str, str, FlowStats]]) -> Iterable[Metric]:
        rejected = _counter("rejected_requests_total", "Rejected requests by reason.", (*_FLOW, "reason"))
        dispatched = _counter("dispatched_requests_total", "Executed requests.", _FLOW)
        unfit = _counter("request_dispatch_no_accommodation_total", "Attempts to dispatch a request that failed for want of seats.", _FLOW)
        for level, schema, stats in flows:
            for reason, count in list(stats.rejected.items()):
                rejected.add_metric((level, schema, reason), count)
            dispatched.add_metric((level, schema), stats.dispatched)
            if stats.no_accommodation:
                unfit.add_metric((level, schema), stats.no_accommodation)
        yield from (rejected, dispatched, unfit)

    def _histograms(self, flows: list[tuple[str, str, FlowStats]]) -> Iterable[Metric]:
        lengths = _histogram("request_queue_length_after_enqueue", "Length of the queue that a request has entered.", _FLOW)
        waits = _histogram("request_wait_duration_seconds", "Seconds that requests waited for seats.", (*_FLOW, "execute"))
        runs = _histogram("request_execution_seconds", "Seconds that requests ran; watches until they are initialized.", (*_FLOW, "type"))
        watches = _histogram("watch_count_samples", "Watches that writes reached.", _FLOW)
        seats = _histogram("work_estimated_seats", "Estimated seats of requests.", _FLOW)
        for level, schema, stats in flows:
            state, key = self._controller.levels.get(level), (level, schema)
            if state is not None and state.level.queuing is not None:
                _add(lengths, key, stats.queue_lengths, (1, stats.immediate))
            if state is not None and not state.level.is_exempt:
                _add(waits, (*key, "true"), stats.waited[True], (0, stats.immediate))
                _add(waits, (*key, "false"), stats.waited[False])
            for kind, histogram in stats.executions.items():
                _add(runs, (*key, kind), histogram)
            _add(watches, key, stats.watch_counts)
            _add(seats, key, stats.seats, (1, stats.immediate))
        yield from (lengths, waits, runs, watches, seats)


def _gauge(name: str, text: str, labels: tuple[str, ...]) -> GaugeMetricFamily:
    from prometheus_client.core import GaugeMetricFamily

    return GaugeMetricFamily(_PREFIX + name, text, labels=labels)


def _counter(name: str, text: str, labels: tuple[str, ...]) -> CounterMetricFamily:
    from prometheus_client.core import CounterMetricFamily

    return CounterMetricFamily(_PREFIX + name, text, labels=labels)


def _histogram(name: str, text: str, labels: tuple[str, ...]) -> HistogramMetricFamily:
    from prometheus_client.core import HistogramMetricFamily

    return HistogramMetricFamily(_PREFIX + name, text, labels=labels)


def _add(family: HistogramMetricFamily, labels: tuple[str, ...], histogram: FlowHistogram, more: tuple[float, int] = (0, 0)) -> None:
    """Add a histogram unless it is empty; `more` is one more value and its count."""
    value, count = more
    found = histogram.plus(value, count)
    if any(found.buckets):
        family.add_metric(labels, buckets(found.bounds, found.buckets), found.total)

"""The endpoints of the operator: their listening socket, and the metrics."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from apiext.api.endpoints.responsewriters.status import text_reply
from apiext.operator.leader_lease import NAME
from apiext.server.http.acceptor import Acceptor
from apiext.server.http.server import HTTPServer, listen
from apiext.server.routes.healthz import PING, HealthCheck, HealthEndpoint, UnhealthyError
from apiext.server.routes.metrics_text import buckets
from apiext.server.routes.process_metrics import ProcessMetrics

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aiohttp import web
    from prometheus_client.metrics_core import Metric

    from apiext.api.endpoints.request import Handler
    from apiext.operator.options import BindAddress
    from apiext.operator.statistics import OperatorStatus

_FLAG: Final = "--metrics-bind-address"
_END_SECONDS: Final = 1.0
"""Seconds that requests in progress may take at the end."""


class OperatorMetrics:
    """Collects the metrics of an operator (prometheus_client.registry.Collector)."""

    def __init__(self, status: OperatorStatus) -> None:
        self._status = status

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics."""
        yield from self._work()
        yield from self._leadership()
        yield from self._definitions()

    def _work(self) -> Iterable[Metric]:
        from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

        statistics = self._status.statistics
        durations = HistogramMetricFamily(
            "apiext_operator_reconcile_duration_seconds", "Seconds to reconcile a group, by result.", labels=("result",)
        )
        for result, histogram in statistics.reconciliations.items():
            durations.add_metric((result,), buckets(histogram.bounds, histogram.buckets), histogram.seconds)
        yield durations
        events = CounterMetricFamily(
            "apiext_operator_events_total",
            "Events by reason: changes of APIServices, of the condition ServedByApiext, and problems, also those that were not sent again.",
            labels=("reason",),
        )
        for reason, count in list(statistics.events.items()):
            events.add_metric((reason,), count)
        yield events

    def _leadership(self) -> Iterable[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        leads = GaugeMetricFamily("leader_election_master_status", "Whether this operator is the leader.", labels=("name",))
        leads.add_metric((NAME,), float(self._status.is_leader))
        yield leads
        statistics = self._status.statistics
        yield CounterMetricFamily("apiext_operator_sessions_total", "Sessions as the leader that began.", statistics.sessions)
        yield CounterMetricFamily(
            "apiext_operator_session_failures_total", "Sessions as the leader that an error ended.", statistics.session_failures
        )

    def _definitions(self) -> Iterable[Metric]:
        from prometheus_client.core import GaugeMetricFamily

        conditions = GaugeMetricFamily(
            "apiext_operator_definition_condition",
            "1 for the reason of the condition ServedByApiext of each definition of the host that has one.",
            labels=("crd_name", "reason"),
        )
        for name, reason in self._status.condition_reasons().items():
            conditions.add_metric((name, reason), 1)
        yield conditions


class OperatorRouter:
    """Answers all requests, without authentication.

    An operator is ready when it has listed what it watches on the host and knows the leader, itself or another one: a standby that could
    not take over is not ready. A running leader without the host stays ready, because another replica would not do better.
    """

    def __init__(self, status: OperatorStatus) -> None:
        self._status = status
        ready = [
            PING,
            HealthCheck("informer-sync", self._check_informers),
            HealthCheck("leader-election", self._check_election),
        ]
        endpoints = [HealthEndpoint("healthz", [PING]), HealthEndpoint("livez", [PING]), HealthEndpoint("readyz", ready)]
        self._routes: dict[str, Handler] = {path: endpoint for endpoint in endpoints for path in endpoint.paths}
        self._routes["/metrics"] = ProcessMetrics(OperatorMetrics(status))

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request."""
        route = self._routes.get(request.path)
        return text_reply("404 page not found", status=404) if route is None else await route(request)

    async def _check_informers(self) -> None:
        if not self._status.is_synced:
            raise UnhealthyError("the host's definitions and APIServices are not listed yet")

    async def _check_election(self) -> None:
        if not self._status.knows_leader:
            raise UnhealthyError("the lease was not read yet")


@asynccontextmanager
async def status_endpoints(address: BindAddress, status: OperatorStatus) -> AsyncIterator[str]:
    """Serve the endpoints while the context is open; yield their URL.

    Raises:
        StartError: the address is not available.
    """
    listener = listen(address.host, address.port, address_flag=_FLAG, port_flag=_FLAG)
    http = HTTPServer(OperatorRouter(status), None)
    acceptor = Acceptor(listener, http, None)
    host, port = listener.getsockname()[:2]
    try:
        yield f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    finally:
        acceptor.close()
        await http.shutdown(_END_SECONDS)

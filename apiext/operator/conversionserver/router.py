"""The paths of the webhook: reviews, health and metrics."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from apiext.api.endpoints.responsewriters.status import text_reply
from apiext.base.cert import certificate
from apiext.operator.conversionserver.handler import PATH, ReviewHandler
from apiext.server.routes.conversion_metrics import ReviewMetrics
from apiext.server.routes.healthz import PING, HealthCheck, HealthEndpoint, UnhealthyError
from apiext.server.routes.process_metrics import ProcessMetrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aiohttp import web

    from apiext.api.endpoints.request import Handler
    from apiext.operator.conversionserver.cluster_objects import ClusterObjects
    from apiext.operator.conversionserver.conversions import Conversions
    from apiext.resources.conversion.metrics import ConversionStats
    from apiext.server.tls.dynamic_tls import DynamicTLS


class ConversionRouter:
    """Answers all requests. Nobody is authenticated: reviews are pure functions, and the rest names CRDs at most."""

    def __init__(
        self, conversions: Conversions, followed: Sequence[tuple[str, ClusterObjects]], stats: ConversionStats, tls: DynamicTLS
    ) -> None:
        """Create the router. `followed` are the collections that must have been listed, with their names."""
        self.shutting_down = False
        """Whether readyz fails because the server shuts down."""
        self._conversions = conversions
        self._followed = followed
        self._tls = tls
        ready = [
            PING,
            HealthCheck("informer-sync", self._check_informers),
            HealthCheck("rules", self._check_rules),
            HealthCheck("certificate", self._check_certificate),
            HealthCheck("shutdown", self._check_shutdown),
        ]
        endpoints = [HealthEndpoint("healthz", [PING]), HealthEndpoint("livez", [PING]), HealthEndpoint("readyz", ready)]
        self._routes: dict[str, Handler] = {path: endpoint for endpoint in endpoints for path in endpoint.paths}
        self._routes[PATH] = ReviewHandler(conversions, stats)
        self._routes["/metrics"] = ProcessMetrics(ReviewMetrics(stats, conversions.usable))

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request."""
        route = self._routes.get(request.path)
        return text_reply("404 page not found", status=404) if route is None else await route(request)

    async def _check_informers(self) -> None:
        missing = [name for name, objects in self._followed if not objects.synced.is_set()]
        if missing:
            raise UnhealthyError(f"not listed yet: {', '.join(missing)}")

    async def _check_rules(self) -> None:
        missing = self._conversions.missing()
        if missing:
            raise UnhealthyError(f"{len(missing)} not compiled yet, such as {missing[0]}")

    async def _check_certificate(self) -> None:
        end = certificate.end_of_validity(self._tls.keys[0].cert.decode(errors="replace"))
        if end is None or end <= datetime.datetime.now(datetime.UTC):
            raise UnhealthyError("the serving certificate has expired")

    async def _check_shutdown(self) -> None:
        if self.shutting_down:
            raise UnhealthyError("process is shutting down")

"""/metrics of the smaller commands, which need no credentials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.api.endpoints.responsewriters.response import Reply
from apiext.server.routes.metrics_text import METRICS_TYPE, MetricsText

if TYPE_CHECKING:
    from aiohttp import web
    from prometheus_client.registry import Collector


class ProcessMetrics:
    """Answers with the metrics of a collector, of the process and of Python."""

    def __init__(self, collector: Collector) -> None:
        self._text = MetricsText(collector)

    async def __call__(self, _request: web.BaseRequest) -> web.StreamResponse:
        """Return all metrics."""
        return Reply(await self._text.render(), content_type=METRICS_TYPE)

"""Limits concurrent requests (apiserver pkg/server/filters/maxinflight.go)."""

from __future__ import annotations

from collections import Counter

from aiohttp import web

from apiext.api.endpoints.request import INFO, USER, Handler
from apiext.api.endpoints.responsewriters.status import text_reply
from apiext.api.filters.metrics import RequestStats
from apiext.base.meta.request import MASTERS, MUTATING, READ_ONLY

InFlight = Counter[str]
"""The number of current requests by kind: READ_ONLY or MUTATING."""


class MaxInFlight:
    """Answers 429 above the limit of concurrent requests; 0 disables a limit.

    Long-running requests do not count. Members of system:masters are exempt.
    """

    def __init__(self, handler: Handler, *, read_only: int, mutating: int, in_flight: InFlight, stats: RequestStats) -> None:
        self._handler = handler
        self._stats = stats
        self._limits = {READ_ONLY: read_only, MUTATING: mutating}
        self._now = in_flight

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the handler's answer, or 429 above the limit."""
        info, now = request[INFO], self._now
        if info.long_running:
            return await self._handler(request)
        kind = info.kind
        if 0 < self._limits[kind] <= now[kind]:
            if MASTERS in request[USER].groups:
                return await self._handler(request)
            self._stats.record_dropped(request, 429)
            return text_reply("Too many requests, please try again later.", status=429, headers={"Retry-After": "1"})
        now[kind] += 1
        try:
            return await self._handler(request)
        finally:
            now[kind] -= 1

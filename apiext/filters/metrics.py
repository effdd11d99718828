"""Counts and times requests (apiserver pkg/endpoints/metrics/metrics.go).

Every request passes here, so counting is a few additions to numbers of its own series; the Prometheus form is made
when someone asks for it (server/routes/metrics.py).
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from typing import Final, NamedTuple

from aiohttp import web

from apiext.endpoints.reply import has_begun
from apiext.endpoints.request import INFO, Handler
from apiext.meta.request import RequestInfo

BUCKETS: Final = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0),
    *(4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0),
)
"""Upper bounds of request_duration_seconds."""
_MAX_SERIES: Final = 10_000
_UNPROVEN: Final = frozenset({400, 401, 403, 404, 405})
_VERBS: Final = {
    "get": "GET",
    "list": "LIST",
    "watch": "WATCH",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETECOLLECTION",
    "post": "POST",
    "put": "PUT",
    "head": "HEAD",
    "options": "OPTIONS",
}


class Labels(NamedTuple):
    """What requests are told apart by."""

    verb: str
    group: str
    version: str
    resource: str
    subresource: str
    scope: str


class Series:
    """The numbers of requests with the same labels."""

    __slots__ = ("buckets", "codes", "running", "seconds")

    def __init__(self) -> None:
        self.codes: dict[int, int] = {}
        self.buckets = [0] * (len(BUCKETS) + 1)
        """Requests by duration, each counted in one bucket only; the last one has no bound."""
        self.seconds = 0.0
        self.running = 0
        """Long-running requests that are being served now."""


class RequestNumbers:
    """All series. Paths that nobody serves share one, so that their number stays bounded."""

    def __init__(self) -> None:
        self.series: dict[Labels, Series] = {}
        self._other = Labels("other", "", "", "", "", "")

    def find(self, labels: Labels, code: int = 0) -> Series:
        """The series of a request that was, or is to be, answered with a code."""
        found = self.series.get(labels)
        if found is not None:
            return found
        if code in _UNPROVEN or len(self.series) >= _MAX_SERIES:
            labels = self._other
        return self.series.setdefault(labels, Series())


class RequestMetrics:
    """Counts requests by verb, resource and code."""

    def __init__(self, handler: Handler, *, numbers: RequestNumbers) -> None:
        self._handler = handler
        self._numbers = numbers

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Pass the request on."""
        info = request[INFO]
        labels = _labels(info)
        running = self._numbers.find(labels) if info.long_running else None
        if running is not None:
            running.running += 1
        start = time.perf_counter()
        code = 500
        try:
            response = await self._handler(request)
            code = response.status
            return response
        except asyncio.CancelledError:
            # the client went away: of a watch that is how it ends, of anything else it is what nginx calls 499
            code = 200 if has_begun(request) else 499
            raise
        finally:
            if running is not None:
                running.running -= 1
            _record(self._numbers.find(labels, code), code, time.perf_counter() - start)


def _record(series: Series, code: int, seconds: float) -> None:
    series.codes[code] = series.codes.get(code, 0) + 1
    series.buckets[bisect_left(BUCKETS, seconds)] += 1
    series.seconds += seconds


def _labels(info: RequestInfo) -> Labels:
    verb = _VERBS.get(info.verb, "other")
    if not info.is_resource:
        return Labels(verb, "", "", "", info.path if verb == "GET" else "", "")
    by_place = "namespace" if info.namespace else "cluster"
    scope = "resource" if info.name or info.verb == "create" else by_place
    return Labels(verb, info.group, info.version, info.resource, info.subresource, scope)

"""Request metrics (apiserver pkg/endpoints/metrics/metrics.go).

Every request is counted, so counting one takes a few additions only. server/routes/metrics.py renders the Prometheus format.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from collections import Counter
from typing import Final, NamedTuple, cast

from aiohttp import web

from apiext.api.endpoints.parameters.query_parameters import parse_query
from apiext.api.endpoints.request import INFO, Handler
from apiext.api.endpoints.responsewriters.response import has_begun
from apiext.api.endpoints.responsewriters.status import StatusReply
from apiext.api.filters.request_info import WITHOUT_QUERY
from apiext.base.meta import errors
from apiext.base.meta.request import RequestInfo

DURATION_BUCKETS: Final = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0),
    *(4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0),
)
"""Upper bounds of request_duration_seconds, in seconds."""
EXPIRATION_BUCKETS: Final = (0, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 345600, 604800, 2592000, 7776000, 15552000, 31104000)
"""Upper bounds of client_certificate_expiration_seconds, in seconds."""
_MAX_SERIES: Final = 10_000
"""Label combinations; further ones share a series."""
_READS: Final = frozenset({"GET", "HEAD"})
_SUBRESOURCES: Final = frozenset({"", "status", "scale", "finalize"})
_HEALTH: Final = frozenset({"healthz", "livez", "readyz"})
_APPLY: Final = "application/apply-patch+yaml"
_METHODS: Final = frozenset({"APPLY", "CONNECT", "DELETE", "GET", "LIST", "OPTIONS", "PATCH", "POST", "PUT", "WATCH"})
DEADLINE_EXCEEDED: Final = "deadline"
"""The cancellation message of a request that exceeded its deadline."""


class Labels(NamedTuple):
    """The labels of a series."""

    verb: str
    group: str
    version: str
    resource: str
    subresource: str
    scope: str
    component: str = "apiserver"
    dry_run: str = ""


class Series:
    """The counters of requests with the same labels."""

    __slots__ = ("buckets", "codes", "running", "seconds")

    def __init__(self) -> None:
        self.running = 0
        """Current long-running requests."""
        self.reset()

    def reset(self) -> None:
        """Reset the counters of finished requests."""
        self.codes: dict[int, int] = {}
        self.buckets = [0] * (len(DURATION_BUCKETS) + 1)
        """Requests per duration bucket, not cumulative; the last bucket has no bound."""
        self.seconds = 0.0


class CertificateExpirations:
    """The remaining validity of client certificates at each request (apiserver pkg/authentication/request/x509)."""

    __slots__ = ("buckets", "seconds")

    def __init__(self) -> None:
        self.buckets = [0] * (len(EXPIRATION_BUCKETS) + 1)
        """Requests per bucket of remaining seconds, not cumulative; the last bucket has no bound."""
        self.seconds = 0.0

    def observe(self, left: float) -> None:
        """Count a request whose certificate expires in `left` seconds."""
        self.buckets[bisect_left(EXPIRATION_BUCKETS, left)] += 1
        self.seconds += left


class RequestStats:
    """All series, at most _MAX_SERIES."""

    def __init__(self) -> None:
        self.series: dict[Labels, Series] = {}
        self.certificates = CertificateExpirations()
        self.terminations: Counter[tuple[Labels, int]] = Counter()
        """Requests that the server terminated, by code."""
        self._other = Labels("other", "", "", "", "", "")

    def find(self, labels: Labels) -> Series:
        """Return the series with the labels; create it for new labels."""
        found = self.series.get(labels)
        if found is not None:
            return found
        return self.series.setdefault(labels if len(self.series) < _MAX_SERIES else self._other, Series())

    def record_termination(self, request: web.BaseRequest, code: int) -> None:
        """Count a request that the server terminated."""
        labels = labels_of(request)._replace(dry_run="")
        if (labels, code) in self.terminations or len(self.terminations) < _MAX_SERIES:
            self.terminations[labels, code] += 1

    def record_dropped(self, request: web.BaseRequest, code: int) -> None:
        """Count a request that the server refused without running its handler."""
        codes = self.find(labels_of(request)).codes
        codes[code] = codes.get(code, 0) + 1
        self.record_termination(request, code)


class RequestMetrics:
    """Counts requests for served resources and for health checks by verb, resource and code."""

    def __init__(self, handler: Handler, *, stats: RequestStats) -> None:
        self._handler = handler
        self._stats = stats

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the handler's answer. Raises what the handler raises."""
        info = request[INFO]
        if not info.is_resource and info.path[1:].rstrip("/") not in _HEALTH:
            return await self._handler(request)
        running = self._stats.find(labels_of(request)) if info.long_running else None
        if running is not None:
            running.running += 1
        start = time.perf_counter()
        code = 500
        try:
            response = await self._handler(request)
            code = response.status
            if code == 404 and not isinstance(response, StatusReply):
                # the plain-text 404 of a path that is not served is not counted
                code = 0
            return response
        except errors.StatusError as error:
            code = 0 if _is_unserved(error, info) else error.code
            raise
        except asyncio.CancelledError as end:
            # the client disconnected: 200 after the begin of an answer (a watch), else nginx's 499
            gone = 504 if end.args == (DEADLINE_EXCEEDED,) else 499
            code = 200 if has_begun(request) else gone
            raise
        finally:
            if running is not None:
                running.running -= 1
            if code:
                record(self._stats.find(labels_of(request)), code, time.perf_counter() - start)


def _is_unserved(error: errors.StatusError, info: RequestInfo) -> bool:
    """Return whether the error reports an unknown verb or subresource."""
    return error.code == 405 or (error.code == 404 and info.subresource not in _SUBRESOURCES)


def record(series: Series, code: int, seconds: float) -> None:
    """Count a request of a series."""
    series.codes[code] = series.codes.get(code, 0) + 1
    series.buckets[bisect_left(DURATION_BUCKETS, seconds)] += 1
    series.seconds += seconds


def labels_of(request: web.BaseRequest) -> Labels:
    """Return the labels of a request (CleanScope, cleanVerb and cleanDryRun of the reference)."""
    info = request[INFO]
    method = request.method
    if method == "PATCH" or (method in WITHOUT_QUERY and request.rel_url.raw_query_string):
        return _labels(request, info)
    if info.labels is None:
        info.labels = _labels(request, info)
    return cast("Labels", info.labels)


def _labels(request: web.BaseRequest, info: RequestInfo) -> Labels:
    method = request.method
    if not info.is_resource:
        verb = "GET" if method == "HEAD" else method
        return Labels(verb if verb in _METHODS else "other", "", "", "", info.path, "", component="")
    by_place = "namespace" if info.namespace else "cluster"
    scope = "resource" if info.name or info.verb == "create" else by_place
    if method in _READS:
        method = "WATCH" if info.verb == "watch" else "GET" if scope == "resource" else "LIST"
    elif method == "PATCH" and request.headers.get("Content-Type") == _APPLY:
        method = "APPLY"
    dry_run = _dry_run(request) if "dryRun" in request.rel_url.raw_query_string else ""
    verb = method if method in _METHODS else "other"
    # Labels(...) takes several times as long
    return tuple.__new__(Labels, (verb, info.group, info.version, info.resource, info.subresource, scope, "apiserver", dry_run))


def _dry_run(request: web.BaseRequest) -> str:
    asked = set(parse_query(request).get("dryRun", ()))
    return "" if not asked else "All" if asked == {"All"} else "invalid"

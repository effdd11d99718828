"""Counts and times requests (apiserver pkg/endpoints/metrics/metrics.go).

Every request for a resource passes here, so counting is a few additions to numbers of its own series; the Prometheus form is made
when someone asks for it (server/routes/metrics.py).
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from collections import Counter
from typing import Final, NamedTuple

from aiohttp import web

from apiext.endpoints.handlers.query_parameters import parse_query
from apiext.endpoints.request import INFO, Handler
from apiext.endpoints.responsewriters.response import has_begun
from apiext.meta import errors
from apiext.meta.request import RequestInfo

BUCKETS: Final = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0),
    *(4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0),
)
"""Upper bounds of request_duration_seconds."""
LIVES: Final = (0, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 345600, 604800, 2592000, 7776000, 15552000, 31104000)
"""Upper bounds of client_certificate_expiration_seconds, from nothing to a year."""
_MAX_SERIES: Final = 10_000
_READS: Final = frozenset({"GET", "HEAD"})
_SUBRESOURCES: Final = frozenset({"", "status", "scale", "finalize"})
_HEALTH: Final = frozenset({"healthz", "livez", "readyz"})
_APPLY: Final = "application/apply-patch+yaml"
_METHODS: Final = frozenset({"APPLY", "CONNECT", "DELETE", "GET", "LIST", "OPTIONS", "PATCH", "POST", "PUT", "WATCH"})
LATE: Final = "deadline"
"""With what a request is cancelled whose time is over."""


class Labels(NamedTuple):
    """What requests are told apart by."""

    verb: str
    group: str
    version: str
    resource: str
    subresource: str
    scope: str
    component: str = "apiserver"
    dry_run: str = ""


class Series:
    """The numbers of requests with the same labels."""

    __slots__ = ("buckets", "codes", "running", "seconds")

    def __init__(self) -> None:
        self.running = 0
        """Long-running requests that are being served now."""
        self.reset()

    def reset(self) -> None:
        """Forget the requests that are over."""
        self.codes: dict[int, int] = {}
        self.buckets = [0] * (len(BUCKETS) + 1)
        """Requests by duration, each counted in one bucket only; the last one has no bound."""
        self.seconds = 0.0


class CertificateLives:
    """How long client certificates are still good when requests come by them (apiserver pkg/authentication/request/x509)."""

    __slots__ = ("buckets", "seconds")

    def __init__(self) -> None:
        self.buckets = [0] * (len(LIVES) + 1)
        """Requests by the seconds that are left, each counted in one bucket only; the last one has no bound."""
        self.seconds = 0.0

    def observe(self, left: float) -> None:
        """Count a request."""
        self.buckets[bisect_left(LIVES, left)] += 1
        self.seconds += left


class RequestNumbers:
    """All series; their number is bounded."""

    def __init__(self) -> None:
        self.series: dict[Labels, Series] = {}
        self.certificates = CertificateLives()
        self.terminations: Counter[tuple[Labels, int]] = Counter()
        """Requests that the server ended before they were done, by code."""
        self._other = Labels("other", "", "", "", "", "")

    def find(self, labels: Labels) -> Series:
        """The series with the labels, a new one where there is none."""
        found = self.series.get(labels)
        if found is not None:
            return found
        return self.series.setdefault(labels if len(self.series) < _MAX_SERIES else self._other, Series())

    def terminated(self, request: web.BaseRequest, code: int) -> None:
        """Count a request that was given up."""
        labels = labels_of(request)._replace(dry_run="")
        if (labels, code) in self.terminations or len(self.terminations) < _MAX_SERIES:
            self.terminations[labels, code] += 1

    def dropped(self, request: web.BaseRequest, code: int) -> None:
        """Count a request that was not even begun."""
        codes = self.find(labels_of(request)).codes
        codes[code] = codes.get(code, 0) + 1
        self.terminated(request, code)


class RequestMetrics:
    """Counts requests for resources and for health, which somebody serves, by verb, resource and code."""

    def __init__(self, handler: Handler, *, numbers: RequestNumbers) -> None:
        self._handler = handler
        self._numbers = numbers

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Pass the request on."""
        info = request[INFO]
        if not info.is_resource and info.path[1:].rstrip("/") not in _HEALTH:
            return await self._handler(request)
        running = self._numbers.find(labels_of(request)) if info.long_running else None
        if running is not None:
            running.running += 1
        start = time.perf_counter()
        code = 500
        try:
            response = await self._handler(request)
            # where nothing is served the answer is no error but a text
            code = response.status if response.status != 404 else 0
            return response
        except errors.StatusError as error:
            code = 0 if _names_nothing(error, info) else error.code
            raise
        except asyncio.CancelledError as end:
            # the client went away: of a watch that is how it ends, of anything else it is what nginx calls 499
            gone = 504 if end.args == (LATE,) else 499
            code = 200 if has_begun(request) else gone
            raise
        finally:
            if running is not None:
                running.running -= 1
            if code:
                _record(self._numbers.find(labels_of(request)), code, time.perf_counter() - start)


def _names_nothing(error: errors.StatusError, info: RequestInfo) -> bool:
    """Whether there is no such verb or subresource."""
    return error.code == 405 or (error.code == 404 and info.subresource not in _SUBRESOURCES)


def _record(series: Series, code: int, seconds: float) -> None:
    series.codes[code] = series.codes.get(code, 0) + 1
    series.buckets[bisect_left(BUCKETS, seconds)] += 1
    series.seconds += seconds


def labels_of(request: web.BaseRequest) -> Labels:
    """The labels of a request (CleanScope, cleanVerb and cleanDryRun of the reference)."""
    info, method = request[INFO], request.method
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
    return Labels(verb, info.group, info.version, info.resource, info.subresource, scope, dry_run=dry_run)


def _dry_run(request: web.BaseRequest) -> str:
    asked = set(parse_query(request).get("dryRun", ()))
    return "" if not asked else "All" if asked == {"All"} else "invalid"

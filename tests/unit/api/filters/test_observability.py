"""Metrics and log lines of requests."""

import asyncio
import logging

import pytest
from aiohttp import web

from apiext.api.authorization.authorizer import ALLOWED, Verdict
from apiext.api.endpoints.responsewriters.response import Reply
from apiext.api.endpoints.responsewriters.status import status_reply
from apiext.api.filters.failures import ErrorRendering
from apiext.api.filters.impersonation import ImpersonationFilter
from apiext.api.filters.metrics import Labels, RequestMetrics, RequestStats
from apiext.api.filters.request_deadline import RequestDeadline
from apiext.api.filters.request_logging import RequestLogging
from apiext.base.meta.errors import StatusError
from apiext.base.meta.request import RequestInfo, UserInfo
from tests.support.captured_logs import logged
from tests.unit.api.filters.conftest import Make, hangs, hello

GET = Labels("GET", "example.com", "v1", "widgets", "", "resource")


def _answers(code: int):  # type: ignore[no-untyped-def]  # noqa: ANN202
    async def handler(_request: web.BaseRequest) -> web.StreamResponse:
        return Reply(b"x", status=code)

    return handler


async def test_counts_requests(exchange: Make) -> None:
    """Count each request in the series of its labels, by code, and in one bucket."""
    stats = RequestStats()

    await exchange().through(RequestMetrics(hello, stats=stats))
    await exchange().through(RequestMetrics(_answers(409), stats=stats))

    series = stats.series[GET]
    assert series.codes == {200: 1, 409: 1}
    assert sum(series.buckets) == 2
    assert series.seconds > 0


@pytest.mark.parametrize(
    "method, path, labels",
    [
        ("POST", "/apis/g/v1/namespaces/n/ws", Labels("POST", "g", "v1", "ws", "", "resource")),
        ("GET", "/apis/g/v1/namespaces/n/ws", Labels("LIST", "g", "v1", "ws", "", "namespace")),
        ("GET", "/apis/g/v1/ws", Labels("LIST", "g", "v1", "ws", "", "cluster")),
        ("PUT", "/apis/g/v1/namespaces/n/ws/a/status", Labels("PUT", "g", "v1", "ws", "status", "resource")),
        ("DELETE", "/apis/g/v1/ws", Labels("DELETE", "g", "v1", "ws", "", "cluster")),
        ("GET", "/apis/g/v1/ws?fieldSelector=metadata.name%3Da", Labels("GET", "g", "v1", "ws", "", "resource")),
        ("HEAD", "/apis/g/v1/ws", Labels("LIST", "g", "v1", "ws", "", "cluster")),
        ("POST", "/apis/g/v1/ws?dryRun=All", Labels("POST", "g", "v1", "ws", "", "resource", dry_run="All")),
        ("POST", "/apis/g/v1/ws?dryRun=x", Labels("POST", "g", "v1", "ws", "", "resource", dry_run="invalid")),
        ("FOO", "/healthz", Labels("other", "", "", "", "/healthz", "", component="")),
        ("GET", "/healthz", Labels("GET", "", "", "", "/healthz", "", component="")),
    ],
)
async def test_labels_requests(exchange: Make, method: str, path: str, labels: Labels) -> None:
    """Label requests as the reference."""
    stats = RequestStats()

    await exchange(path, method=method).through(RequestMetrics(hello, stats=stats))

    assert list(stats.series) == [labels]


@pytest.mark.parametrize("path", ["/version", "/apis/g/v1", "/apis/g/v1/unknown", "/readyz/ping"])
async def test_does_not_count_other_paths(exchange: Make, path: str) -> None:
    """Do not count paths that are not served, which bounds the number of series."""
    stats = RequestStats()

    await exchange(path).through(RequestMetrics(_answers(404), stats=stats))

    assert not stats.series


@pytest.mark.parametrize(
    "path,code,counted",
    [("/apis/g/v1/ws/a", 404, True), ("/apis/g/v1/ws/a/unknown", 404, False), ("/apis/g/v1/ws", 405, False), ("/apis/g/v1/ws", 403, True)],
)
async def test_counts_errors(exchange: Make, path: str, code: int, counted: bool) -> None:  # noqa: FBT001
    """Count errors except those of unknown verbs and subresources."""
    stats = RequestStats()

    async def fails(_request: web.BaseRequest) -> web.StreamResponse:
        raise StatusError(code, "", "")

    await exchange(path).through(ErrorRendering(RequestMetrics(fails, stats=stats)))

    assert [series.codes for series in stats.series.values()] == ([{code: 1}] if counted else [])


async def test_counts_what_is_missing(exchange: Make) -> None:
    """Count a Status that a handler returns, also of what does not exist."""
    stats = RequestStats()

    async def misses(request: web.BaseRequest) -> web.StreamResponse:
        return status_reply(request, StatusError(404, "NotFound", "a is missing"))

    await exchange("/apis/g/v1/ws/a").through(RequestMetrics(misses, stats=stats))

    assert [series.codes for series in stats.series.values()] == [{404: 1}]


async def test_counts_applies_apart(exchange: Make) -> None:
    """Count apply patches by their media type, apart from other patches."""
    stats = RequestStats()
    headers = {"Content-Type": "application/apply-patch+yaml"}

    await exchange("/apis/g/v1/ws/a", method="PATCH", headers=headers).through(RequestMetrics(hello, stats=stats))

    assert next(iter(stats.series)).verb == "APPLY"


async def test_counts_terminations(exchange: Make) -> None:
    """Count requests that exceeded their deadline or the limit of concurrent requests."""
    stats, late = RequestStats(), GET._replace(verb="LIST", scope="namespace")

    counting = RequestMetrics(hangs, stats=stats)
    await exchange("/apis/example.com/v1/namespaces/n/widgets").through(RequestDeadline(counting, maximum=0.01, stats=stats))
    stats.record_dropped(exchange().request, 429)

    assert stats.terminations == {(late, 504): 1, (GET, 429): 1}
    assert {labels: series.codes for labels, series in stats.series.items()} == {late: {504: 1}, GET: {429: 1}}


async def test_counts_current_watches(exchange: Make) -> None:
    """Count a watch as running until its client disconnects, and then by its code."""
    stats = RequestStats()

    async def streams(request: web.BaseRequest) -> web.StreamResponse:
        await request.writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.Event().wait()
        raise AssertionError

    task = asyncio.create_task(exchange("/apis/g/v1/ws?watch=1").through(RequestMetrics(streams, stats=stats)))
    await asyncio.sleep(0)
    series = stats.series[Labels("WATCH", "g", "v1", "ws", "", "cluster")]
    assert series.running == 1

    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert (series.running, series.codes) == (0, {200: 1})


async def test_logs_every_request(exchange: Make, caplog: pytest.LogCaptureFixture) -> None:
    """Log every request with user, verb, resource, code and latency at a high verbosity."""
    with caplog.at_level(logging.INFO):
        await exchange().through(RequestLogging(hello, everything=True))

    fields = logged(caplog)[0]
    found = {name: fields[name] for name in ("user", "verb", "resource", "code", "audit_id")}
    assert found == {"user": "admin", "verb": "get", "resource": "widgets.example.com", "code": 200, "audit_id": "an-id"}
    assert fields["latency_ms"] >= 0


async def test_logs_server_errors(exchange: Make, caplog: pytest.LogCaptureFixture) -> None:
    """Log only server errors at a low verbosity."""
    await exchange().through(RequestLogging(hello, everything=False))
    await exchange().through(RequestLogging(_answers(404), everything=False))
    await exchange().through(RequestLogging(_answers(503), everything=False))

    assert [line["code"] for line in logged(caplog)] == [503]


async def test_logs_broken_answers(exchange: Make, caplog: pytest.LogCaptureFixture) -> None:
    """Log a request whose handler failed without an answer."""

    async def breaks(_request: web.BaseRequest) -> web.StreamResponse:
        raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        await exchange().through(RequestLogging(breaks, everything=False))

    assert [line["code"] for line in logged(caplog)] == [500]


@pytest.mark.parametrize("begun,code", [(True, 200), (False, 499)])
async def test_logs_disconnected_clients(
    exchange: Make,
    caplog: pytest.LogCaptureFixture,
    begun: bool,  # noqa: FBT001
    code: int,
) -> None:
    """Log a disconnected client as the end of a watch, or as 499 for other requests."""

    async def hangs(request: web.BaseRequest) -> web.StreamResponse:
        await request.writer.write(b"x" if begun else b"")
        await asyncio.Event().wait()
        raise AssertionError

    with caplog.at_level(logging.INFO):
        task = asyncio.create_task(exchange("/apis/g/v1/ws?watch=1").through(RequestLogging(hangs, everything=True)))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    assert [(line["verb"], line["code"]) for line in logged(caplog)] == [("watch", code)]


async def test_logs_impersonation(exchange: Make, caplog: pytest.LogCaptureFixture) -> None:
    """Log both the authenticated and the impersonated user."""

    async def allows(_user: UserInfo, _info: RequestInfo) -> Verdict:
        return ALLOWED

    chain = RequestLogging(ImpersonationFilter(hello, authorize=allows), everything=True)
    with caplog.at_level(logging.INFO):
        await exchange(headers={"Impersonate-User": "alice"}).through(chain)

    assert [(line["user"], line["requestor"]) for line in logged(caplog)] == [("alice", "admin")]

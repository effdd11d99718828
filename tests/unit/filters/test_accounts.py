"""Numbers and log lines of requests."""

import asyncio
import logging

import pytest
from aiohttp import web

from apiext.endpoints.reply import Reply
from apiext.filters.metrics import Labels, RequestMetrics, RequestNumbers
from apiext.filters.request_logging import RequestLogging
from tests.support.logs import logged

from .conftest import Make, hello

GET = Labels("GET", "example.com", "v1", "widgets", "", "resource")


def _answers(code: int):  # type: ignore[no-untyped-def]  # noqa: ANN202
    async def handler(_request: web.BaseRequest) -> web.StreamResponse:
        return Reply(b"x", status=code)

    return handler


async def test_requests_are_counted(exchange: Make) -> None:
    """Each request counts in the series of its labels, by its code, once in a bucket."""
    numbers = RequestNumbers()

    await exchange().through(RequestMetrics(hello, numbers=numbers))
    await exchange().through(RequestMetrics(_answers(409), numbers=numbers))

    series = numbers.series[GET]
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
        ("DELETE", "/apis/g/v1/ws", Labels("DELETECOLLECTION", "g", "v1", "ws", "", "cluster")),
        ("GET", "/healthz", Labels("GET", "", "", "", "/healthz", "")),
    ],
)
async def test_labels(exchange: Make, method: str, path: str, labels: Labels) -> None:
    """Labels are the reference's."""
    numbers = RequestNumbers()

    await exchange(path, method=method).through(RequestMetrics(hello, numbers=numbers))

    assert list(numbers.series) == [labels]


async def test_paths_that_nobody_serves_share_a_series(exchange: Make) -> None:
    """Whoever asks for ever new things does not fill the memory; a resource that has been served is told apart, 404 or not."""
    numbers = RequestNumbers()
    for number in range(50):
        await exchange(f"/apis/g/v1/r{number}").through(RequestMetrics(_answers(404), numbers=numbers))
    await exchange().through(RequestMetrics(hello, numbers=numbers))
    await exchange().through(RequestMetrics(_answers(404), numbers=numbers))

    assert set(numbers.series) == {Labels("other", "", "", "", "", ""), GET}
    assert numbers.series[GET].codes == {200: 1, 404: 1}


async def test_watches_count_while_they_run(exchange: Make) -> None:
    """A running watch is seen; when its client has left it is not, and it counts as what its client got."""
    numbers = RequestNumbers()

    async def streams(request: web.BaseRequest) -> web.StreamResponse:
        await request.writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.Event().wait()
        raise AssertionError

    task = asyncio.create_task(exchange("/apis/g/v1/ws?watch=1").through(RequestMetrics(streams, numbers=numbers)))
    await asyncio.sleep(0)
    series = numbers.series[Labels("WATCH", "g", "v1", "ws", "", "cluster")]
    assert series.running == 1

    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert (series.running, series.codes) == (0, {200: 1})


async def test_all_requests_are_logged(exchange: Make, caplog: pytest.LogCaptureFixture) -> None:
    """At a high verbosity every request is a line with user, verb, resource, code and latency."""
    with caplog.at_level(logging.INFO):
        await exchange().through(RequestLogging(hello, everything=True))

    fields = logged(caplog)[0]
    found = {name: fields[name] for name in ("user", "verb", "resource", "code", "audit_id")}
    assert found == {"user": "admin", "verb": "get", "resource": "widgets.example.com", "code": 200, "audit_id": "an-id"}
    assert fields["latency_ms"] >= 0


async def test_failures_are_logged(exchange: Make, caplog: pytest.LogCaptureFixture) -> None:
    """Otherwise only what failed inside the server is."""
    await exchange().through(RequestLogging(hello, everything=False))
    await exchange().through(RequestLogging(_answers(404), everything=False))
    await exchange().through(RequestLogging(_answers(503), everything=False))

    assert [line["code"] for line in logged(caplog)] == [503]

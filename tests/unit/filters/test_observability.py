"""Numbers and log lines of requests."""

import asyncio
import logging

import pytest
from aiohttp import web

from apiext.authorization.authorizer import ALLOWED, Verdict
from apiext.endpoints.responsewriters.response import Reply
from apiext.filters.error_rendering import ErrorRendering
from apiext.filters.impersonation import ImpersonationFilter
from apiext.filters.metrics import Labels, RequestMetrics, RequestNumbers
from apiext.filters.request_deadline import RequestDeadline
from apiext.filters.request_logging import RequestLogging
from apiext.meta.errors import StatusError
from apiext.meta.request import RequestInfo, UserInfo
from tests.support.captured_logs import logged
from tests.unit.filters.conftest import Make, hello

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
        ("DELETE", "/apis/g/v1/ws", Labels("DELETE", "g", "v1", "ws", "", "cluster")),
        ("GET", "/apis/g/v1/ws?fieldSelector=metadata.name%3Da", Labels("GET", "g", "v1", "ws", "", "resource")),
        ("HEAD", "/apis/g/v1/ws", Labels("LIST", "g", "v1", "ws", "", "cluster")),
        ("POST", "/apis/g/v1/ws?dryRun=All", Labels("POST", "g", "v1", "ws", "", "resource", dry_run="All")),
        ("POST", "/apis/g/v1/ws?dryRun=x", Labels("POST", "g", "v1", "ws", "", "resource", dry_run="invalid")),
        ("FOO", "/healthz", Labels("other", "", "", "", "/healthz", "", component="")),
        ("GET", "/healthz", Labels("GET", "", "", "", "/healthz", "", component="")),
    ],
)
async def test_labels(exchange: Make, method: str, path: str, labels: Labels) -> None:
    """Labels are the reference's."""
    numbers = RequestNumbers()

    await exchange(path, method=method).through(RequestMetrics(hello, numbers=numbers))

    assert list(numbers.series) == [labels]


@pytest.mark.parametrize("path", ["/version", "/apis/g/v1", "/apis/g/v1/unknown", "/readyz/ping"])
async def test_what_is_no_resource_is_not_counted(exchange: Make, path: str) -> None:
    """Nor is what nobody serves: whoever asks for ever new things does not fill the memory."""
    numbers = RequestNumbers()

    await exchange(path).through(RequestMetrics(_answers(404), numbers=numbers))

    assert not numbers.series


@pytest.mark.parametrize(
    "path,code,counted",
    [("/apis/g/v1/ws/a", 404, True), ("/apis/g/v1/ws/a/unknown", 404, False), ("/apis/g/v1/ws", 405, False), ("/apis/g/v1/ws", 403, True)],
)
async def test_errors_are_counted(exchange: Make, path: str, code: int, counted: bool) -> None:  # noqa: FBT001
    """But for verbs and subresources that there are not."""
    numbers = RequestNumbers()

    async def fails(_request: web.BaseRequest) -> web.StreamResponse:
        raise StatusError(code, "", "")

    await exchange(path).through(ErrorRendering(RequestMetrics(fails, numbers=numbers)))

    assert [series.codes for series in numbers.series.values()] == ([{code: 1}] if counted else [])


async def test_applies_are_patches_of_their_own(exchange: Make) -> None:
    """They are told by what they are sent as."""
    numbers = RequestNumbers()
    headers = {"Content-Type": "application/apply-patch+yaml"}

    await exchange("/apis/g/v1/ws/a", method="PATCH", headers=headers).through(RequestMetrics(hello, numbers=numbers))

    assert next(iter(numbers.series)).verb == "APPLY"


async def test_what_the_server_gives_up_is_counted(exchange: Make) -> None:
    """Late requests count as such, and those for which there was no room at all."""
    numbers, late = RequestNumbers(), GET._replace(verb="LIST", scope="namespace")

    async def hangs(_request: web.BaseRequest) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    counting = RequestMetrics(hangs, numbers=numbers)
    await exchange("/apis/example.com/v1/namespaces/n/widgets").through(RequestDeadline(counting, maximum=0.01, numbers=numbers))
    numbers.dropped(exchange().request, 429)

    assert numbers.terminations == {(late, 504): 1, (GET, 429): 1}
    assert {labels: series.codes for labels, series in numbers.series.items()} == {late: {504: 1}, GET: {429: 1}}


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


async def test_what_breaks_is_logged(exchange: Make, caplog: pytest.LogCaptureFixture) -> None:
    """Also where there is no answer to tell the code by."""

    async def breaks(_request: web.BaseRequest) -> web.StreamResponse:
        raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        await exchange().through(RequestLogging(breaks, everything=False))

    assert [line["code"] for line in logged(caplog)] == [500]


@pytest.mark.parametrize("begun,code", [(True, 200), (False, 499)])
async def test_clients_that_leave_are_logged(
    exchange: Make,
    caplog: pytest.LogCaptureFixture,
    begun: bool,  # noqa: FBT001
    code: int,
) -> None:
    """A watch ends so; anything else is not done."""

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


async def test_who_acts_as_another_is_logged(exchange: Make, caplog: pytest.LogCaptureFixture) -> None:
    """Both are: who it was, and as whom."""

    async def allows(_user: UserInfo, _info: RequestInfo) -> Verdict:
        return ALLOWED

    chain = RequestLogging(ImpersonationFilter(hello, decide=allows), everything=True)
    with caplog.at_level(logging.INFO):
        await exchange(headers={"Impersonate-User": "alice"}).through(chain)

    assert [(line["user"], line["requestor"]) for line in logged(caplog)] == [("alice", "admin")]

"""Answers to failed, late, excess and cancelled requests."""

import asyncio
import json
import logging
from typing import Any

import pytest
from aiohttp import web

from apiext.api.endpoints.request import Handler
from apiext.api.filters.failures import ErrorRendering, PanicRecovery
from apiext.api.filters.max_in_flight import InFlight, MaxInFlight
from apiext.api.filters.metrics import RequestStats
from apiext.api.filters.request_deadline import RequestDeadline
from apiext.base.meta import errors
from apiext.base.meta.request import UserInfo
from tests.support.event_loop import advance, settle
from tests.unit.api.filters.conftest import Make, failing, hangs, hello

ORDINARY_USER = UserInfo("ann", ("system:authenticated",))
WATCH = "/api/v1/pods?watch=1"


async def _begins_and_fails(request: web.BaseRequest) -> web.StreamResponse:
    await request.writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    raise errors.bad_request("too late")


def _limited(handler: Handler = hangs, **limits: Any) -> ErrorRendering:
    """Return a chain with deadlines, by default of a handler that exceeds them."""
    return ErrorRendering(RequestDeadline(handler, stats=RequestStats(), **{"maximum": 60.0} | limits))


async def test_hides_defects_from_clients(exchange: Make, caplog: pytest.LogCaptureFixture) -> None:
    """Return a text without details and close the connection after a defect; log the traceback."""
    done = await exchange().through(PanicRecovery(failing(ZeroDivisionError("a secret of the server"))))

    assert done.status == 500
    assert done.body == b"This request caused apiserver to panic. Look in the logs for details.\n"
    assert done.headers["Connection"] == "close"
    assert "a secret of the server" in caplog.text


@pytest.mark.parametrize("chain", [PanicRecovery(ErrorRendering(_begins_and_fails)), PanicRecovery(_begins_and_fails)])
async def test_breaks_off_begun_answers(exchange: Make, chain: PanicRecovery) -> None:
    """Close the connection without further bytes if a handler fails after the first byte."""
    done = exchange()

    with pytest.raises(ConnectionResetError):
        await done.through(chain)

    assert done.wire.data == b"HTTP/1.1 200 OK\r\n\r\n"


async def test_ignores_errors_of_closed_connections(exchange: Make, caplog: pytest.LogCaptureFixture) -> None:
    """Log no connection error of a disconnected client."""
    done = exchange()
    transport = done.request.transport
    assert transport is not None
    transport.is_closing.return_value = True  # type: ignore[attr-defined]

    with caplog.at_level(logging.DEBUG):
        await done.through(PanicRecovery(failing(ConnectionResetError())))

    assert caplog.text == ""


async def test_renders_status_errors(exchange: Make) -> None:
    """Answer with the Status of a StatusError, and with its Retry-After."""
    done = await exchange().through(ErrorRendering(failing(errors.too_many_requests("busy", 7))))

    assert (done.status, done.headers["Retry-After"]) == (429, "7")
    assert json.loads(done.body)["details"] == {"retryAfterSeconds": 7}


async def test_negotiates_the_status(exchange: Make) -> None:
    """Render the Status in the accepted media type, else as indented JSON."""
    chain = ErrorRendering(failing(errors.bad_request("no")))

    as_yaml = await exchange(headers={"Accept": "application/yaml"}).through(chain)
    odd = await exchange(headers={"Accept": "text/html"}).through(chain)

    assert (as_yaml.headers["Content-Type"], as_yaml.body[:14]) == ("application/yaml", b"apiVersion: v1")
    assert (odd.headers["Content-Type"], odd.body[:12]) == ("application/json", b'{\n  "kind": ')


async def test_refuses_large_bodies(exchange: Make) -> None:
    """Return 413 for a body above the limit, whichever layer detects it."""
    large = web.HTTPRequestEntityTooLarge(max_size=1, actual_size=2)

    done = await exchange(method="POST").through(ErrorRendering(failing(large)))

    assert (done.status, json.loads(done.body)["reason"]) == (413, "RequestEntityTooLarge")


# --- time -----------------------------------------------------------------------------------------------------------


async def test_cancels_late_requests(exchange: Make) -> None:
    """Cancel a request at its deadline, and return 504."""
    done = await exchange().through(_limited(maximum=0.01))

    message = "Timeout: request did not complete within the allotted timeout"
    assert (done.status, done.headers["Content-Type"]) == (504, "text/plain; charset=utf-8")
    assert (
        done.body
        == (f'{{"metadata":{{}},"status":"Failure","message":"{message}","reason":"Timeout","details":{{}},"code":504}}\n').encode()
    )
    assert asyncio.current_task() is not None
    assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "asked, maximum", [*((text, 60) for text in ("10ms", "0.01s")), *((text, 0.01) for text in ("0s", "0", "99h", ""))]
)
async def test_shortens_the_deadline(exchange: Make, asked: str, maximum: float) -> None:
    """Shorten the deadline with `?timeout=`, unless that is empty, zero or longer."""
    done = await exchange(f"/api/v1/pods?timeout={asked}").through(_limited(maximum=maximum))

    assert done.status == 504


@pytest.mark.parametrize("path", ["/api/v1/namespaces/a/pods", "/api/v1/namespaces/a/pods?timeout=50s"])
async def test_limits_writes(exchange: Make, path: str) -> None:
    """End a write of one object before the request timeout, with a Status."""
    stats = RequestStats()

    done = await exchange(path, method="POST").through(ErrorRendering(RequestDeadline(hangs, maximum=60, writing=0.01, stats=stats)))

    message = "Timeout: request did not complete within requested timeout - context deadline exceeded"
    assert (done.status, done.headers["Content-Type"]) == (504, "application/json")
    status = json.loads(done.body)
    assert (status["kind"], status["reason"], status["message"], status["details"]) == ("Status", "Timeout", message, {})
    assert not stats.terminations


@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_applies_the_earlier_deadline_to_writes(exchange: Make, method: str) -> None:
    """Apply a shorter timeout of the client to writes, and the request timeout to deletions of collections."""
    done = await exchange("/api/v1/namespaces/a/pods?timeout=10ms", method=method).through(_limited(writing=0.02))

    assert (done.status, done.headers["Content-Type"]) == (504, "text/plain; charset=utf-8")


@pytest.mark.parametrize("handler", [hello, failing(errors.bad_request("no"))], ids=["answer", "error"])
async def test_returns_504_for_an_answer_after_the_deadline(exchange: Make, handler: Handler) -> None:
    """Return 504 if the answer is complete only after the deadline, or the error raised."""
    stats = RequestStats()

    done = await exchange("/api/v1/pods?timeout=1ns").through(RequestDeadline(handler, maximum=60, stats=stats))

    assert (done.status, list(stats.terminations.values())) == (504, [1])


async def test_rejects_invalid_timeouts(exchange: Make) -> None:
    """Return 400 with the message of Go's parser for a timeout that is not a duration."""
    done = await exchange("/api/v1/pods?timeout=soon").through(_limited(hello))

    message = 'invalid timeout specified in the request URL - time: invalid duration "soon"'
    assert (done.status, json.loads(done.body)["message"]) == (400, message)


async def test_does_not_limit_watches(exchange: Make) -> None:
    """Set no deadline for a long-running request."""
    running = asyncio.create_task(exchange(WATCH).through(RequestDeadline(hangs, maximum=0.001, stats=RequestStats())))

    done, pending = await asyncio.wait({running}, timeout=0.02)

    assert not done
    running.cancel()
    await asyncio.gather(*pending, return_exceptions=True)


async def test_shares_deadlines(exchange: Make) -> None:
    """Cancel all current requests that came within a second at their shared deadline."""
    chain, tasks = RequestDeadline(hangs, maximum=10, stats=RequestStats()), []
    for _ in range(3):
        tasks.append(asyncio.create_task(exchange().through(ErrorRendering(chain))))
        await settle()
        advance(0.3)
    for seconds in (0.3, 9.5):
        advance(seconds)
        await settle()
    early = [task.done() for task in tasks]
    advance(1)
    done = await asyncio.gather(*tasks)

    assert early == [False] * 3
    assert [each.status for each in done] == [504] * 3


async def test_leaves_no_cancellation_behind(exchange: Make) -> None:
    """End the cancellation of a request whose handler answers all the same: its task answers the next one."""

    async def stubborn(request: web.BaseRequest) -> web.StreamResponse:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return await hello(request)
        raise AssertionError

    done = await exchange().through(RequestDeadline(stubborn, maximum=0.01, stats=RequestStats()))

    task = asyncio.current_task()
    assert task is not None
    assert (done.status, task.cancelling()) == (200, 0)


async def test_keeps_other_cancellations(exchange: Make) -> None:
    """Keep the cancellation by a disconnected client apart from a timeout."""
    task = asyncio.create_task(exchange().through(RequestDeadline(hangs, maximum=60, stats=RequestStats())))
    await asyncio.sleep(0)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


# --- limits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method, limits", [("GET", (1, 5)), ("POST", (5, 1))])
async def test_limits_concurrent_requests(exchange: Make, method: str, limits: tuple[int, int]) -> None:
    """Return 429 with Retry-After above the separate limits of read and write requests."""
    in_flight = InFlight()
    chain = MaxInFlight(hangs, read_only=limits[0], mutating=limits[1], in_flight=in_flight, stats=RequestStats())
    first = asyncio.create_task(exchange(method=method, user=ORDINARY_USER).through(chain))
    await asyncio.sleep(0)

    done = await exchange(method=method, user=ORDINARY_USER).through(chain)

    assert (done.status, done.headers["Retry-After"]) == (429, "1")
    assert done.body == b"Too many requests, please try again later.\n"
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert (in_flight["readOnly"], in_flight["mutating"]) == (0, 0)


async def test_exempts_masters_and_watches(exchange: Make) -> None:
    """Exempt system:masters and watches from the limits, and treat 0 as no limit."""
    full = InFlight(readOnly=1, mutating=1)
    limited = MaxInFlight(hello, read_only=1, mutating=1, in_flight=full, stats=RequestStats())
    unlimited = MaxInFlight(hello, read_only=0, mutating=0, in_flight=full, stats=RequestStats())

    answers = [
        await exchange().through(limited),
        await exchange(WATCH, user=ORDINARY_USER).through(limited),
        await exchange(user=ORDINARY_USER).through(unlimited),
        await exchange(method="POST", user=ORDINARY_USER).through(unlimited),
    ]

    assert [done.status for done in answers] == [200] * 4

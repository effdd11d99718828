"""What clients are told when handlers fail, are late, are too many, or are stopped."""

import asyncio
import json
import logging

import pytest
from aiohttp import web

from apiext.filters.error_rendering import ErrorRendering
from apiext.filters.max_in_flight import InFlight, MaxInFlight
from apiext.filters.metrics import RequestNumbers
from apiext.filters.panic_recovery import PanicRecovery
from apiext.filters.request_deadline import RequestDeadline
from apiext.meta import errors
from apiext.meta.request import UserInfo
from tests.unit.filters.conftest import Make, hello

NOBODY = UserInfo("somebody", ("system:authenticated",))
WATCH = "/api/v1/pods?watch=1"


async def _fails(_request: web.BaseRequest) -> web.StreamResponse:
    raise ZeroDivisionError("a secret of the server")


async def _begins_and_fails(request: web.BaseRequest) -> web.StreamResponse:
    await request.writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    raise errors.bad_request("too late")


async def _hangs(_request: web.BaseRequest) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError


async def test_a_defect_gives_nothing_away(exchange: Make, caplog: pytest.LogCaptureFixture) -> None:
    """The client gets a text without details and a closed connection, the log gets the traceback."""
    done = await exchange().through(PanicRecovery(_fails))

    assert done.status == 500
    assert done.body == b"This request caused apiserver to panic. Look in the logs for details.\n"
    assert done.headers["Connection"] == "close"
    assert "a secret of the server" in caplog.text


@pytest.mark.parametrize("chain", [PanicRecovery(ErrorRendering(_begins_and_fails)), PanicRecovery(_begins_and_fails)])
async def test_what_has_begun_is_broken_off(exchange: Make, chain: PanicRecovery) -> None:
    """After the first byte no other answer can be given: the connection breaks, and nothing is added."""
    done = exchange()

    with pytest.raises(ConnectionResetError):
        await done.through(chain)

    assert done.wire.data == b"HTTP/1.1 200 OK\r\n\r\n"


async def test_a_client_that_left_is_no_defect(exchange: Make, caplog: pytest.LogCaptureFixture) -> None:
    """A connection error of a client that is gone is not logged."""
    done = exchange()
    transport = done.request.transport
    assert transport is not None
    transport.is_closing.return_value = True  # type: ignore[attr-defined]

    async def handler(_request: web.BaseRequest) -> web.StreamResponse:
        raise ConnectionResetError

    with caplog.at_level(logging.DEBUG):
        await done.through(PanicRecovery(handler))

    assert caplog.text == ""


async def test_status_errors_are_rendered(exchange: Make) -> None:
    """A StatusError is the answer, with Retry-After where it says when to come again."""

    async def busy(_request: web.BaseRequest) -> web.StreamResponse:
        raise errors.too_many_requests("busy", 7)

    done = await exchange().through(ErrorRendering(busy))

    assert (done.status, done.headers["Retry-After"]) == (429, "7")
    assert json.loads(done.body)["details"] == {"retryAfterSeconds": 7}


async def test_status_as_yaml_or_indented(exchange: Make) -> None:
    """The Status comes in the form that the client accepts; who accepts none gets it as indented JSON."""

    async def missing(_request: web.BaseRequest) -> web.StreamResponse:
        raise errors.bad_request("no")

    as_yaml = await exchange(headers={"Accept": "application/yaml"}).through(ErrorRendering(missing))
    odd = await exchange(headers={"Accept": "text/html"}).through(ErrorRendering(missing))

    assert (as_yaml.headers["Content-Type"], as_yaml.body[:14]) == ("application/yaml", b"apiVersion: v1")
    assert (odd.headers["Content-Type"], odd.body[:12]) == ("application/json", b'{\n  "kind": ')


async def test_large_bodies_are_refused(exchange: Make) -> None:
    """A body over the server's limit is 413, whoever notices it."""

    async def reads(_request: web.BaseRequest) -> web.StreamResponse:
        raise web.HTTPRequestEntityTooLarge(max_size=1, actual_size=2)

    done = await exchange(method="POST").through(ErrorRendering(reads))

    assert (done.status, json.loads(done.body)["reason"]) == (413, "RequestEntityTooLarge")


# --- time -----------------------------------------------------------------------------------------------------------


async def test_late_requests_end(exchange: Make) -> None:
    """When the time of a request is over it is cancelled and answered 504."""
    chain = ErrorRendering(RequestDeadline(_hangs, maximum=0.01, numbers=RequestNumbers()))

    done = await exchange().through(chain)

    message = "Timeout: request did not complete within the allotted timeout"
    assert (done.status, done.headers["Content-Type"]) == (504, "text/plain; charset=utf-8")
    assert (
        done.body
        == (f'{{"metadata":{{}},"status":"Failure","message":"{message}","reason":"Timeout","details":{{}},"code":504}}\n').encode()
    )
    assert asyncio.current_task() is not None
    assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]


@pytest.mark.parametrize("asked", ["10ms", "0.01s"])
async def test_clients_may_ask_for_less(exchange: Make, asked: str) -> None:
    """`?timeout=` shortens the time."""
    done = await exchange(f"/api/v1/pods?timeout={asked}").through(
        ErrorRendering(RequestDeadline(_hangs, maximum=60, numbers=RequestNumbers()))
    )

    assert done.status == 504


@pytest.mark.parametrize("path", ["/api/v1/namespaces/a/pods", "/api/v1/namespaces/a/pods?timeout=50s"])
async def test_writes_have_less_time(exchange: Make, path: str) -> None:
    """A write of one object ends sooner than other requests may, and is told so in a Status."""
    numbers = RequestNumbers()

    done = await exchange(path, method="POST").through(ErrorRendering(RequestDeadline(_hangs, maximum=60, writing=0.01, numbers=numbers)))

    message = "Timeout: request did not complete within requested timeout - context deadline exceeded"
    assert (done.status, done.headers["Content-Type"]) == (504, "application/json")
    status = json.loads(done.body)
    assert (status["kind"], status["reason"], status["message"], status["details"]) == ("Status", "Timeout", message, {})
    assert not numbers.terminations


@pytest.mark.parametrize(
    "method, path", [("POST", "/api/v1/namespaces/a/pods?timeout=10ms"), ("DELETE", "/api/v1/namespaces/a/pods?timeout=10ms")]
)
async def test_writes_end_as_others_where_that_is_sooner(exchange: Make, method: str, path: str) -> None:
    """What the client allots counts where it is less; a deletion of many has all the time."""
    done = await exchange(path, method=method).through(
        ErrorRendering(RequestDeadline(_hangs, maximum=60, writing=0.02, numbers=RequestNumbers()))
    )

    assert (done.status, done.headers["Content-Type"]) == (504, "text/plain; charset=utf-8")


async def test_an_answer_after_the_time_is_too_late(exchange: Make) -> None:
    """What is asked for within less time than anything takes is answered 504 although it was done."""
    numbers = RequestNumbers()

    done = await exchange("/api/v1/pods?timeout=1ns").through(RequestDeadline(hello, maximum=60, numbers=numbers))

    assert (done.status, list(numbers.terminations.values())) == (504, [1])


@pytest.mark.parametrize("asked", ["0s", "0", "99h", ""])
async def test_what_asks_for_more_gets_the_maximum(exchange: Make, asked: str) -> None:
    """Nothing, zero, and more than the maximum are all the maximum."""
    done = await exchange(f"/api/v1/pods?timeout={asked}").through(
        ErrorRendering(RequestDeadline(_hangs, maximum=0.01, numbers=RequestNumbers()))
    )

    assert done.status == 504


async def test_no_duration_is_refused(exchange: Make) -> None:
    """A timeout that is no duration is 400, in the words of Go's parser."""
    done = await exchange("/api/v1/pods?timeout=soon").through(ErrorRendering(RequestDeadline(hello, maximum=60, numbers=RequestNumbers())))

    message = 'invalid timeout specified in the request URL - time: invalid duration "soon"'
    assert (done.status, json.loads(done.body)["message"]) == (400, message)


async def test_watches_have_time(exchange: Make) -> None:
    """A long-running request is not ended."""
    running = asyncio.create_task(exchange(WATCH).through(RequestDeadline(_hangs, maximum=0.001, numbers=RequestNumbers())))

    done, pending = await asyncio.wait({running}, timeout=0.02)

    assert not done
    running.cancel()
    await asyncio.gather(*pending, return_exceptions=True)


async def test_requests_of_one_second_end_together(exchange: Make) -> None:
    """A shared timer ends all who are still there, and leaves those alone who are done."""
    chain = RequestDeadline(_hangs, maximum=0.02, numbers=RequestNumbers())
    chain._reads.span = 0.01

    tasks = [asyncio.create_task(exchange().through(ErrorRendering(chain))) for _ in range(3)]
    done = await asyncio.gather(*tasks)

    assert [each.status for each in done] == [504, 504, 504]


async def test_a_cancellation_from_outside_stays_one(exchange: Make) -> None:
    """A client that leaves cancels its request; that is not taken for a timeout."""
    task = asyncio.create_task(exchange().through(RequestDeadline(_hangs, maximum=60, numbers=RequestNumbers())))
    await asyncio.sleep(0)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


# --- limits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method, limits", [("GET", (1, 5)), ("POST", (5, 1))])
async def test_too_many_at_once(exchange: Make, method: str, limits: tuple[int, int]) -> None:
    """Reading and writing requests have limits of their own; who comes too much is told to come again in a second."""
    in_flight = InFlight()
    chain = MaxInFlight(_hangs, read_only=limits[0], mutating=limits[1], in_flight=in_flight, numbers=RequestNumbers())
    first = asyncio.create_task(exchange(method=method, user=NOBODY).through(chain))
    await asyncio.sleep(0)

    done = await exchange(method=method, user=NOBODY).through(chain)

    assert (done.status, done.headers["Retry-After"]) == (429, "1")
    assert done.body == b"Too many requests, please try again later.\n"
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert (in_flight.read_only, in_flight.mutating) == (0, 0)


async def test_masters_and_watches_are_not_limited(exchange: Make) -> None:
    """Members of system:masters always get in, watches do not count, and 0 is no limit."""
    full = InFlight()
    full.read_only = full.mutating = 1
    limited = MaxInFlight(hello, read_only=1, mutating=1, in_flight=full, numbers=RequestNumbers())
    unlimited = MaxInFlight(hello, read_only=0, mutating=0, in_flight=full, numbers=RequestNumbers())

    answers = [
        await exchange().through(limited),
        await exchange(WATCH, user=NOBODY).through(limited),
        await exchange(user=NOBODY).through(unlimited),
        await exchange(method="POST", user=NOBODY).through(unlimited),
    ]

    assert [done.status for done in answers] == [200] * 4

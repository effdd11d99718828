"""The requests of a connection, one after the other in its task."""

import pytest

from tests.unit.server.http.conftest import Plain, task_name

GET = b"GET /%b HTTP/1.1\r\nHost: h\r\n\r\n"


async def test_answers_all_requests_in_the_task_of_the_connection(plain: Plain) -> None:
    """Start no task for a request."""
    wire = await plain.connect()

    await wire.send(GET % b"a", GET % b"b")
    answers = [await wire.answer() for _ in range(2)]

    assert [body for _, body in answers] == [b"GET /a ", b"GET /b "]
    assert plain.tasks == [task_name((await plain.connection())._task_handler)] * 2


async def test_a_failed_request_ends_the_connection(plain: Plain, caplog: pytest.LogCaptureFixture) -> None:
    """Answer 500 if a handler fails and no filter has an answer, log the error, and read no further request."""
    wire = await plain.connect()

    await wire.send(GET % b"fails" + GET % b"a")
    received = await wire.rest()

    assert received.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
    assert b"Connection: close" in received
    assert "a secret of the server" in caplog.text
    assert b"a secret" not in received
    assert plain.seen == ["/fails"]


async def test_an_aborted_answer_ends_the_connection(plain: Plain) -> None:
    """Close the connection without an answer if the answer cannot be completed."""
    wire = await plain.connect()

    await wire.send(GET % b"aborted" + GET % b"a")

    assert await wire.rest() == b""
    assert plain.seen == ["/aborted"]


async def test_counts_requests(plain: Plain) -> None:
    """Count the requests of all connections, as aiohttp does."""
    for _ in range(2):
        wire = await plain.connect()
        await wire.send(GET % b"a")
        await wire.answer()

    assert plain.server.requests_count == 2

"""The requests of a connection, one after the other in its task."""

import ast
import inspect
from collections.abc import Iterable
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from apiext.api.endpoints.responsewriters.response import Reply, ResponseStream
from apiext.server.http import transports
from apiext.server.http.connection import HTTPConnection, Request
from apiext.server.http.server import HTTPServer
from tests.support.event_loop import advance, settle, until
from tests.unit.server.http.conftest import Plain, Wire

GET = b"GET /%b HTTP/1.1\r\nHost: h\r\n\r\n"
UPGRADE = b"%b /%b HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: websocket\r\n%b\r\n"


async def test_answers_all_requests_in_the_task_of_the_connection(plain: Plain, wire: Wire) -> None:
    """Start no task for a request."""
    await wire.send(GET % b"a", GET % b"b")
    answers = [await wire.answer() for _ in range(2)]

    assert [body for _, body in answers] == [b"GET /a ", b"GET /b "]
    assert plain.tasks[0] == plain.tasks[1]


async def test_a_failed_request_ends_the_connection(plain: Plain, wire: Wire, caplog: pytest.LogCaptureFixture) -> None:
    """Answer 500 if a handler fails and no filter has an answer, log the error, and read no further request."""
    await wire.send(GET % b"fails" + GET % b"a")
    received = await wire.rest()

    assert received.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
    assert b"Connection: close" in received
    assert "a secret of the server" in caplog.text
    assert b"a secret" not in received
    assert plain.seen == ["/fails"]


async def test_an_aborted_answer_ends_the_connection(plain: Plain, wire: Wire) -> None:
    """Close the connection without an answer if the answer cannot be completed."""
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


async def test_closes_idle_connections(plain: Plain, wire: Wire) -> None:
    """Close a connection some time after its last request."""
    await wire.send(GET % b"a")
    await wire.answer()
    served = await plain.connection()
    await until(served.is_idle)

    advance(transports.IDLE_TIMEOUT / 2)
    await wire.send(GET % b"b")
    await wire.answer()
    advance(transports.IDLE_TIMEOUT / 2 + 1)
    await settle()
    assert plain.server.connections == [served]

    advance(transports.IDLE_TIMEOUT / 2)
    assert await wire.rest() == b""


async def test_keeps_connections_that_wait_for_an_answer(plain: Plain, wire: Wire) -> None:
    """Let a request take longer than a connection may be idle."""
    await wire.send(GET % b"wait")
    await until(lambda: plain.seen)

    advance(transports.IDLE_TIMEOUT + 1)
    await settle()
    plain.gate.set()
    assert (await wire.answer())[1] == b"GET /wait "

    advance(transports.IDLE_TIMEOUT + 1)
    assert await wire.rest() == b""


@pytest.mark.parametrize("pieces", [1, 30])
async def test_goes_on_after_a_declined_upgrade(wire: Wire, pieces: int) -> None:
    """Answer the requests behind one that asks for another protocol and does not get it."""
    sent = UPGRADE % (b"GET", b"a", b"") + GET % b"b" + UPGRADE % (b"POST", b"c", b"Content-Length: 2\r\n") + b"xy" + GET % b"d"
    size = -(-len(sent) // pieces)

    await wire.send(*(sent[at : at + size] for at in range(0, len(sent), size)))

    assert [(await wire.answer())[1] for _ in range(4)] == [b"GET /a ", b"GET /b ", b"POST /c xy", b"GET /d "]


async def test_bounds_what_follows_a_request_for_another_protocol(plain: Plain, wire: Wire) -> None:
    """Receive a bounded part of what a client sends before its request for another protocol is answered."""
    await wire.send(UPGRADE % (b"GET", b"wait", b""))
    await until(lambda: plain.seen)
    served = await plain.connection()
    many = (GET % b"a") * 5_000

    wire.writer.write(many)
    await until(lambda: served.is_held)
    await settle()
    assert served.is_held
    plain.gate.set()

    assert [(await wire.answer())[1] for _ in range(5_001)] == [b"GET /wait ", *[b"GET /a "] * 5_000]


def _private(names: Iterable[str]) -> set[str]:
    return {name for name in names if name.startswith("_") and not name.startswith("__")}


def _attributes(ours: type) -> set[str]:
    """Return the attributes that the modules of a class and of its base classes use, and those that it defines."""
    classes = [base for base in ours.__mro__ if base.__module__.startswith("apiext.")]
    trees = [ast.parse(Path(inspect.getfile(base)).read_text()) for base in classes]
    used = {node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return used.union(*map(vars, classes)) - {"_abc_impl"}


async def test_shares_no_private_name_with_aiohttp() -> None:
    """Neither use nor hide a private attribute of a class of aiohttp, so that an update of aiohttp may change them."""
    server = web.Server(web.Response)  # type: ignore[arg-type]
    pairs: list[tuple[type, object]] = [
        (HTTPServer, server),
        (HTTPConnection, server()),
        (Request, make_mocked_request("GET", "/")),
        (Reply, web.StreamResponse()),
        (ResponseStream, web.StreamResponse()),
    ]

    assert {ours: shared for ours, theirs in pairs if (shared := _private(dir(theirs)) & _attributes(ours))} == {}

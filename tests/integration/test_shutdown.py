"""A server that goes away loses no request: connections end with an answer that says so, or when nothing is asked on them."""

import http.client
import json
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from tests.support.clients.informer import eventually

NAMESPACES: Final = "/api/v1/namespaces"


Connect = Callable[[ApiextServer], http.client.HTTPSConnection]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Makes connections, which are closed at the end."""
    with ExitStack() as stack:

        def make(server: ApiextServer) -> http.client.HTTPSConnection:
            connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=30, context=server.ssl_context())
            connection.connect()
            stack.callback(connection.close)
            return connection

        yield make


def _ask(connection: http.client.HTTPSConnection, path: str = NAMESPACES) -> tuple[int, str | None]:
    """Code and the header Connection of a GET's answer."""
    connection.request("GET", path)
    response = connection.getresponse()
    response.read()
    return response.status, response.headers["Connection"]


def _has_ended(server: ApiextServer) -> bool:
    return not server.process.running


def _begin_create(connection: http.client.HTTPSConnection, name: str) -> bytes:
    """Send all of a creation but its body, which is returned."""
    body = json.dumps({"metadata": {"name": name}}).encode()
    connection.putrequest("POST", NAMESPACES)
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders()
    return body


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ApiextServer]:
    """A server that goes on for long after SIGTERM."""
    with ApiextServer(tmp_path, extra_args=["--shutdown-delay-duration=60s"]) as running:
        yield running
        running.kill()


def _signalled(server: ApiextServer) -> None:
    server.process.signal(signal.SIGTERM)
    server.process.wait_until(lambda: not server.ready(), 30)


def test_open_connections_end_with_an_answer(server: ApiextServer, connect: Connect) -> None:
    """What is open at SIGTERM is served once more, and told that this was the last answer; watches and their answers go on."""
    used, fresh, watch, writing = (connect(server) for _ in range(4))
    assert _ask(used) == (200, None)
    watch.request("GET", f"{NAMESPACES}?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan")
    events = watch.getresponse()
    body = _begin_create(writing, "begun")

    _signalled(server)

    assert _ask(used) == (200, "close")
    assert _ask(fresh) == (200, "close")
    writing.send(body)
    created = writing.getresponse()
    assert (created.status, created.headers["Connection"]) == (201, "close")
    assert any(b'"begun"' in line for line in iter(events.readline, b""))
    assert events.headers["Connection"] is None
    events.close()


def test_late_connections_are_kept_for_a_moment(server: ApiextServer, connect: Connect) -> None:
    """A connection that begins after SIGTERM serves several requests, and ends with one all the same."""
    _signalled(server)
    late = connect(server)
    assert _ask(late) == (200, None)

    eventually(lambda: _ask(late, "/livez") == (200, "close"), "the connection's end")


@pytest.mark.parametrize("delay", ["0s", "100ms"])
def test_what_has_begun_is_finished(tmp_path: Path, connect: Connect, delay: str) -> None:
    """A request whose body comes after the end of listening is answered; silent connections are closed meanwhile."""
    with ApiextServer(tmp_path, extra_args=[f"--shutdown-delay-duration={delay}"]) as server:
        silent, writing = connect(server), connect(server)
        assert _ask(silent) == (200, None)
        body = _begin_create(writing, "late")
        server.process.signal(signal.SIGTERM)
        assert silent.sock.recv(1) == b""

        writing.send(body)
        created = writing.getresponse()

        assert (created.status, created.headers["Connection"]) == (201, "close")
        created.read()
        eventually(lambda: _has_ended(server), "the end")
    assert "Traceback" not in server.log


def test_a_second_signal_ends_it_at_once(server: ApiextServer) -> None:
    """Nobody has to wait for the delay."""
    _signalled(server)
    server.process.signal(signal.SIGTERM)

    eventually(lambda: _has_ended(server), "the end")
    assert "Traceback" not in server.log

"""Tests of the graceful shutdown: no request is lost, and connections end with a response or when they are idle."""

import http.client
import json
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.waiting import until

NAMESPACES: Final = "/api/v1/namespaces"


Connect = Callable[[ApiextServer], http.client.HTTPSConnection]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Yield a function that opens connections; close them after the test."""
    with ExitStack() as stack:

        def make(server: ApiextServer) -> http.client.HTTPSConnection:
            connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=30, context=server.ssl_context())
            connection.connect()
            stack.callback(connection.close)
            return connection

        yield make


def _ask(connection: http.client.HTTPSConnection, path: str = NAMESPACES) -> tuple[int, str | None]:
    """Send a GET and return the status code and the header Connection."""
    connection.request("GET", path)
    response = connection.getresponse()
    response.read()
    return response.status, response.headers["Connection"]


def _has_ended(server: ApiextServer) -> bool:
    return not server.process.running


def _begin_create(connection: http.client.HTTPSConnection, name: str) -> bytes:
    """Send the head of a create request, and return its body, which is not sent, when the server waits for it."""
    body = json.dumps({"metadata": {"name": name}}).encode()
    connection.putrequest("POST", NAMESPACES)
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(len(body)))
    connection.putheader("Expect", "100-continue")
    connection.endheaders()
    received = b""
    while not received.endswith(b"\r\n\r\n"):
        received += connection.sock.recv(1)
    assert received.startswith(b"HTTP/1.1 100 ")
    return body


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ApiextServer]:
    """Start a server with a long shutdown delay."""
    with ApiextServer(tmp_path, extra_args=["--shutdown-delay-duration=60s"]) as running:
        yield running
        running.kill()


def _signalled(server: ApiextServer) -> None:
    server.process.signal(signal.SIGTERM)
    server.process.wait_until(lambda: not server.ready(), 30)


def test_open_connections_end_with_an_answer(server: ApiextServer, connect: Connect) -> None:
    """Answer one more request on a connection that is open at SIGTERM, with `Connection: close`; watches and their responses continue."""
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
    """Answer several requests on a connection that opens after SIGTERM, the last with `Connection: close`."""
    _signalled(server)
    late = connect(server)
    # On a slow machine the moment may be over before the first answer.
    while _ask(late) != (200, None):
        late = connect(server)

    until(lambda: _ask(late, "/livez") == (200, "close"), "the connection's end")


def test_no_watch_begins_before_the_end(tmp_path: Path, connect: Connect) -> None:
    """Answer a watch with 429 where it could not last a second, and on the connection of one that ended: client-go would list again."""
    with ApiextServer(tmp_path, extra_args=["--shutdown-delay-duration=1s"]) as server:
        listed = connect(server)
        listed.request("GET", NAMESPACES)
        path = f"{NAMESPACES}?watch=true&resourceVersion={json.loads(listed.getresponse().read())['metadata']['resourceVersion']}"
        watch = connect(server)
        watch.request("GET", path)
        events = watch.getresponse()

        _signalled(server)

        for connection in (listed, watch):
            if connection is watch:
                assert events.read() == b""
            connection.request("GET", path)
            refused = connection.getresponse()
            assert (refused.status, refused.headers["Retry-After"], refused.headers["Connection"]) == (429, "1", "close")
            assert json.loads(refused.read())["reason"] == "TooManyRequests"
        until(lambda: _has_ended(server), "the end")
    assert "Traceback" not in server.log


@pytest.mark.parametrize("delay", ["0s", "100ms"])
def test_what_has_begun_is_finished(tmp_path: Path, connect: Connect, delay: str) -> None:
    """Answer a request whose body comes after the server stopped listening; close idle connections meanwhile."""
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
        until(lambda: _has_ended(server), "the end")
    assert "Traceback" not in server.log


def test_a_second_signal_ends_it_at_once(server: ApiextServer) -> None:
    """End the delay at a second signal."""
    _signalled(server)
    server.process.signal(signal.SIGTERM)

    until(lambda: _has_ended(server), "the end")
    assert "Traceback" not in server.log

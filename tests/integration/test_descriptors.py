"""Tests that a server without file descriptors says so in its log, serves the clients that it has, and recovers."""

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from hack.lib.servers import tls_connection
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.waiting import until
from tests.support.builders.crds import widget, widget_crd, widgets_path
from tests.support.clients.client import Client

DESCRIPTORS: Final = 64
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMESPACES: Final = "/api/v1/namespaces"
LINE: Final = re.compile(r"timestamp=\S+ level=\w+ logger=\S+ event=")
FULL: Final = "connection not accepted, retrying"


def _limited(folder: Path) -> ApiextServer:
    """Return a server that may open few files."""
    server = ApiextServer(folder)
    server.process.command = ["sh", "-c", f'ulimit -n {DESCRIPTORS}; exec "$@"', "sh", *server.process.command]
    return server


def test_serves_without_descriptors(tmp_path: Path) -> None:
    """Log lines while no file can be opened, answer the connected clients, and accept others when descriptors are free again."""
    with _limited(tmp_path) as server:
        with ExitStack() as stack:
            clients: list[Client] = []
            while FULL not in server.log:
                assert len(clients) < DESCRIPTORS
                client = Client(server, timeout=1)
                try:
                    client.must("GET", NAMESPACES)
                except OSError:
                    continue
                clients.append(stack.enter_context(client))
            first = clients[0]
            # a watch would need a connection of its own
            first.must("POST", CRDS, widget_crd())
            until(lambda: first.ask("GET", widgets_path()).status == 200, "serving widgets")
            first.must("POST", widgets_path(), widget("a", replicas=1))
            refused = first.ask("POST", widgets_path(), widget("b" * 64, replicas="x"))
            first.ask("GET", "/openapi/v3")
        until(lambda: server.request("GET", NAMESPACES)[0] == 200, "a new connection")
        with Client(server) as client:
            assert [item["metadata"]["name"] for item in client.must("GET", widgets_path())["items"]] == ["a"]
    lines = server.log.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("  next"))

    assert refused.status == 422
    assert [line for line in lines[begin + 1 :] if not LINE.match(line)] == []


def test_unauthenticated_connections_leave_descriptors(tmp_path: Path) -> None:
    """Keep no more connections without a request than the process has descriptors for."""
    with _limited(tmp_path) as server, ExitStack() as stack:
        for _ in range(2 * DESCRIPTORS):
            stack.enter_context(tls_connection.connect(server.ssl_context(credentials=False), server.port, timeout=60))
        assert server.request("GET", NAMESPACES)[0] == 200
        assert FULL not in server.log

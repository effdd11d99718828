"""Tests of both servers while their etcd is down: cached reads succeed, other requests end at their deadline."""

import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import pytest

from hack.lib.differential.masking import masked
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.etcd import Etcd
from hack.lib.waiting import until
from tests.support.builders.crds import widget, widget_crd
from tests.support.clients.client import GONE, MERGE_PATCH, Client, Reply, Server

pytestmark = pytest.mark.slow

GROUP: Final = "away.example.com"
BASE: Final = f"/apis/{GROUP}/v1/namespaces/default/widgets"
SINCE: Final = "resourceVersion={rv}"
INITIAL: Final = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
HELD: Final = (
    f"{BASE}/a?resourceVersion=0",
    f"{BASE}/a?{SINCE}",
    f"{BASE}?resourceVersion=0",
    f"{BASE}?resourceVersion=0&limit=1",
    f"{BASE}?{SINCE}",
    f"{BASE}?{SINCE}&resourceVersionMatch=Exact",
    f"{BASE}?watch=true&timeoutSeconds=1",
    f"{BASE}?watch=true&timeoutSeconds=1&resourceVersion=0",
    f"{BASE}?watch=true&timeoutSeconds=1&{SINCE}",
    f"{BASE}?watch=true&timeoutSeconds=1&{INITIAL}",
    "/livez/etcd",
    "/readyz/etcd",
    "/healthz/etcd",
    "/readyz/etcd-readiness",
    "/livez/ping",
)
"""Requests that succeed without etcd."""
ASKED: Final = (
    f"{BASE}/a",
    BASE,
    f"{BASE}?limit=1",
    f"{BASE}?labelSelector=a",
    "/api/v1/namespaces/default",
    "/api/v1/namespaces",
    f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.{GROUP}",
)
UNKNOWN: Final = re.compile(r"rpc error: code = Unavailable desc = error reading from server: (EOF|connection reset by peer)")


def _widget(name: str) -> dict[str, Any]:
    return widget(name, group=GROUP, replicas=1)


WRITES: Final = (
    ("POST", BASE, _widget("new")),
    ("POST", BASE, {"x": 1}),
    ("PUT", f"{BASE}/a", _widget("a")),
    ("PATCH", f"{BASE}/a", {"spec": {"replicas": 2}}),
    ("PATCH", f"{BASE}/a/status", {"status": {"replicas": 2}}),
    ("PATCH", f"{BASE}/a/scale", {"spec": {"replicas": 2}}),
    ("DELETE", f"{BASE}/a", None),
)


@dataclass
class Away:
    """Both servers over an etcd that can be stopped, and their state before."""

    etcd: Etcd
    servers: tuple[Server, Server]
    revisions: tuple[str, str]
    pool: ThreadPoolExecutor

    def ask(self, method: str, path: str, body: Any = None) -> list[Future[Reply]]:
        """Return futures of the responses of the reference and of apiext."""
        return [
            self.pool.submit(_answer, server, method, path.format(rv=rv), body)
            for server, rv in zip(self.servers, self.revisions, strict=True)
        ]


def _answer(server: Server, method: str, path: str, body: Any) -> Reply:
    with Client(server) as client:
        return client.ask(method, path, body, MERGE_PATCH if method == "PATCH" else None)


def _created(server: Server) -> str:
    """Create a definition and an object, and return the object's revision after both were read."""
    with Client(server) as client:
        client.define(widget_crd(group=GROUP))
        until(lambda: client.ask("POST", BASE, _widget("a")).status in {201, 409}, "the object")
        client.must("GET", BASE)
        revision: str = client.must("GET", f"{BASE}/a")["metadata"]["resourceVersion"]
        return revision


@pytest.fixture(scope="module")
def away(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Away]:
    """Start both servers and their etcd."""
    folder = tmp_path_factory.mktemp("away")
    with (
        ThreadPoolExecutor(80) as pool,
        Etcd(folder / "etcd", durable=False) as etcd,
        ControlPlane(folder / "reference", etcd_url=etcd.url, etcd_prefix="/reference") as reference,
        BareServer(folder / "apiext", etcd_url=etcd.url, etcd_prefix="/apiext") as ours,
    ):
        yield Away(etcd, (reference, ours), (_created(reference), _created(ours)), pool)


def _shown(reply: Reply) -> Any:
    """Return the compared parts of a response: code, media type and each line of the body."""
    lines = [masked(json_of(line)) for line in reply.body.splitlines()]
    return reply.status, reply.headers["Content-Type"], reply.headers["Retry-After"], lines


def json_of(line: bytes) -> Any:
    """Parse a line as JSON, or return it as text."""
    reply = Reply(0, None, line)  # type: ignore[arg-type]
    return reply.json if line.startswith(b"{") else line.decode()


def _first(future: Future[Reply]) -> Any:
    """Return the first response of the reference, or None if it closed the connection, which it may do at the deadline."""
    try:
        return _shown(future.result())
    except GONE:
        return None


def test_while_etcd_is_away(away: Away) -> None:
    """Serve cached reads, end the other requests at their deadline, and report health like the reference."""
    away.etcd.kill()
    with Client(away.servers[0]) as client:
        until(lambda: client.ask("GET", "/livez/etcd").status == 500, "the reference's noticing")
    held = [(path, away.ask("GET", path)) for path in HELD]
    timed = [(path, away.ask("GET", f"{path}{'&' if '?' in path else '?'}timeout=1s")) for path in ASKED]
    written = [(f"{method} {path}", away.ask(method, f"{path}?timeout=1s", body)) for method, path, body in WRITES]

    for what, (theirs, ours) in [*held, *timed, *written]:
        expected = _first(theirs)
        if expected is None:
            expected = (504, "text/plain; charset=utf-8")
            assert _shown(ours.result())[:2] == expected, what
        else:
            assert _shown(ours.result()) == expected, what
    away.etcd.start()


def test_writes_of_unknown_outcome(away: Away) -> None:
    """Answer 500 without reason and Retry-After to a write whose connection to etcd breaks, with etcd's client error as message."""
    with Client(away.servers[0]) as theirs, Client(away.servers[1]) as ours:
        for client in (theirs, ours):
            until(lambda client=client: client.ask("POST", f"{BASE}?timeout=2s", _widget("again")).status == 409, "writes")  # type: ignore[misc]
    away.etcd.pause()
    futures = away.ask("POST", BASE, _widget("unknown"))
    with pytest.raises(TimeoutError):
        futures[1].result(timeout=1)  # the request is sent
    away.etcd.kill()

    theirs_shown, ours_shown = (_shown(future.result()) for future in futures)
    for code, media_type, retry_after, (status,) in (theirs_shown, ours_shown):
        assert (code, media_type, retry_after) == (500, "application/json", None)
        assert UNKNOWN.fullmatch(status["message"]), status
        assert (status["code"], status.get("reason"), status.get("details")) == (500, None, None)
    away.etcd.start()

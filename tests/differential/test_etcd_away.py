"""What both servers answer while their etcd is away: what they hold is read, the rest ends when its time is over, and they say so."""

import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.etcd import Etcd
from tests.differential.helpers.pair import masked
from tests.support.clients.client import GONE, MERGE_PATCH, Client, Reply, Server
from tests.support.clients.informer import eventually
from tests.support.servers.in_process import definition

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
"""What is answered without etcd."""
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
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"replicas": 1}}


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
    """Both servers over an etcd that can go away, and where they were then."""

    etcd: Etcd
    servers: tuple[Server, Server]
    revisions: tuple[str, str]
    pool: ThreadPoolExecutor

    def ask(self, method: str, path: str, body: Any = None) -> list[Future[Reply]]:
        """The answers of the reference and of apiext, to come."""
        return [
            self.pool.submit(_answer, server, method, path.format(rv=rv), body)
            for server, rv in zip(self.servers, self.revisions, strict=True)
        ]


def _answer(server: Server, method: str, path: str, body: Any) -> Reply:
    with Client(server) as client:
        return client.ask(method, path, body, MERGE_PATCH if method == "PATCH" else None)


def _created(server: Server) -> str:
    """Make a definition and an object; the object's revision, when both have been read."""
    with Client(server) as client:
        client.define(definition(group=GROUP))
        eventually(lambda: client.ask("POST", BASE, _widget("a")).status in {201, 409}, "the object")
        client.must("GET", BASE)
        revision: str = client.must("GET", f"{BASE}/a")["metadata"]["resourceVersion"]
        return revision


@pytest.fixture(scope="module")
def away(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Away]:
    """Both servers, and their etcd still there."""
    folder = tmp_path_factory.mktemp("away")
    with (
        ThreadPoolExecutor(80) as pool,
        Etcd(folder / "etcd", durable=False) as etcd,
        ControlPlane(folder / "reference", etcd_url=etcd.url, etcd_prefix="/reference") as reference,
        ApiextServer(folder / "apiext", etcd_url=etcd.url, etcd_prefix="/apiext") as ours,
    ):
        yield Away(etcd, (reference, ours), (_created(reference), _created(ours)), pool)


def _shown(reply: Reply) -> Any:
    """What is compared of an answer: code, media type, and each line of the body."""
    lines = [masked(json_of(line)) for line in reply.body.splitlines()]
    return reply.status, reply.headers["Content-Type"], reply.headers["Retry-After"], lines


def json_of(line: bytes) -> Any:
    """A line as JSON where it is any."""
    reply = Reply(0, None, line)  # type: ignore[arg-type]
    return reply.json if line.startswith(b"{") else line.decode()


def _first(future: Future[Reply]) -> Any:
    """The reference's answer, None where it broke off: it may do that when the time is over."""
    try:
        return _shown(future.result())
    except GONE:
        return None


def test_while_etcd_is_away(away: Away) -> None:
    """Reads of what is held, the ends of all others at their time, and health endpoints have the reference's answers."""
    away.etcd.kill()
    with Client(away.servers[0]) as client:
        eventually(lambda: client.ask("GET", "/livez/etcd").status == 500, "the reference's noticing")
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
    """A write whose connection to etcd breaks is a 500 without a reason and without a time to come again, in etcd's client's words."""
    with Client(away.servers[0]) as theirs, Client(away.servers[1]) as ours:
        for client in (theirs, ours):
            eventually(lambda client=client: client.ask("POST", f"{BASE}?timeout=2s", _widget("again")).status == 409, "writes")  # type: ignore[misc]
    away.etcd.pause()
    futures = away.ask("POST", BASE, _widget("unknown"))
    with pytest.raises(TimeoutError):
        futures[1].result(timeout=1)  # it is on its way
    away.etcd.kill()

    theirs_shown, ours_shown = (_shown(future.result()) for future in futures)
    for code, media_type, retry_after, (status,) in (theirs_shown, ours_shown):
        assert (code, media_type, retry_after) == (500, "application/json", None)
        assert UNKNOWN.fullmatch(status["message"]), status
        assert (status["code"], status.get("reason"), status.get("details")) == (500, None, None)
    away.etcd.start()

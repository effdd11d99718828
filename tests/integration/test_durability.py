"""What was acknowledged stays, whatever dies; what cannot be done is said; and all goes on by itself."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.etcd import Etcd
from tests.support.clients.client import Client
from tests.support.clients.informer import Informer, eventually
from tests.support.clients.writers import Writer, assert_kept, writing
from tests.support.servers.in_process import definition

WIDGETS: Final = "/apis/example.com/v1/namespaces/default/widgets"
_SOON: Final = 8.0
"""Seconds; well before the deadline of calls of etcd."""


def _items(client: Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.must("GET", WIDGETS)["items"]
    return found


def _widget(name: str) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"replicas": 1}}


def _assert_no_gap(informer: Informer, writers: list[Writer]) -> None:
    """Every acknowledged write came to the informer, as one event or, where the server said so, with a list."""
    assert informer.revisions == sorted(set(informer.revisions))
    assert informer.missed([revision for writer in writers for revision in writer.revisions]) == []
    if informer.lists == 1:
        gone = {name for writer in writers for name, value in writer.held.items() if value is None and name not in writer.doubts}
        assert gone <= set(informer.deleted)


def _kill_under_writes(server: ApiextServer) -> Informer:
    """Kill a server and start it again; the informer that followed it all."""
    with Client(server) as client:
        client.define(definition())
        with Informer(server, WIDGETS) as informer:
            with writing(server, WIDGETS) as writers:
                writers[0].wait(40)
                server.kill()
            server.start()
            client.close()
            assert_kept(writers, _items(client))

            with writing(server, WIDGETS, count=2, label="again") as more:
                more[0].wait(10)
            items = _items(client)
            assert_kept([*writers, *more], items)
            informer.wait_equal(items)
            _assert_no_gap(informer, [*writers, *more])
    return informer


def test_kill_under_writes(own_server: ApiextServer) -> None:
    """After kill -9 under concurrent writes all that was acknowledged is there and nothing else, and informers miss nothing.

    As the reference's, a cache that has just been filled may tell a watch that resumes to list again.
    """
    informer = _kill_under_writes(own_server)

    assert informer.lists <= 2


def test_kill_without_cache(tmp_path: Path) -> None:
    """Without a cache a watch resumes after kill -9 where it was."""
    with ApiextServer(tmp_path, extra_args=["--watch-cache=false"]) as server:
        informer = _kill_under_writes(server)

    assert informer.lists == 1


@pytest.fixture
def own_etcd(tmp_path: Path) -> Iterator[Etcd]:
    """An etcd for one test, which may stop it."""
    with Etcd(tmp_path / "etcd", durable=False) as started:
        yield started


@pytest.fixture
def over_etcd(own_etcd: Etcd, tmp_path: Path) -> Iterator[ApiextServer]:
    """A server over the etcd of the test, with the definition of widgets."""
    with ApiextServer(tmp_path / "apiext", etcd_url=own_etcd.url) as server:
        with Client(server) as client:
            client.define(definition())
        yield server


@pytest.mark.slow
def test_etcd_restarts(own_etcd: Etcd, over_etcd: ApiextServer) -> None:
    """While etcd is away writes fail with a Status; when it is back all goes on, and watches have missed nothing."""
    with Client(over_etcd) as client, Informer(over_etcd, WIDGETS) as informer:
        with writing(over_etcd, WIDGETS, count=3) as writers:
            writers[0].wait(20)
            own_etcd.kill()
            eventually(lambda: client.ask("GET", "/readyz").status == 500, "not being ready")
            refused = client.ask("POST", f"{WIDGETS}?timeout=500ms", _widget("refused"))
            assert refused.status in {500, 503, 504}
            assert refused.json["message"]
            own_etcd.start()
            eventually(lambda: client.ask("GET", "/readyz").status == 200, "being ready")
            writers[1].wait(5)

        items = [item for item in _items(client) if item["metadata"]["name"] != "refused"]
        assert_kept(writers, items)
        informer.wait_equal(_items(client))
        assert informer.lists == 1
        _assert_no_gap(informer, writers)


@pytest.mark.slow
def test_etcd_does_not_answer(own_etcd: Etcd, over_etcd: ApiextServer) -> None:
    """While etcd is silent requests end with a failure at their deadline, /readyz fails, and cached reads go on; then all recovers."""
    with Client(over_etcd) as client, Informer(over_etcd, WIDGETS) as informer:
        client.must("POST", WIDGETS, _widget("before"))
        informer.wait(lambda: "before" in informer.items)
        own_etcd.pause()
        try:
            for method, path, body in [
                ("POST", WIDGETS, _widget("lost")),
                ("PATCH", f"{WIDGETS}/before", {"spec": {"replicas": 2}}),
                ("DELETE", f"{WIDGETS}/before", None),
                ("GET", WIDGETS, None),
            ]:
                start = time.monotonic()
                headers = {"Content-Type": "application/merge-patch+json"} if method == "PATCH" else None
                reply = client.ask(method, f"{path}?timeout=300ms", body, headers)
                assert time.monotonic() - start < _SOON
                assert (reply.status, reply.json["reason"]) == (504, "Timeout"), reply.body
            assert client.must("GET", f"{WIDGETS}?resourceVersion=0")["items"] == [informer.items["before"]]
            assert client.ask("GET", "/livez/ping").status == 200
            eventually(lambda: client.ask("GET", "/readyz").status == 500, "not being ready")
        finally:
            own_etcd.resume()
        eventually(lambda: client.ask("GET", "/readyz").status == 200, "being ready")

        client.must("POST", WIDGETS, _widget("after"))
        informer.wait_equal(_items(client))
        assert {"after"} <= informer.items.keys()
        assert informer.lists == 1

"""Tests that acknowledged writes survive the death of the server and of etcd, and that watches continue."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.etcd import Etcd
from hack.lib.waiting import until
from tests.support.builders.crds import widget, widget_crd
from tests.support.clients.client import Client
from tests.support.clients.informer import Informer
from tests.support.clients.writers import Writer, assert_kept, writing

WIDGETS: Final = "/apis/example.com/v1/namespaces/default/widgets"
"""Path of the widgets that the tests write."""


def _items(client: Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.must("GET", WIDGETS)["items"]
    return found


def _widget(name: str) -> dict[str, Any]:
    return widget(name, replicas=1)


def _assert_no_gap(informer: Informer, writers: list[Writer]) -> None:
    """Assert that the informer got every acknowledged write as one event, or by a list after 410."""
    assert informer.revisions == sorted(set(informer.revisions))
    assert informer.missed([revision for writer in writers for revision in writer.revisions]) == []
    if informer.lists == 1:
        gone = {name for writer in writers for name, value in writer.held.items() if value is None and name not in writer.doubts}
        assert gone <= set(informer.deleted)


def _kill_under_writes(server: ApiextServer) -> Informer:
    """Kill the server under writes and start it again; return the informer that followed."""
    with Client(server) as client:
        client.define(widget_crd())
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
    """Store exactly the acknowledged writes after kill -9 under concurrent writes; informers miss nothing and do not list again."""
    informer = _kill_under_writes(own_server)

    assert informer.lists == 1


def test_kill_without_cache(tmp_path: Path) -> None:
    """Resume a watch after kill -9 at its last revision if the watch cache is off."""
    with ApiextServer(tmp_path, extra_args=["--watch-cache=false"]) as server:
        informer = _kill_under_writes(server)

    assert informer.lists == 1


@pytest.fixture
def own_etcd(tmp_path: Path) -> Iterator[Etcd]:
    """Start an etcd for one test, which may stop it."""
    with Etcd(tmp_path / "etcd", durable=False) as started:
        yield started


@pytest.fixture
def over_etcd(own_etcd: Etcd, tmp_path: Path) -> Iterator[ApiextServer]:
    """Start a server over the etcd of the test, with the definition of widgets."""
    with ApiextServer(tmp_path / "apiext", etcd_url=own_etcd.url) as server:
        with Client(server) as client:
            client.define(widget_crd())
        yield server


@pytest.mark.slow
def test_etcd_restarts(own_etcd: Etcd, over_etcd: ApiextServer) -> None:
    """Fail writes with a Status while etcd is down; recover afterwards without a gap in watches."""
    with Client(over_etcd) as client, Informer(over_etcd, WIDGETS) as informer:
        with writing(over_etcd, WIDGETS, count=3) as writers:
            writers[0].wait(20)
            own_etcd.kill()
            until(lambda: client.ask("GET", "/readyz").status == 500, "not being ready")
            refused = client.ask("POST", f"{WIDGETS}?timeout=500ms", _widget("refused"))
            assert refused.status in {500, 503, 504}
            assert refused.json["message"]
            own_etcd.start()
            until(lambda: client.ask("GET", "/readyz").status == 200, "being ready")
            writers[1].wait(5)

        items = [item for item in _items(client) if item["metadata"]["name"] != "refused"]
        assert_kept(writers, items)
        informer.wait_equal(_items(client))
        assert informer.lists == 1
        _assert_no_gap(informer, writers)


@pytest.mark.slow
def test_etcd_is_paused(own_etcd: Etcd, over_etcd: ApiextServer) -> None:
    """Answer 504 at the deadline of a request, fail /readyz, and serve cached reads while etcd is paused; recover afterwards."""
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
                headers = {"Content-Type": "application/merge-patch+json"} if method == "PATCH" else None
                reply = client.ask(method, f"{path}?timeout=300ms", body, headers)
                assert (reply.status, reply.json.get("reason")) == (504, "Timeout"), reply.body
            assert client.must("GET", f"{WIDGETS}?resourceVersion=0")["items"] == [informer.items["before"]]
            assert client.ask("GET", "/livez/ping").status == 200
            until(lambda: client.ask("GET", "/readyz").status == 500, "not being ready")
        finally:
            own_etcd.resume()
        until(lambda: client.ask("GET", "/readyz").status == 200, "being ready")

        client.must("POST", WIDGETS, _widget("after"))
        informer.wait_equal(_items(client))
        assert {"after"} <= informer.items.keys()
        assert informer.lists == 1


def test_a_lost_log(tmp_path: Path) -> None:
    """Refuse writes with a Status and fail readiness when SQLite's log is deleted; reads go on, and a restart keeps acknowledged writes."""
    with ApiextServer(tmp_path) as server, Client(server) as client:
        client.define(widget_crd())
        client.must("POST", WIDGETS, _widget("kept"))
        (server.data_dir / "apiext.db-wal").unlink()
        refused = [client.ask("POST", WIDGETS, _widget(name)) for name in ("lost", "later")]
        ready, alive = client.ask("GET", "/readyz/sqlite-writes"), client.ask("GET", "/livez")
        kept = {item["metadata"]["name"] for item in _items(client)}
        server.restart()
        client.close()
        client.must("POST", WIDGETS, _widget("new"))
        after = {item["metadata"]["name"] for item in _items(client)}

    assert [(reply.status, reply.json["kind"]) for reply in refused] == [(500, "Status")] * 2
    assert all("restart the server" in reply.json["message"] for reply in refused)
    assert (ready.status, alive.status) == (500, 200)
    assert b"writes fail" in ready.body
    assert "kept" in kept
    assert {"kept", "new"} <= after

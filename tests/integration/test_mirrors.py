"""Tests of mirrors with real servers: imports, phases that hold on several servers, and revisions above the host's."""

import asyncio
import json
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from apiext.base.meta.host_annotations import FROZEN, HOST_UID, IMPORTING, LEAVING, PHASE, REVISION_BASE, SERVING
from apiext.storage.backend import Backend
from apiext.storage.backends.revision_offset import with_offset
from apiext.storage.etcd.backend import EtcdBackend
from apiext.storage.etcd.config import EtcdConfig
from apiext.storage.sqlite.backend import SQLiteBackend
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.etcd import Etcd
from tests.support.builders import crds
from tests.support.builders.crds import widget_crd, widgets_path
from tests.support.clients.client import CRDS, Client
from tests.support.clients.writers import writing

MEGABYTE: Final = 1 << 20


def mirror(group: str, phase: str) -> dict[str, Any]:
    """Return a mirror in a phase."""
    crd = widget_crd(group=group)
    crd["metadata"]["annotations"] = {HOST_UID: "u", PHASE: phase}
    return crd


def widget(group: str, name: str, **metadata: Any) -> dict[str, Any]:
    """Return a widget of a group."""
    return crds.widget(name, group=group, metadata=metadata, replicas=1)


def set_phase(client: Client, group: str, phase: str) -> int:
    """Change the phase of a mirror and return its revision."""
    changed = client.merge(f"{CRDS}/widgets.{group}", {"metadata": {"annotations": {PHASE: phase}}})
    return int(changed["metadata"]["resourceVersion"])


def lines(*objects: Any) -> bytes:
    """Return the body of an import."""
    return b"\n".join(json.dumps(each).encode() for each in objects)


# --- imports --------------------------------------------------------------------------------------------------------


def test_import(client: Client) -> None:
    """Import objects in large bodies, serve reads and watches, and accept writes once the phase is Serving."""
    group = "import.example.com"
    client.define(mirror(group, IMPORTING))
    path = f"/apiext/import/widgets.{group}"
    all_objects = [widget(group, f"w{n:04}", namespace="default", uid=f"u{n}", generation=7, labels={"a": "x" * 900}) for n in range(4000)]
    body = lines(*all_objects)
    assert len(body) > 3 * MEGABYTE
    created = client.must("POST", path, body)
    again = client.must("POST", path, body)
    with client.watch(widgets_path(group), resourceVersion=_revision(client, group), timeoutSeconds=30) as events:
        mixed = client.must("POST", path, lines(all_objects[0] | {"spec": {}}, {"delete": {"namespace": "default", "name": "w0001"}}))
        received = [(event["type"], event["object"]["metadata"]["name"]) for event in events.take(2)]
    found = client.must("GET", widgets_path(group))["items"]

    assert created == {"created": 4000, "updated": 0, "unchanged": 0, "deleted": 0}
    assert again == {"created": 0, "updated": 0, "unchanged": 4000, "deleted": 0}
    assert mixed == {"created": 0, "updated": 1, "unchanged": 0, "deleted": 1}
    assert sorted(received) == [("DELETED", "w0001"), ("MODIFIED", "w0000")]
    assert [item["metadata"]["uid"] for item in found] == [f"u{n}" for n in range(4000) if n != 1]
    assert client.ask("POST", widgets_path(group), widget(group, "new")).status == 429
    set_phase(client, group, SERVING)
    assert client.ask("POST", widgets_path(group), widget(group, "new")).status == 201
    assert client.ask("POST", path, body).status == 409


def _revision(client: Client, group: str) -> str:
    return str(client.must("GET", f"{widgets_path(group)}?limit=1")["metadata"]["resourceVersion"])


def test_import_in_little_memory(server: ApiextServer, client: Client) -> None:
    """Import a body far larger than a batch without more memory."""
    group = "large.example.com"
    client.define(mirror(group, IMPORTING))
    path = f"/apiext/import/widgets.{group}"
    one = lines(widget(group, "big", namespace="default") | {"spec": {"any": {"text": "x" * MEGABYTE}}}) + b"\n"
    client.must("POST", path, one * 4)
    before = _most_memory(server)
    answer = client.must("POST", path, one * 80)

    assert answer == {"created": 0, "updated": 0, "unchanged": 80, "deleted": 0}
    assert _most_memory(server) - before < 30 * MEGABYTE


def _most_memory(server: ApiextServer) -> int:
    """Return the peak resident memory of the server in bytes."""
    status = Path(f"/proc/{server.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


# --- the base of revisions ------------------------------------------------------------------------------------------


@pytest.fixture(params=["sqlite", "etcd"])
def following(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ApiextServer]:
    """Start a server on a store that followed a host before."""
    if request.param == "sqlite":
        server = ApiextServer(tmp_path)
    else:
        etcd: Etcd = request.getfixturevalue("etcd")
        server = ApiextServer(tmp_path, etcd_url=etcd.url, etcd_prefix=f"/{uuid.uuid4().hex}")
    asyncio.run(_record_base(server))
    with server:
        yield server


async def _record_base(server: ApiextServer) -> None:
    backend: Backend
    if server.etcd_url is None:
        server.data_dir.mkdir(parents=True)
        backend = await SQLiteBackend.open(server.data_dir / "apiext.db")
    else:
        backend = await EtcdBackend.connect(EtcdConfig(servers=(server.etcd_url,)))
    await with_offset(backend, server.etcd_prefix, begin=True)
    await backend.close()


def test_revisions_above_a_host(following: ApiextServer) -> None:
    """Return only revisions above the host's, before and after a restart; answer 410 to a watch from the host's revisions."""
    group, path = "based.example.com", widgets_path("based.example.com")
    with Client(following) as client:
        client.define(widget_crd(group=group))
        created = client.must("POST", path, widget(group, "a"))
        revision = int(created["metadata"]["resourceVersion"])
        listed = client.must("GET", f"{path}?resourceVersion=4711&resourceVersionMatch=NotOlderThan")
        exact = client.ask("GET", f"{path}?resourceVersion=4711&resourceVersionMatch=Exact")
        with client.watch(path, resourceVersion=4711, timeoutSeconds=30) as events:
            received = list(events)
        changed = client.merge(f"{path}/a", {"spec": {"replicas": 5}})
        client.close()
        following.restart()
        restarted = client.must("GET", path)["metadata"]["resourceVersion"]
        with client.watch(path, resourceVersion=restarted, timeoutSeconds=30) as events:
            later = client.merge(f"{path}/a", {"spec": {"replicas": 6}})
            resumed = events.take(1)[0]["object"]

    assert REVISION_BASE < revision <= int(listed["metadata"]["resourceVersion"])
    assert [item["metadata"]["name"] for item in listed["items"]] == ["a"]
    assert (exact.status, exact.json["reason"]) == (410, "Expired")
    assert [(event["type"], event["object"]["code"]) for event in received] == [("ERROR", 410)]
    assert received[0]["object"]["message"].startswith("too old resource version: 4711 (1000000000")
    assert resumed == later
    assert int(changed["metadata"]["resourceVersion"]) <= int(restarted) < int(later["metadata"]["resourceVersion"])


# --- several servers ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def replicas(etcd: Etcd, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ApiextServer, ApiextServer]]:
    """Start two servers on one store."""
    prefix = f"/{uuid.uuid4().hex}"
    one, two = (ApiextServer(tmp_path_factory.mktemp("replica"), etcd_url=etcd.url, etcd_prefix=prefix) for _ in range(2))
    with one, two:
        yield one, two


@pytest.fixture
def clients(replicas: tuple[ApiextServer, ApiextServer]) -> Iterator[tuple[Client, Client]]:
    """Return a client of each server."""
    with Client(replicas[0]) as one, Client(replicas[1]) as two:
        yield one, two


def define(clients: tuple[Client, Client], crd: dict[str, Any]) -> None:
    """Create a definition and wait until both servers serve it."""
    clients[0].define(crd)
    clients[1].until_established(crd["metadata"]["name"])


def test_frozen_for_all_servers(replicas: tuple[ApiextServer, ApiextServer], clients: tuple[Client, Client]) -> None:
    """Refuse writes on all servers once one acknowledged that a mirror is frozen; accept them when it serves again."""
    group = "frozen.example.com"
    define(clients, mirror(group, SERVING))
    with (
        writing(replicas[0], widgets_path(group), label="one", count=2, api_version=f"{group}/v1") as ones,
        writing(replicas[1], widgets_path(group), label="two", count=3, api_version=f"{group}/v1") as twos,
    ):
        writers = [*ones, *twos]
        for writer in writers:
            writer.wait(20)
        frozen = set_phase(clients[0], group, FROZEN)
        held = clients[0].must("GET", widgets_path(group))["items"]
        for client in clients:
            assert client.ask("POST", widgets_path(group), widget(group, "late")).status == 429
        assert clients[1].must("GET", widgets_path(group))["items"] == held
        before = [list(writer.revisions) for writer in writers]
        set_phase(clients[1], group, SERVING)
        for writer in writers:
            while writer.progress.acquire(blocking=False):
                pass
            writer.wait(20)

    assert max(int(item["metadata"]["resourceVersion"]) for item in held) < frozen
    assert all(revision < frozen for revisions in before for revision in revisions)
    assert all(writer.revisions[-1] > frozen and not writer.wrong for writer in writers)
    assert {reply.status for writer in writers for reply in writer.failures} <= {429}


def test_a_paused_server_refuses_stale_writes(replicas: tuple[ApiextServer, ApiextServer], clients: tuple[Client, Client]) -> None:
    """Refuse the writes that a paused server received before or while the mirror was frozen."""
    group = "slept.example.com"
    define(clients, mirror(group, SERVING))
    clients[1].must("POST", widgets_path(group), widget(group, "a"))
    statuses: list[int] = []
    waiting = threading.Thread(target=lambda: statuses.append(clients[1].ask("POST", widgets_path(group), widget(group, "b")).status))
    replicas[1].process.pause()
    try:
        waiting.start()
        frozen = set_phase(clients[0], group, FROZEN)
    finally:
        replicas[1].process.resume()
    waiting.join(30)
    found = clients[1].must("GET", widgets_path(group))["items"]

    assert statuses == [429]
    assert [item["metadata"]["name"] for item in found] == ["a"]
    assert int(found[0]["metadata"]["resourceVersion"]) < frozen


def test_leaving_on_all_servers(clients: tuple[Client, Client]) -> None:
    """End watches on every server with 410 when a mirror leaves, and delete the copies in spite of finalizers."""
    group = "leaving.example.com"
    define(clients, mirror(group, SERVING))
    for number in range(200):
        clients[0].must("POST", widgets_path(group), widget(group, f"w{number}", finalizers=["example.com/x"]))
    with clients[0].watch(widgets_path(group), timeoutSeconds=60) as ones, clients[1].watch(widgets_path(group), timeoutSeconds=60) as twos:
        assert [len(events.take(200)) for events in (ones, twos)] == [200, 200]
        set_phase(clients[0], group, LEAVING)
        received = [list(events) for events in (ones, twos)]
    listed = [client.ask("GET", widgets_path(group)) for client in clients]
    read = [client.ask("GET", f"{widgets_path(group)}/w7").status for client in clients]
    clients[1].must("DELETE", f"{CRDS}/widgets.{group}")
    clients[0].until_gone(CRDS, f"widgets.{group}")

    assert [[(event["type"], event["object"]["code"]) for event in events] for events in received] == [[("ERROR", 410)]] * 2
    assert [(reply.status, reply.headers["Retry-After"]) for reply in listed] == [(503, "1")] * 2
    assert read == [200, 200]
    define(clients, widget_crd(group=group))
    assert [client.must("GET", widgets_path(group))["items"] for client in clients] == [[], []]

"""Tests of StorageVersionMigrations: with kubectl, after the death of a server, and by several servers."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.etcd import Etcd
from hack.lib.servers.kubectl import Kubectl
from hack.lib.waiting import until
from tests.support.builders.crds import crd, version
from tests.support.clients.client import CRDS, Client

MIGRATIONS: Final = "/apis/storagemigration.k8s.io/v1/storageversionmigrations"
WIDGETS: Final = "/apis/example.com/v1/namespaces/default/widgets"
DEFINITION: Final = f"{CRDS}/widgets.example.com"
SIZED: Final = {"type": "object", "properties": {"size": {"type": "integer"}}}
_OBJECTS: Final = 600
"""Enough for a migration that lasts longer than it takes to notice it and kill a server."""
_CLIENTS: Final = 8


def _widgets(storage: str) -> dict[str, Any]:
    return crd("widgets", *(version(name, storage=name == storage, schema=SIZED) for name in ("v1", "v2")))


def _fill(server: ApiextServer, client: Client, count: int) -> None:
    """Store objects in v1 and make v2 the storage version."""
    client.define(_widgets("v1"))

    def create(first: int) -> None:
        with Client(server) as own:
            for number in range(first, count, _CLIENTS):
                metadata = {"name": f"w{number}"}
                own.must("POST", WIDGETS, {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "size": 1})

    with ThreadPoolExecutor(_CLIENTS) as pool:
        list(pool.map(create, range(_CLIENTS)))
    client.merge(DEFINITION, {"spec": _widgets("v2")["spec"]})


def _migrate(client: Client) -> None:
    client.must("POST", MIGRATIONS, {"metadata": {"name": "m"}, "spec": {"resource": {"group": "example.com", "resource": "widgets"}}})


def _counts(client: Client) -> dict[str, int]:
    """Return the number of objects by the version in which they are stored."""
    return {one["name"]: one["objects"] for one in client.must("GET", "/stored/versions/widgets.example.com")["versions"]}


def _conditions(client: Client) -> dict[str, str]:
    found = client.must("GET", f"{MIGRATIONS}/m")["status"].get("conditions", ())
    return {one["type"]: one["status"] for one in found}


def _ends(client: Client, count: int) -> None:
    """Return when the migration is recorded as successful, and check what is stored."""
    until(lambda: _conditions(client).get("Running") == "False", "the end of the migration")
    assert _conditions(client) == {"Running": "False", "Succeeded": "True"}
    assert _counts(client) == {"v1": 0, "v2": count}
    status = client.must("GET", DEFINITION)["status"]
    assert status["storedVersions"] == ["v2"]
    assert [one["status"] for one in status["conditions"] if one["type"] == "StorageMigrating"] == ["False"]


def test_kubectl(own_server: ApiextServer, tmp_path: Path) -> None:
    """Create a migration with kubectl, wait for it, show it and describe it."""
    kubectl = Kubectl(own_server.kubeconfig, tmp_path / "home")
    with Client(own_server) as client:
        _fill(own_server, client, 3)
        manifest = {
            "apiVersion": "storagemigration.k8s.io/v1",
            "kind": "StorageVersionMigration",
            "metadata": {"name": "m"},
            "spec": {"resource": {"group": "example.com", "resource": "widgets"}},
        }
        path = tmp_path / "migration.json"
        path.write_text(str(manifest).replace("'", '"'))
        kubectl("create", "-f", str(path))
        kubectl("wait", "--for=condition=Succeeded", "storageversionmigration/m", "--timeout=60s")
        shown = kubectl("get", "storageversionmigrations").splitlines()
        described = kubectl("describe", "storageversionmigration", "m")
        _ends(client, 3)

    assert [line.split() for line in shown] == [["NAME", "RESOURCE", "STATUS"], ["m", "widgets.example.com", "Succeeded"]]
    assert "Migration completed" in described


def test_continues_after_a_kill(own_server: ApiextServer) -> None:
    """Continue a migration that the death of the server has interrupted."""
    with Client(own_server) as client:
        _fill(own_server, client, _OBJECTS)
        _migrate(client)
        until(lambda: _counts(client)["v2"] > 0, "the first rewritten object")
        own_server.kill()
        client.close()
        own_server.start()
        interrupted = _counts(client)
        _ends(client, _OBJECTS)

    assert sum(interrupted.values()) == _OBJECTS


@pytest.fixture
def replicas(etcd: Etcd, tmp_path: Path) -> Iterator[list[ApiextServer]]:
    """Start three servers on one etcd, which log their work."""
    prefix = f"/{tmp_path.name}"
    servers = [
        ApiextServer(tmp_path / f"replica-{number}", etcd_url=etcd.url, etcd_prefix=prefix, extra_args=("--v=2",)) for number in range(3)
    ]
    try:
        yield [server.start() for server in servers]
    finally:
        for server in servers:
            server.stop()


def test_one_of_several_servers_works(replicas: list[ApiextServer]) -> None:
    """Let one server rewrite the objects, each once, and another one continue when it is killed."""
    with Client(replicas[0]) as client:
        _fill(replicas[0], client, _OBJECTS)
        _migrate(client)
        until(lambda: _counts(client)["v2"] > 0, "the first rewritten object")
    (leader,) = _with(replicas, "storage version migration started")
    leader.kill()
    others = [server for server in replicas if server is not leader]
    with Client(others[0]) as client:
        _ends(client, _OBJECTS)

    assert _with(others, "storage version migration started") == _with(replicas, "storage version migration finished")
    assert len(_with(replicas, "storage version migration finished")) == 1


def _with(servers: list[ApiextServer], event: str) -> list[ApiextServer]:
    return [server for server in servers if event in server.log]

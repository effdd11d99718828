"""Garbage collection by real servers, driven by kubectl: cascades, restarts, several servers, and the end of namespaces and definitions."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest

from hack.lib.servers.apiext_server import ApiextServer, BareServer
from hack.lib.servers.etcd import Etcd
from hack.lib.servers.kubectl import Kubectl
from hack.lib.waiting import until
from tests.support.builders.crds import widget_crd, widgets_path
from tests.support.clients.client import Client

NAMESPACES: Final = "/api/v1/namespaces"
CONFIG_MAPS: Final = f"{NAMESPACES}/default/configmaps"
WIDGETS: Final = widgets_path()
DEFINITION: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HOLD: Final = "example.com/hold"
FOREGROUND: Final = {"propagationPolicy": "Foreground"}
FREE: Final = {"metadata": {"finalizers": None}}
LEADS: Final = 'leader_election_master_status{name="garbage-collector"}'


def owned(name: str, *owners: dict[str, Any], finalizers: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the metadata of an object, whose owners it blocks."""
    references = [
        {"apiVersion": one["apiVersion"], "kind": one["kind"], "blockOwnerDeletion": True}
        | {member: one["metadata"][member] for member in ("name", "uid")}
        for one in owners
    ]
    return {"metadata": {"name": name, "ownerReferences": references, "finalizers": list(finalizers)}}


def family(client: Client, namespace: str = "default", *, finalizers: tuple[str, ...] = ()) -> None:
    """Create a ConfigMap that owns a Widget, which owns a ConfigMap with these finalizers."""
    maps = f"{NAMESPACES}/{namespace}/configmaps"
    top = client.must("POST", maps, owned("top"))
    kind = {"apiVersion": "example.com/v1", "kind": "Widget"}
    middle = client.must("POST", widgets_path(namespace=namespace), {**kind, **owned("middle", top)})
    client.must("POST", maps, owned("last", middle, finalizers=finalizers))


def left(client: Client, namespace: str = "default") -> list[str]:
    """Return the names of the family's remaining members."""
    places = f"{NAMESPACES}/{namespace}/configmaps", widgets_path(namespace=namespace)
    return sorted(item["metadata"]["name"] for place in places for item in client.must("GET", place)["items"])


def leads(server: ApiextServer) -> bool:
    """Report whether a server collects."""
    return f"{LEADS} 1" in server.request("GET", "/metrics")[2].decode()


@pytest.fixture
def kubectl(own_server: ApiextServer, tmp_path: Path) -> Kubectl:
    """Return kubectl for a server with the definition of widgets."""
    with Client(own_server) as client:
        client.define(widget_crd())
    return Kubectl(own_server.kubeconfig, tmp_path)


def test_cascades(own_server: ApiextServer, kubectl: Kubectl) -> None:
    """Delete the dependents first, later, or leave them without the owner, as kubectl asks."""
    with Client(own_server) as client:
        family(client)
        kubectl("delete", "configmap", "top", "--cascade=foreground", "--timeout=60s")
        assert left(client) == []

        family(client)
        kubectl("delete", "configmap", "top", "--cascade=background", "--timeout=60s")
        until(lambda: left(client) == [])

        family(client)
        kubectl("delete", "configmap", "top", "--cascade=orphan", "--timeout=60s")
        assert left(client) == ["last", "middle"]
        assert "ownerReferences" not in client.must("GET", f"{WIDGETS}/middle")["metadata"]
        assert client.must("GET", f"{CONFIG_MAPS}/last")["metadata"]["ownerReferences"]


def test_continues(own_server: ApiextServer, kubectl: Kubectl) -> None:
    """End after a crash what began before it, in foreground and in background."""
    with Client(own_server) as client:
        family(client, finalizers=(HOLD,))
        kubectl("delete", "configmap", "top", "--cascade=foreground", "--wait=false")
        client.until(WIDGETS, "middle", lambda found: "deletionTimestamp" in found["metadata"])
    own_server.kill()
    own_server.start()
    with Client(own_server) as client:
        client.merge(f"{CONFIG_MAPS}/last", FREE)

        until(lambda: left(client) == [])


def test_can_be_turned_off(tmp_path: Path) -> None:
    """Leave garbage, and collect it when the server starts with garbage collection."""
    with BareServer(tmp_path) as bare, Client(bare) as client:
        client.define(widget_crd())
        family(client)
        client.must("DELETE", f"{CONFIG_MAPS}/top")
        client.must("DELETE", f"{WIDGETS}/middle", FOREGROUND)
        assert LEADS not in bare.request("GET", "/metrics")[2].decode()
        assert left(client) == ["last", "middle"]

    with ApiextServer(tmp_path) as server, Client(server) as client:
        until(lambda: left(client) == [])
        until(lambda: leads(server))


@pytest.mark.parametrize("flag", ["--watch-cache=false", "--feature-gates=CBORServingAndStorage=true"])
def test_stores(tmp_path: Path, flag: str) -> None:
    """Follow changes without caches, and read objects in CBOR."""
    with ApiextServer(tmp_path, extra_args=[flag]) as server, Client(server) as client:
        client.define(widget_crd())
        family(client)
        client.must("DELETE", f"{CONFIG_MAPS}/top", FOREGROUND)

        until(lambda: left(client) == [])


def test_namespaces_end(own_server: ApiextServer, kubectl: Kubectl) -> None:
    """End a namespace with objects that were deleted in foreground, and with owners."""
    kubectl("create", "namespace", "ends")
    with Client(own_server) as client:
        family(client, "ends", finalizers=(HOLD,))
        client.must("DELETE", f"{NAMESPACES}/ends/configmaps/top", FOREGROUND)
        client.must("DELETE", f"{NAMESPACES}/ends")
        found = client.until(NAMESPACES, "ends", lambda found: _condition(found, "NamespaceFinalizersRemaining") == "True")
        client.merge(f"{NAMESPACES}/ends/configmaps/last", FREE)
        client.until_gone(NAMESPACES, "ends")

    assert _condition(found, "NamespaceContentRemaining") == "True"


def _condition(found: dict[str, Any], kind: str) -> Any:
    return next((one["status"] for one in found["status"].get("conditions", ()) if one["type"] == kind), None)


def test_definitions_end(own_server: ApiextServer, kubectl: Kubectl) -> None:
    """End a definition whose objects were deleted in foreground. Collect what they owned."""
    with Client(own_server) as client:
        family(client)
        client.must("DELETE", f"{WIDGETS}/middle", FOREGROUND)
        kubectl("delete", "crd", "widgets.example.com", "--timeout=60s")

        until(lambda: [one["metadata"]["name"] for one in client.must("GET", CONFIG_MAPS)["items"]] == ["top"])


def test_workers(etcd: Etcd, tmp_path: Path) -> None:
    """Collect in one of several workers."""
    with ApiextServer(tmp_path, etcd_url=etcd.url, etcd_prefix=f"/{uuid4().hex}", extra_args=["--workers=3"]) as server:
        until(lambda: leads(server))
        with Client(server) as client:
            client.define(widget_crd())
            family(client)
            client.must("DELETE", f"{CONFIG_MAPS}/top", FOREGROUND)

            until(lambda: left(client) == [])
        assert leads(server)


@pytest.mark.slow
def test_one_server_collects(etcd: Etcd, tmp_path: Path) -> None:
    """Let exactly one of three servers collect; another one takes over when it stops, and when it is killed."""
    prefix = f"/{uuid4().hex}"
    servers = [ApiextServer(tmp_path / name, etcd_url=etcd.url, etcd_prefix=prefix) for name in ("one", "two", "three")]
    with ExitStack() as stack:
        for server in servers:
            stack.enter_context(server)
        for end in (ApiextServer.stop, ApiextServer.kill):
            until(lambda: sum(map(leads, servers)) == 1, "one server that collects")
            leader = next(server for server in servers if leads(server))
            servers.remove(leader)
            end(leader)
        until(lambda: leads(servers[0]), "a server that collects")
        with Client(servers[0]) as client:
            client.define(widget_crd())
            family(client)
            client.must("DELETE", f"{CONFIG_MAPS}/top", FOREGROUND)

            until(lambda: left(client) == [])

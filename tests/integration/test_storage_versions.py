"""Tests of StorageVersions with two servers over one etcd."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.etcd import Etcd
from hack.lib.waiting import until
from tests.support.builders.crds import crd, version
from tests.support.clients.client import Client

GATE: Final = "--feature-gates=StorageVersionAPI=true"
BASE: Final = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions"
ONE: Final = f"{BASE}/example.com.widgets"
CRD: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com"
JSON_PATCH: Final = {"Content-Type": "application/json-patch+json"}


@pytest.fixture
def servers(etcd: Etcd, tmp_path: Path) -> Iterator[list[ApiextServer]]:
    """Start two servers over one etcd."""
    started = [ApiextServer(tmp_path / name, etcd_url=etcd.url, etcd_prefix=f"/{tmp_path.name}", extra_args=[GATE]) for name in "ab"]
    with ExitStack() as stack:
        yield [stack.enter_context(server) for server in started]


def _status(client: Client) -> Any:
    reply = client.ask("GET", ONE)
    return reply.json["status"] if reply.status == 200 else {}


def _encodings(client: Client) -> list[str]:
    return [server["encodingVersion"] for server in _status(client).get("storageVersions", ())]


@pytest.mark.slow
def test_servers_report_versions(servers: list[ApiextServer]) -> None:
    """Report the version of each server, before and after a flip; keep one entry for a server that restarts, and none without servers."""
    with Client(servers[0]) as client:
        client.define(crd("widgets", version("v1", storage=True), version("v2")))
        until(lambda: _encodings(client) == ["example.com/v1"] * 2, "the report")
        assert _status(client)["commonEncodingVersion"] == "example.com/v1"

        flip = [{"op": "replace", "path": f"/spec/versions/{index}/storage", "value": index == 1} for index in (0, 1)]
        assert client.ask("PATCH", CRD, flip, JSON_PATCH).status == 200
        until(lambda: _encodings(client) == ["example.com/v2"] * 2, "the report after the flip")
        until(lambda: _status(client).get("commonEncodingVersion") == "example.com/v2", "the common version")

        names = {server["apiServerID"] for server in _status(client)["storageVersions"]}
        servers[1].kill()
        servers[1].start()
        assert {server["apiServerID"] for server in _status(client)["storageVersions"]} == names

        servers[1].stop()
        until(lambda: _encodings(client) == ["example.com/v2"], "the removal of the entry")
        client.must("DELETE", CRD)
        until(lambda: client.ask("GET", ONE).status == 404, "the removal of the report")


def test_nothing_is_served_without_the_gate(etcd: Etcd, tmp_path: Path) -> None:
    """Answer 404."""
    with ApiextServer(tmp_path, etcd_url=etcd.url, etcd_prefix=f"/{tmp_path.name}") as server, Client(server) as client:
        assert client.ask("GET", BASE).status == 404

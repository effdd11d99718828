"""Tests of `--migrate=auto` with several servers over one etcd, some of which are killed or paused."""

import base64
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.etcd import Etcd, gateway
from hack.lib.waiting import until
from tests.support.builders.crds import crd, version, widget
from tests.support.clients.client import Client
from tests.support.clients.informer import Informer
from tests.support.clients.writers import assert_kept, writing

NAME: Final = "widgets.example.com"
CRD: Final = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{NAME}"
WIDGETS: Final = "/apis/example.com/v1/namespaces/default/widgets"
QUIET: Final = "/apis/example.com/v1/namespaces/quiet/widgets"
JSON_PATCH: Final = {"Content-Type": "application/json-patch+json"}
OBJECTS: Final = 600
"""Objects of a migration that takes three seconds at its limited rate."""

LARGE: Final = 400_000
"""Bytes of an object that is converted beside the event loop."""


class House:
    """An etcd and servers over it that migrate by themselves."""

    def __init__(self, folder: Path, *names: str) -> None:
        self.etcd = Etcd(folder / "etcd", durable=False)
        self.servers = [ApiextServer(folder / name, etcd_url=self.etcd.url, extra_args=["--migrate=auto"]) for name in names]

    def under(self, prefix: str) -> dict[str, Any]:
        """Return the JSON below a key prefix of etcd, without empty values."""
        start, end = prefix.encode(), prefix[:-1].encode() + b"0"
        found = gateway(self.etcd.url, "kv/range", key=start, range_end=end).get("kvs", [])
        return {base64.b64decode(pair["key"]).decode(): json.loads(base64.b64decode(pair["value"])) for pair in found if "value" in pair}

    def versions(self) -> Counter[str]:
        """Return the number of stored objects by version."""
        return Counter(obj["apiVersion"].rpartition("/")[2] for obj in self.under("/registry/example.com/widgets/").values())

    def migrating(self) -> ApiextServer | None:
        """Return the server that migrates now."""
        records = self.under("/registry/apiext/")
        holder = records.get("/registry/apiext/migration", {}).get("holder")
        member = records.get(f"/registry/apiext/replicas/members/{holder}")
        return next((server for server in self.servers if member and server.url == member["address"]), None)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """Start an etcd and three servers with widgets of two versions."""
    house = House(tmp_path, "one", "two", "three")
    with ExitStack() as stack:
        for part in (house.etcd, *house.servers):
            stack.enter_context(part)
        with Client(house.servers[0]) as client:
            client.define(crd("widgets", version("v1", storage=True), version("v2")))
            client.must("POST", "/api/v1/namespaces", {"metadata": {"name": "quiet"}})
        for server in house.servers[1:]:
            with Client(server) as client:
                client.until_established(NAME)
        yield house


def _flip(client: Client) -> None:
    """Make v2 the storage version."""
    patch = [{"op": "replace", "path": f"/spec/versions/{index}/storage", "value": index == 1} for index in (0, 1)]
    reply = client.ask("PATCH", CRD, patch, JSON_PATCH)
    assert reply.status == 200, reply.body


def _is_pruned(client: Client) -> bool:
    stored: list[str] = client.must("GET", CRD)["status"]["storedVersions"]
    return stored == ["v2"]


def _fill(client: Client) -> dict[str, Any]:
    """Create objects that nobody changes; return them by name."""
    created = [client.must("POST", QUIET, widget(f"w{number:05}", replicas=number)) for number in range(OBJECTS - 1)]
    created.append(client.must("POST", QUIET, widget("large", text="x" * LARGE)))
    return {item["metadata"]["name"]: item for item in created}


@pytest.mark.slow
def test_another_server_continues_after_kill(house: House) -> None:
    """Rewrite every object once all servers write the new version, though the migrating server is killed; lose no write and no event."""
    with Client(house.servers[0]) as client:
        before = _fill(client)
    with ExitStack() as stack:
        informers = [stack.enter_context(Informer(server, WIDGETS)) for server in house.servers]
        with ExitStack() as writing_stack:
            pairs = [
                (server, writing_stack.enter_context(writing(server, WIDGETS, count=1, label=server.folder.name))[0])
                for server in house.servers
            ]
            writers = [writer for _, writer in pairs]
            for writer in writers:
                writer.wait(10)
            with Client(house.servers[0]) as client:
                _flip(client)
            until(lambda: set(house.versions()) == {"v1", "v2"} and house.migrating() is not None, "the migration")
            killed = house.migrating()
            assert killed is not None
            killed.kill()
            alive = [server for server in house.servers if server is not killed]
            with Client(alive[0]) as client:
                until(lambda: _is_pruned(client), "storedVersions")
            for server, writer in pairs:
                if server is not killed:
                    writer.wait(10)
        revisions = [revision for writer in writers for revision in writer.revisions]
        watching = [informer for informer, server in zip(informers, house.servers, strict=True) if server is not killed]
        until(lambda: not any(informer.missed(revisions) for informer in watching), "the latest events")
    with Client(alive[1]) as client:
        items = client.must("GET", WIDGETS)["items"]
        after = {item["metadata"]["name"]: item for item in client.must("GET", QUIET)["items"]}
    assert set(house.versions()) == {"v2"}
    assert_kept(writers, items)
    assert {name: _stable(item) for name, item in after.items()} == {name: _stable(item) for name, item in before.items()}


def _stable(item: dict[str, Any]) -> dict[str, Any]:
    """Return an object without its resourceVersion."""
    return item | {"metadata": {name: value for name, value in item["metadata"].items() if name != "resourceVersion"}}


@pytest.mark.slow
def test_a_paused_server_cannot_undo_it(house: House) -> None:
    """Migrate without a server that does not answer, and once more what it stores in the old version when it returns."""
    paused = house.servers[2]
    with Client(house.servers[0]) as client, Client(paused) as late:
        for number in range(5):
            client.must("POST", QUIET, widget(f"w{number}", replicas=1))
        paused.process.pause()
        try:
            _flip(client)
            until(lambda: _is_pruned(client), "storedVersions")
            assert set(house.versions()) == {"v2"}
        finally:
            paused.process.resume()
        for number in range(5, 25):
            late.must("POST", QUIET, widget(f"w{number}", replicas=1))
        until(lambda: set(house.versions()) == {"v2"} and _is_pruned(client), "the second migration")
        assert house.versions()["v2"] == 25
        members = house.under("/registry/apiext/replicas/members/").values()
        assert {member["address"] for member in members} == {server.url for server in house.servers}


def test_a_restarted_server_continues(tmp_path: Path) -> None:
    """Finish the migration of a killed server at its next start, on the embedded store."""
    with ApiextServer(tmp_path, extra_args=["--migrate=auto"]) as server:
        with Client(server) as client:
            client.define(crd("widgets", version("v1", storage=True), version("v2")))
            client.must("POST", "/api/v1/namespaces", {"metadata": {"name": "quiet"}})
            before = _fill(client)
            _flip(client)
            until(lambda: _counts(client).get("v2", 0) > 0, "the migration")
        server.kill()
        server.start()
        with Client(server) as client:
            until(lambda: _is_pruned(client), "storedVersions")
            assert _counts(client) == {"v2": OBJECTS}
            after = {item["metadata"]["name"]: item for item in client.must("GET", QUIET)["items"]}
    assert {name: _stable(item) for name, item in after.items()} == {name: _stable(item) for name, item in before.items()}


def _counts(client: Client) -> dict[str, int]:
    """Return the number of stored objects by version, as the server counts them."""
    report = client.must("GET", f"/stored/versions/{NAME}")
    return {version["name"]: version["objects"] for version in report["versions"] if version["objects"]}

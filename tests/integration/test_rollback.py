"""The way back from a release of a definition to the one before, by kubectl and by files, along the steps that the server names."""

import http
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.kubectl import Kubectl
from hack.lib.waiting import until
from tests.support.builders.crds import crd, version

NAME: Final = "widgets.example.com"
PATCH: Final = re.compile(r"kubectl (patch crd .*) -p '(.*)'$")
CREATE: Final = re.compile(r"echo '(.*)' \| kubectl create -f -$")
OBJECTS: Final = 20
SCHEMA: Final = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}, "color": {"type": "string"}}}},
}
FIRST: Final = crd("widgets", version("v1", storage=True, schema=SCHEMA))
SECOND: Final = crd("widgets", version("v1", schema=SCHEMA), version("v2", storage=True, schema=SCHEMA))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of definitions, with the first release."""
    found = tmp_path / "crds"
    found.mkdir()
    _write(found, FIRST)
    return found


@pytest.fixture
def server(folder: Path, tmp_path: Path) -> Iterator[ApiextServer]:
    """Start a server with the definitions of the folder."""
    with ApiextServer(tmp_path / "server", crd_dir=folder) as running:
        yield running


@pytest.fixture
def kubectl(server: ApiextServer, tmp_path: Path) -> Kubectl:
    """Return kubectl for the server."""
    return Kubectl(server.kubeconfig, tmp_path)


def _write(folder: Path, definition: dict[str, Any]) -> None:
    (folder / "widgets.json").write_text(json.dumps(definition))


def _versions(kubectl: Kubectl) -> tuple[list[str], list[str]]:
    """Return the versions of the definition, and those that may be stored."""
    found = kubectl.json("get", "crd", NAME)
    return [each["name"] for each in found["spec"]["versions"]], found["status"]["storedVersions"]


def _create(kubectl: Kubectl, release: str, first: int) -> None:
    items = [
        {
            "apiVersion": f"example.com/{release}",
            "kind": "Widget",
            "metadata": {"name": f"w{number}", "namespace": "default"},
            "spec": {"size": number, "color": release},
        }
        for number in range(first, first + OBJECTS)
    ]
    kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


def _objects(kubectl: Kubectl, release: str) -> dict[str, Any]:
    return {
        item["metadata"]["uid"]: item["spec"] for item in kubectl.json("get", f"widgets.{release}.example.com", "-n", "default")["items"]
    }


def _remarks(server: ApiextServer) -> list[str]:
    status, _, body = server.request("GET", "/readyz/crd-dir")
    assert status == http.HTTPStatus.OK
    return body.decode().splitlines()[1:]


def _upgrade(folder: Path, kubectl: Kubectl) -> dict[str, Any]:
    """Store objects with the first release, then with the second one; return all objects."""
    until(lambda: kubectl.run("get", "widgets").returncode == 0)
    _create(kubectl, "v1", 0)
    _write(folder, SECOND)
    until(lambda: _versions(kubectl) == (["v1", "v2"], ["v1", "v2"]))
    until(lambda: kubectl.run("get", "widgets.v2.example.com").returncode == 0)
    _create(kubectl, "v2", OBJECTS)
    return _objects(kubectl, "v2")


def _follow(kubectl: Kubectl, step: str) -> None:
    """Run the command of a step."""
    patch, create = PATCH.search(step), CREATE.search(step)
    if patch is not None:
        kubectl(*patch[1].split(), "-p", patch[2])
    elif create is not None:
        kubectl("create", "-f", "-", stdin=create[1])
    else:
        raise AssertionError(f"a step without a command: {step}")


def test_file_of_the_release_before(server: ApiextServer, kubectl: Kubectl, folder: Path) -> None:
    """Report what rejects the older file, take the steps that the server names, and find every object in the older version."""
    before = _upgrade(folder, kubectl)
    _write(folder, FIRST)
    until(lambda: len(_remarks(server)) == 4)
    problem, flip, migrate, prune = _remarks(server)

    assert "missing from spec.versions; v2 was previously a storage version" in problem
    assert f"({OBJECTS} of v2)" in migrate
    (line,) = [line for line in server.request("GET", "/readyz?verbose")[2].decode().splitlines() if line.startswith("[+]crd-dir")]
    assert line.startswith("[+]crd-dir ok: widgets.json: ")
    assert line.endswith(" (more: /readyz/crd-dir)")
    assert kubectl("get", "--raw", "/readyz/crd-dir").splitlines()[1:] == _remarks(server)
    assert 'event="definition file pending"' in server.log
    assert 'steps="kubectl get --raw /readyz/crd-dir"' in server.log
    _follow(kubectl, flip)
    until(lambda: len(_remarks(server)) == 3)
    _follow(kubectl, migrate)
    # the migration removes v2 by itself; who removed it by hand would run the last command
    until(lambda: _versions(kubectl)[1] == ["v1"])
    until(lambda: not _remarks(server))
    assert _versions(kubectl) == (["v1"], ["v1"])
    assert _objects(kubectl, "v1") == before
    assert prune.endswith("""-p '{"status":{"storedVersions":["v1"]}}'""")


def test_rollback_by_kubectl(kubectl: Kubectl, folder: Path) -> None:
    """Refuse to drop the version that objects are stored in; go back by a flip, rewritten objects and an update of the status."""
    before = _upgrade(folder, kubectl)
    refused = kubectl.refused("replace", "-f", "-", stdin=json.dumps(FIRST))
    flipped = [{"op": "replace", "path": f"/spec/versions/{place}/storage", "value": not place} for place in (0, 1)]
    kubectl("patch", "crd", NAME, "--type=json", "-p", json.dumps(flipped))
    warned = kubectl.run("patch", "crd", NAME, "--subresource=status", "--type=merge", "-p", '{"status":{"storedVersions":["v1"]}}')
    kubectl("patch", "crd", NAME, "--subresource=status", "--type=merge", "-p", '{"status":{"storedVersions":["v1","v2"]}}')
    kubectl("replace", "-f", "-", stdin=kubectl("get", "widgets.v1.example.com", "-A", "-o", "json"))
    kubectl("patch", "crd", NAME, "--subresource=status", "--type=merge", "-p", '{"status":{"storedVersions":["v1"]}}')
    kubectl("replace", "-f", "-", stdin=json.dumps(FIRST))

    assert "must remain in spec.versions until a storage migration" in refused
    assert f"v2 is removed, but {OBJECTS} objects are stored in v2" in warned.stderr
    assert _versions(kubectl) == (["v1"], ["v1"])
    assert _objects(kubectl, "v1") == before

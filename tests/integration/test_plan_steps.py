"""The story of three releases in crds/README.md, with its scripts, against a server and kubectl."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, Final

import pytest

from apiext.resources.definitions.composite_definition import XRDS, composite_crds
from hack.lib.crossplane import crd_of_xrds
from hack.lib.reference import binaries
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.kubectl import Kubectl
from hack.lib.servers.process import environment
from tests.support.builders.composites import xrd, xrd_version
from tests.support.builders.crds import crd
from tests.support.builders.plans import custom, shaped
from tests.support.document_commands import ROOT, commands, section

pytestmark = pytest.mark.skipif(shutil.which("jq") is None, reason="the scripts need jq, which is not installed")
NAME: Final = "routes.net.example.com"
WALK: Final = [
    command
    for command in commands(section("crds/README.md", "Five minutes: three releases of a CRD"))
    # the test has a server
    if not command.text.startswith(("apiext serve", "export ", "kill "))
]
Shell = Callable[[str], subprocess.CompletedProcess[str]]


_AGAINST_REFERENCE: Final = (pytest.mark.slow, pytest.mark.long("apiext/tools/plan"))


@pytest.fixture(params=["apiext", *(pytest.param(name, marks=_AGAINST_REFERENCE) for name in ("reference", "migrating reference"))])
def kubeconfig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Return the kubeconfig of apiext, of a kube-apiserver, and of one with the controller of StorageVersionMigrations."""
    if request.param != "apiext":
        with ControlPlane(tmp_path / "reference", controller_manager=request.param == "migrating reference", durable=False) as plane:
            yield plane.kubeconfig
        return
    with ApiextServer(tmp_path / "server") as server:
        yield server.kubeconfig


@pytest.fixture
def kubectl(kubeconfig: Path, tmp_path: Path) -> Kubectl:
    """Return kubectl for the server."""
    return Kubectl(kubeconfig, tmp_path)


@pytest.fixture
def shell(request: pytest.FixtureRequest, kubeconfig: Path, tmp_path: Path) -> Shell:
    """Return a function that runs a line in a folder with the sample definitions, and with the commands on the path."""
    folder, programs = tmp_path / "work", tmp_path / "bin"
    folder.mkdir()
    programs.mkdir()
    (folder / "crds").symlink_to(ROOT / "crds")
    (programs / "kubectl").symlink_to(binaries.binary("kubectl"))
    (programs / "apiext").write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m apiext "$@"\n')
    (programs / "apiext").chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    # without a controller, a migration is given up soon
    migrator = "3" if request.node.callspec.params["kubeconfig"] == "reference" else "60"
    settings = environment(KUBECONFIG=str(kubeconfig), HOME=str(tmp_path), PATH=path, SETTLE="1", TIMEOUT="90", MIGRATOR=migrator)

    def run(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["sh", "-c", line], cwd=folder, env=settings, capture_output=True, text=True, check=False, timeout=200)

    return run


def test_walk_through(request: pytest.FixtureRequest, shell: Shell, kubectl: Kubectl) -> None:
    """Take each command of the document: release, rollback, forward again with a migration, and the version is dropped.

    A migration that a server runs stays; one that no server begins is deleted.
    """
    for command in WALK:
        done = shell(command.text)
        assert done.returncode == command.code, f"{command.text}\n{done.stdout}{done.stderr}"

    found = kubectl.json("get", "crd", NAME)
    assert [version["name"] for version in found["spec"]["versions"]] == ["v1"]
    assert found["status"]["storedVersions"] == ["v1"]
    has_migrated = NAME in kubectl("get", "storageversionmigrations", "-o", "name")
    assert has_migrated == (request.node.callspec.params["kubeconfig"] != "reference")
    items = kubectl.json("get", "routes", "-n", "default")["items"]
    assert {item["metadata"]["name"]: item["spec"]["port"] for item in items} == {"docs": 443, "mail": 25, "shop": 8443}


def _write(folder: Path, name: str, *objects: dict[str, Any]) -> str:
    path = folder / name
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
    return str(path)


@pytest.mark.parametrize("kubeconfig", ["apiext"], indirect=True)
def test_all_versions_are_replaced(shell: Shell, kubectl: Kubectl, tmp_path: Path) -> None:
    """Go from one version to another one in one release, along its steps, and back. A second run changes nothing."""
    kubectl("create", "-f", _write(tmp_path, "old.json", crd("widgets", shaped("v1", "a", storage=True))))
    kubectl("wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=40s")
    widgets = [custom(f"w{number}", a="x") for number in range(3)]
    for widget in widgets:
        widget["metadata"] = {"name": widget["metadata"]["name"], "namespace": "default"}
    kubectl("create", "-f", _write(tmp_path, "objects.json", *widgets))
    new = _write(tmp_path, "new.json", crd("widgets", shaped("v2", "a", storage=True)))
    grades = tmp_path / "grades.yaml"
    grades.write_text("exceptions: [{rules: [versionRemoved], reason: nobody uses it}]")

    planned = shell(f"apiext plan {new} --from kubeconfig --config {grades} --steps-dir steps")
    assert planned.returncode == 1, planned.stdout + planned.stderr
    for script, name in (("steps.sh", "v2"), ("steps.sh", "v2"), ("rollback.sh", "v1"), ("rollback.sh", "v1")):
        done = shell(f"sh steps/{script}")
        assert done.returncode == 0, done.stdout + done.stderr
        found = kubectl.json("get", "crd", "widgets.example.com")
        assert ([one["name"] for one in found["spec"]["versions"]], found["status"]["storedVersions"]) == ([name], [name])
        assert [item["spec"] for item in kubectl.json("get", f"widgets.{name}.example.com", "-n", "default")["items"]] == [{"a": "x"}] * 3


@pytest.mark.parametrize("kubeconfig", ["apiext", pytest.param("reference", marks=_AGAINST_REFERENCE)], indirect=True)
def test_counts_of_a_server(request: pytest.FixtureRequest, shell: Shell, kubectl: Kubectl, tmp_path: Path) -> None:
    """Count stored objects exactly against a server of apiext, and estimate against a kube-apiserver, which does not count."""
    kubectl("create", "-f", _write(tmp_path, "old.json", crd("widgets", shaped("v1", "a", storage=True))))
    kubectl("wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=40s")
    widget = custom("w", a="x")
    widget["metadata"] = {"name": "w", "namespace": "default"}
    kubectl("create", "-f", _write(tmp_path, "object.json", widget))
    kubectl("replace", "-f", _write(tmp_path, "moved.json", crd("widgets", shaped("v1", "a"), shaped("v2", "a", storage=True))))
    is_exact = request.node.callspec.params["kubeconfig"] == "apiext"
    new = _write(tmp_path, "new.json", crd("widgets", shaped("v1", "a"), shaped("v2", "a", "b", storage=True)))

    planned = shell(f"apiext plan {new} --from kubeconfig -o json")
    (found,) = json.loads(planned.stdout)["definitions"]
    assert found["versions"]["exact"] == is_exact, planned.stderr
    assert {row["name"]: row["objects"] for row in found["versions"]["items"]} == ({"v1": 1, "v2": 0} if is_exact else {"v1": 0, "v2": 1})
    refused = shell(f"apiext plan {new} --stored kubeconfig")
    assert ("does not count stored objects" in refused.stderr) == (not is_exact)


@pytest.mark.parametrize("kubeconfig", ["apiext"], indirect=True)
def test_an_unknown_state_stops_the_script(shell: Shell, kubectl: Kubectl, tmp_path: Path) -> None:
    """Take no step if the definition is in a state that the plan does not know."""
    old = _write(tmp_path, "old.json", crd("widgets", shaped("v1", "a", storage=True)))
    new = _write(tmp_path, "new.json", crd("widgets", shaped("v1", "a"), shaped("v2", "a", storage=True)))
    kubectl("create", "-f", _write(tmp_path, "other.json", crd("widgets", shaped("v3", "a", storage=True))))

    assert shell(f"apiext plan {new} --from {old} --steps-dir steps").returncode == 0
    done = shell("sh steps/steps.sh")
    assert done.returncode == 1
    assert "is in a state that is not part of this plan" in done.stderr


@contextmanager
def _crossplane(kubectl: Kubectl, name: str) -> Iterator[None]:
    """Make the CRDs of an XRD after each change of it, as Crossplane does."""

    def follow(lines: Iterator[str]) -> None:
        for _ in lines:
            found = kubectl.json("get", XRDS, name)
            crds = composite_crds(found)
            for made in crds:
                made["metadata"]["ownerReferences"][0]["uid"] = found["metadata"]["uid"]
            given = json.dumps({"apiVersion": "v1", "kind": "List", "items": crds})
            kubectl("apply", "--server-side", "--force-conflicts", "--field-manager=crossplane", "-f", "-", stdin=given)

    with kubectl.watching("get", XRDS, name, "--watch", "-o", "name") as lines:
        thread = Thread(target=follow, args=(lines,))
        thread.start()
        yield
    thread.join()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kubeconfig", ["apiext", pytest.param("reference", marks=_AGAINST_REFERENCE)], indirect=True)
def test_an_xrd_is_changed(shell: Shell, kubectl: Kubectl, tmp_path: Path) -> None:
    """Go from one version of an XRD to another one, of whose CRDs one has objects, and back. Keep what only one CRD shows."""
    kubectl("create", "-f", _write(tmp_path, "crossplane.json", crd_of_xrds()))
    kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=40s")
    fields = ("a", "claimRef", "compositeDeletePolicy")
    old, new = (xrd(xrd_version(version, *fields), claim=True) for version in ("v1", "v2"))
    new["spec"] |= {"metadata": {"labels": {"tier": "gold"}}, "defaultCompositeDeletePolicy": "Foreground"}
    name = old["metadata"]["name"]
    kubectl("create", "-f", _write(tmp_path, "old.json", old))
    grades = tmp_path / "grades.yaml"
    grades.write_text("exceptions: [{rules: [versionRemoved, defaultChanged], reason: nobody uses it}]")
    with _crossplane(kubectl, name):
        for made in composite_crds(old):
            kubectl("wait", "--for=create", f"crd/{made['metadata']['name']}", "--timeout=40s")
        kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=40s")
        claims = [{"apiVersion": "example.com/v1", "kind": "Server", "metadata": {"generateName": "s-"}, "spec": {"a": "x"}}] * 2
        kubectl("create", "-n", "default", "-f", _write(tmp_path, "claims.json", *claims))

        planned = shell(f"apiext plan {_write(tmp_path, 'new.json', new)} --from kubeconfig --config {grades} --steps-dir steps")
        assert planned.returncode == 1, planned.stdout + planned.stderr
        for script, wanted in (("steps.sh", new), ("steps.sh", new), ("rollback.sh", old)):
            done = shell(f"sh steps/{script}")
            assert done.returncode == 0, done.stdout + done.stderr
            found = composite_crds(kubectl.json("get", XRDS, name))
            assert [made["spec"] for made in found] == [made["spec"] for made in composite_crds(wanted)]
            assert len(kubectl.json("get", "servers.example.com", "-n", "default")["items"]) == 2
    assert kubectl.json("get", "crd", "servers.example.com")["metadata"]["labels"] == {"tier": "gold"}

"""Tests that kube-apiserver and apiext read each other's data when they take turns on one etcd."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.differential.masking import masked
from hack.lib.differential.pair import Side, Step
from hack.lib.reference import binaries
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.etcd import Etcd
from tests.support.builders.crds import crd, version

pytestmark = pytest.mark.slow

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP: Final = "turns.example.com"
PREFIX: Final = "/registry"


def _crd(plural: str, kind: str) -> dict[str, Any]:
    spec = {"type": "object", "properties": {"size": {"type": "number", "default": 1}, "text": {"type": "string"}}}
    schema = {"type": "object", "properties": {"spec": spec}}
    versions = [version(name, storage=name == "v1", schema=schema, subresources={"status": {}}) for name in ("v1", "v1alpha1")]
    return crd(plural, *versions, kind=kind, group=GROUP)


def _object(kind: str, name: str, version: str = "v1alpha1") -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": kind,
        "metadata": {"name": name, "labels": {"app": "a"}, "annotations": {"note": "<&>\u2028é"}},
        "spec": {"text": "<b>&\u2029", "size": 2.50},
    }


ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
_RULE: Final = {"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothings"]}
_HOOK: Final = {
    "name": "a.example.com",
    "clientConfig": {"service": {"namespace": "n", "name": "s"}, "caBundle": "AP8="},
    "rules": [_RULE],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
_POLICY: Final = {"matchConstraints": {"resourceRules": [{"resourceNames": ["x"], **_RULE}]}}
_MUTATION: Final = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
CONFIGURATIONS: Final[dict[str, dict[str, Any]]] = {
    "validatingwebhookconfigurations": {"webhooks": [_HOOK]},
    "mutatingwebhookconfigurations": {"webhooks": [_HOOK]},
    "validatingadmissionpolicies": {"spec": {**_POLICY, "validations": [{"expression": "true"}]}},
    "mutatingadmissionpolicies": {"spec": {**_POLICY, "mutations": [_MUTATION], "reinvocationPolicy": "Never"}},
    "validatingadmissionpolicybindings": {"spec": {"policyName": "missing", "validationActions": ["Deny"]}},
    "mutatingadmissionpolicybindings": {"spec": {"policyName": "missing"}},
}


def _fill(side: Side, plural: str, kind: str) -> None:
    """Create a CRD and two objects, one of them in a version that is not stored, and change one. Create configurations of admission."""
    base = f"/apis/{GROUP}/v1alpha1/namespaces/default/{plural}"
    assert side.raw(Step("POST", CRDS, _crd(plural, kind)))[0].status == 201
    while side.raw(Step("GET", base))[0].status != 200:
        pass
    for name in ("one", "two"):
        response, data = side.raw(Step("POST", base, _object(kind, name)))
        assert response.status == 201, data
    for resource, members in CONFIGURATIONS.items():
        response, data = side.raw(Step("POST", f"{ADMISSION}/{resource}", {"metadata": {"name": plural}} | members))
        assert response.status == 201, data
    response, data = side.raw(Step("PATCH", f"{base}/two", {"spec": {"size": 1e21, "text": None}}))
    assert response.status == 200, data


def _read(side: Side, plural: str) -> Any:
    """Return the CRD, the objects in both versions without the revision of the list, and the configurations without their status."""
    paths = [f"{CRDS}/{plural}.{GROUP}"] + [f"/apis/{GROUP}/{version}/{plural}" for version in ("v1", "v1alpha1")]
    for path in paths:
        while side.raw(Step("GET", path))[0].status != 200:
            pass
    found = [json.loads(side.raw(Step("GET", path))[1]) for path in paths]
    for answer in found[1:]:
        del answer["metadata"]["resourceVersion"]
    configurations = (json.loads(side.raw(Step("GET", f"{ADMISSION}/{resource}/{plural}"))[1]) for resource in CONFIGURATIONS)
    return [*found, *map(_without_status, configurations)]


def _without_status(obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object without what a controller writes."""
    metadata = {name: member for name, member in obj["metadata"].items() if name not in {"managedFields", "resourceVersion"}}
    return {name: member for name, member in obj.items() if name != "status"} | {"metadata": metadata}


def _values(etcd: Etcd, plural: str) -> dict[str, Any]:
    """Return the values in etcd below the prefix of the resource, and its CRD."""
    found: dict[str, Any] = {}
    for prefix in (f"{PREFIX}/{GROUP}/{plural}/", f"{PREFIX}/apiextensions.k8s.io/customresourcedefinitions/{plural}.{GROUP}"):
        done = subprocess.run(
            [binaries.binary("etcdctl"), f"--endpoints={etcd.url}", "get", "--prefix", prefix, "--print-value-only"],
            capture_output=True,
            check=True,
        )
        for line in done.stdout.splitlines():
            if line:
                value = json.loads(line)
                found[f"{value['kind']}/{value['metadata']['name']}"] = line.decode()
    return found


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "apiext", *arguments], check=True, timeout=60)


def _back_up(plane: ControlPlane, folder: Path) -> list[Path]:
    """Return a snapshot of the reference's etcd by its own tool, and a backup of a group through the API."""
    snapshot, logical = folder / "snapshot.db", folder / "group.tar.gz"
    subprocess.run([binaries.binary("etcdctl"), f"--endpoints={plane.etcd_url}", "snapshot", "save", snapshot], check=True)
    _run("backup", str(logical), f"--kubeconfig={plane.kubeconfig}", f"--group={GROUP}")
    return [snapshot, logical]


def _objects(side: Side) -> list[dict[str, Any]]:
    """Return the objects of the reference, without their revisions."""
    path = f"/apis/{GROUP}/v1/theirs"
    while side.raw(Step("GET", path))[0].status != 200:
        pass
    return [_without_revision(item) for item in json.loads(side.raw(Step("GET", path))[1])["items"]]


def _without_revision(obj: dict[str, Any]) -> dict[str, Any]:
    return obj | {"metadata": {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}}


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Etcd]:
    """Start an etcd for both servers."""
    with Etcd(tmp_path / "etcd", durable=False) as server:
        yield server


def test_each_reads_what_the_other_wrote(shared: Etcd, tmp_path: Path) -> None:
    """Read CRDs and objects of the other server in every version without loss, also from a snapshot of its etcd and a backup of its API."""
    with ControlPlane(tmp_path / "reference", etcd_url=shared.url) as plane, closing(Side(plane.url, plane.ssl_context())) as reference:
        _fill(reference, "theirs", "Their")
        by_reference = _read(reference, "theirs")
        backups = _back_up(plane, tmp_path)

    with ApiextServer(tmp_path / "apiext", etcd_url=shared.url) as server, closing(Side(server.url, server.ssl_context())) as ours:
        assert _read(ours, "theirs") == by_reference
        _fill(ours, "ours", "Our")
        by_apiext = _read(ours, "ours")

    with ControlPlane(tmp_path / "again", etcd_url=shared.url) as plane, closing(Side(plane.url, plane.ssl_context())) as reference:
        assert _read(reference, "ours") == by_apiext

    for number, backup in enumerate(backups):
        folder = tmp_path / f"restored-{number}"
        _run("restore", str(backup), f"--data-dir={folder / 'data'}", f"--group={GROUP}")
        with ApiextServer(folder) as server, closing(Side(server.url, server.ssl_context())) as restored:
            assert _objects(restored) == [_without_revision(item) for item in by_reference[1]["items"]]

    theirs, ours_values = _values(shared, "theirs"), _values(shared, "ours")
    renamed = {key.replace("Our", "Their").replace("ours", "theirs"): value for key, value in ours_values.items()}
    assert renamed.keys() == theirs.keys()
    for key, value in renamed.items():
        text = value.replace("Our", "Their").replace("ours", "theirs").replace('"our"', '"their"')
        assert masked(json.loads(text)) == masked(json.loads(theirs[key]))
        if not key.startswith("CustomResourceDefinition"):
            # Equal bytes except for uid and times.
            assert list(json.loads(text)) == list(json.loads(theirs[key]))
            assert ("\\u003c" in text) == ("\\u003c" in theirs[key])

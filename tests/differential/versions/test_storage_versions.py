"""StorageVersions of both servers with their feature gate: the API, and what is reported of resources that both have."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Side, Step
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.controlplane import ControlPlane

pytestmark = pytest.mark.slow

GATE: Final = "--feature-gates=StorageVersionAPI=true"
GROUP: Final = "/apis/internal.apiserver.k8s.io"
BASE: Final = f"{GROUP}/v1alpha1/storageversions"
ONE: Final = f"{BASE}/example.com.widgets"
APPLY: Final = {"Content-Type": "application/apply-patch+yaml"}
TABLE: Final = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
STRATEGIC: Final = {"Content-Type": "application/strategic-merge-patch+json"}
OBJECT: Final = {
    "apiVersion": "internal.apiserver.k8s.io/v1alpha1",
    "kind": "StorageVersion",
    "metadata": {"name": "example.com.widgets"},
}
SERVER: Final = {"apiServerID": "a", "encodingVersion": "v1", "decodableVersions": ["v1", "v2"], "servedVersions": ["v2"]}
CONDITION: Final = {"type": "A", "status": "True", "lastTransitionTime": "2001-01-01T00:00:00Z", "reason": "R", "message": "m"}
BAD: Final = {
    "storageVersions": [
        {"apiServerID": "A", "encodingVersion": "a/b/c", "servedVersions": ["x"]},
        {"apiServerID": "A", "encodingVersion": "/v1", "decodableVersions": ["v2", "G/v1", "g/"], "servedVersions": ["v2", "V3"]},
    ],
    "conditions": [{"type": "", "status": "?", "reason": ""}, {"type": "", "status": "True", "reason": "", "message": ""}],
    "commonEncodingVersion": "v1",
}
SHARED: Final = ("apiextensions.k8s.io.customresourcedefinitions", "core.namespaces", "internal.apiserver.k8s.io.storageversions",
                 "storagemigration.k8s.io.storageversionmigrations")  # fmt: skip


def _status(**members: Any) -> dict[str, Any]:
    return {"status": members}


STEPS: Final = [
    Step("GET", GROUP),
    Step("GET", f"{GROUP}/v1alpha1"),
    Step("GET", f"/openapi/v3{GROUP}"),
    Step("POST", BASE, {"metadata": {"name": "pods"}}),
    Step("POST", BASE, {"metadata": {"name": "A.P"}}),
    Step("POST", BASE, {"metadata": {"name": ".widgets-"}}),
    Step("POST", BASE, {"metadata": {"generateName": "example.com.w"}}),
    Step("POST", BASE, {"metadata": {"name": "example.com.widgets"}, "spec": 1}),
    Step("POST", f"{BASE}?fieldValidation=Strict", OBJECT | {"spec": {"a": 1}, "status": {"b": 2}}),
    Step("POST", BASE, OBJECT | _status(commonEncodingVersion="v1", storageVersions=[SERVER])),
    Step("GET", ONE),
    Step("GET", f"{ONE}/status"),
    Step("PATCH", f"{ONE}/status", _status(**BAD)),
    Step("PATCH", f"{ONE}/status", _status(storageVersions=[SERVER])),
    Step("PATCH", f"{ONE}/status", _status(storageVersions=[SERVER], commonEncodingVersion="v2")),
    Step("PATCH", f"{ONE}/status", _status(storageVersions=[SERVER], commonEncodingVersion="v1", conditions=[CONDITION])),
    Step("PATCH", f"{ONE}/status", {"metadata": {"labels": {"a": "b"}}}),
    Step("PATCH", ONE, _status(commonEncodingVersion="v2") | {"metadata": {"labels": {"a": "b"}}}),
    Step("PATCH", f"{ONE}/status", _status(storageVersions=[{"apiServerID": "b"}], conditions=[CONDITION]), STRATEGIC),
    Step("PATCH", f"{ONE}?fieldManager=me", OBJECT | {"metadata": {"name": "example.com.widgets", "labels": {"c": "d"}}}, APPLY),
    Step("PATCH", f"{ONE}/status?fieldManager=me", OBJECT | _status(storageVersions=[SERVER], commonEncodingVersion="v1"), APPLY),
    Step("PATCH", f"{ONE}/status?fieldManager=other", OBJECT | _status(commonEncodingVersion="v2"), APPLY),
    Step("PATCH", ONE, {"metadata": {"labels": {"e": "f"}}}),
    Step("PUT", ONE, OBJECT),
    Step("GET", f"{BASE}?fieldSelector=metadata.name%3Dexample.com.widgets", headers=TABLE),
    Step("GET", f"{BASE}?fieldSelector=status.commonEncodingVersion%3Dv1"),
    Step("GET", ONE, headers={"Accept": "application/yaml"}),
    Step("DELETE", ONE),
    Step("GET", ONE),
]  # fmt: skip


@pytest.fixture(scope="module")
def gated(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Yield both servers with the gate."""
    runtime = "--runtime-config=internal.apiserver.k8s.io/v1alpha1=true"
    folder = tmp_path_factory.mktemp("storageversions")
    with (
        ControlPlane(
            folder / "reference", etcd_url=control_plane.etcd_url, etcd_prefix="/storageversions", extra_args=[GATE, runtime]
        ) as plane,
        BareServer(folder / "apiext", extra_args=[GATE]) as server,
    ):
        pair = Pair(plane, server)
        yield pair
        pair.close()


def test_api(gated: Pair) -> None:
    """Answer every request about StorageVersions as the reference."""
    assert [line for step in STEPS for line in gated.differences(step)] == []


def test_protobuf(gated: Pair) -> None:
    """Send the same Protobuf after the metadata."""
    for side in (gated.reference, gated.ours):
        side.raw(Step("POST", BASE, {"metadata": {"name": "example.com.protobufs"}}))
        status = _status(storageVersions=[SERVER], commonEncodingVersion="v1", conditions=[CONDITION | {"observedGeneration": 3}])
        side.raw(Step("PATCH", f"{BASE}/example.com.protobufs/status", status))
    path, accept = f"{BASE}/example.com.protobufs", {"Accept": "application/vnd.kubernetes.protobuf"}
    theirs, ours = (side.raw(Step("GET", path, headers=accept)) for side in (gated.reference, gated.ours))
    assert (theirs[0].status, ours[0].status) == (200, 200)
    # the empty spec follows the metadata, which has another uid and revision
    after_spec = [data.rpartition(b"\x12\x00\x1a")[2] for _, data in (theirs, ours)]
    assert after_spec[0] == after_spec[1]


def test_reports(gated: Pair) -> None:
    """Report the resources that both servers have with the same versions."""
    for name in SHARED:
        theirs, ours = (_reported(side, name) for side in (gated.reference, gated.ours))
        assert theirs == ours


def _reported(side: Side, name: str) -> Any:
    answer = side.ask(Step("GET", f"{BASE}/{name}", retry=True))
    while answer.code != 200 or not answer.body["status"]:
        answer = side.ask(Step("GET", f"{BASE}/{name}"))
    (server,) = answer.body["status"]["storageVersions"]
    assert server.pop("apiServerID").startswith("apiserver-")
    for condition in answer.body["status"]["conditions"]:
        del condition["lastTransitionTime"]
    return answer.body

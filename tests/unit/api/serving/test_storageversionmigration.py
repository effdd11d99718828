"""The endpoint of StorageVersionMigrations."""

from apiext.base.meta.builtin_resources import STORAGE_VERSION_MIGRATIONS
from apiext.base.meta.generated.go_types import struct_of
from apiext.resources.registry.protobuf import kinds
from apiext.resources.registry.protobuf.kinds import message_of
from tests.support.servers.in_process import InProcess

BASE = "/apis/storagemigration.k8s.io/v1/storageversionmigrations"
ONE = f"{BASE}/m"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
SPEC = {"resource": {"group": "example.com", "resource": "nothings"}}


def condition(name: str) -> dict[str, str]:
    """Return a condition that is true."""
    return {"type": name, "status": "True", "lastTransitionTime": "2001-01-01T00:00:00Z", "reason": "R", "message": ""}


async def test_creates_and_lists(server: InProcess) -> None:
    """Create a migration without its status and print the columns of the reference."""
    created = await server.ask("POST", BASE, {"metadata": {"name": "m"}, "spec": SPEC, "status": {"resourceVersion": "5"}})
    table = await server.ask("GET", BASE, Accept="application/json;as=Table;g=meta.k8s.io;v=v1")

    assert (created.status, created.json["apiVersion"], created.json["status"]) == (201, "storagemigration.k8s.io/v1", {})
    assert "generation" not in created.json["metadata"]
    assert [column["name"] for column in table.json["columnDefinitions"]] == ["Name", "Resource", "Status"]
    assert table.json["rows"][0]["cells"] == ["m", "nothings.example.com", "Unknown"]


async def test_status(server: InProcess) -> None:
    """Merge conditions by their types; record the status under its subresource; show the last true condition."""
    await server.ask("POST", BASE, {"metadata": {"name": "m"}, "spec": SPEC}, User_Agent="me/1")
    running, patched = [
        await server.ask("PATCH", f"{ONE}/status", {"status": {"conditions": [condition(name)]}}, Content_Type=STRATEGIC)
        for name in ("Running", "Failed")
    ]
    shown = await server.ask("GET", f"{ONE}/status", Accept="application/json;as=Table;g=meta.k8s.io;v=v1")
    refused = await server.ask("PATCH", f"{ONE}/status", {"status": {"conditions": None}}, Content_Type=MERGE)

    assert (running.status, patched.status) == (200, 200)
    assert [one["type"] for one in patched.json["status"]["conditions"]] == ["Failed", "Running"]
    assert [entry.get("subresource") for entry in patched.json["metadata"]["managedFields"]] == [None, "status"]
    assert shown.json["rows"][0]["cells"] == ["m", "nothings.example.com", "Running"]
    assert refused.status == 422


async def test_is_immutable(server: InProcess) -> None:
    """Reject another resource, and an update without resourceVersion; accept a label."""
    await server.ask("POST", BASE, {"metadata": {"name": "m"}, "spec": SPEC})

    moved = await server.ask("PATCH", ONE, {"spec": {"resource": {"resource": "others"}}}, Content_Type=MERGE)
    blind = await server.ask("PUT", ONE, {"metadata": {"name": "m"}, "spec": SPEC})
    labelled = await server.ask("PATCH", ONE, {"metadata": {"labels": {"a": "b"}}}, Content_Type=MERGE)

    assert (moved.status, blind.status, labelled.status) == (422, 422, 200)


async def test_protobuf(server: InProcess) -> None:
    """Answer in Protobuf."""
    await server.ask("POST", BASE, {"metadata": {"name": "m"}, "spec": SPEC})

    answer = await server.ask("GET", ONE, Accept="application/vnd.kubernetes.protobuf")

    assert kinds.read(answer.body, message_of(struct_of(STORAGE_VERSION_MIGRATIONS.kind)))["spec"] == SPEC

"""The endpoint of StorageVersions."""

from apiext.base.meta.builtin_resources import STORAGE_VERSIONS
from apiext.base.meta.generated.go_types import struct_of
from apiext.resources.registry.protobuf import kinds
from apiext.resources.registry.protobuf.kinds import message_of
from tests.support.servers.in_process import InProcess

BASE = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions"
ONE = f"{BASE}/example.com.widgets"
SERVERS = [{"apiServerID": name, "encodingVersion": "v1", "decodableVersions": ["v1"]} for name in "abcd"]


async def test_prints_versions(server: InProcess) -> None:
    """Create a StorageVersion without its status, write that, and print the columns of the reference."""
    created = await server.ask("POST", BASE, {"metadata": {"name": "example.com.widgets"}, "status": {"storageVersions": SERVERS}})
    empty = await server.ask("GET", BASE, Accept="application/json;as=Table;g=meta.k8s.io;v=v1")
    status = {"storageVersions": SERVERS, "commonEncodingVersion": "v1"}
    written = await server.ask("PATCH", f"{ONE}/status", {"status": status}, Content_Type="application/merge-patch+json")
    table = await server.ask("GET", BASE, Accept="application/json;as=Table;g=meta.k8s.io;v=v1")

    assert (created.status, created.json["spec"], created.json["status"]) == (201, {}, {})
    assert (written.status, written.json["status"]) == (200, status)
    assert [column["name"] for column in table.json["columnDefinitions"]] == ["Name", "CommonEncodingVersion", "StorageVersions", "Age"]
    assert empty.json["rows"][0]["cells"][1:3] == ["<unset>", "<unset>"]
    assert table.json["rows"][0]["cells"][1:3] == ["v1", "a=v1,b=v1,c=v1 + 1 more..."]


async def test_answers_in_protobuf(server: InProcess) -> None:
    """Answer in Protobuf."""
    await server.ask("POST", BASE, {"metadata": {"name": "example.com.widgets"}})
    status = {"storageVersions": SERVERS, "commonEncodingVersion": "v1"}
    await server.ask("PATCH", f"{ONE}/status", {"status": status}, Content_Type="application/merge-patch+json")

    answer = await server.ask("GET", ONE, Accept="application/vnd.kubernetes.protobuf")

    assert kinds.read(answer.body, message_of(struct_of(STORAGE_VERSIONS.kind)))["status"] == status

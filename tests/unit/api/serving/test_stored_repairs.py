"""Repairs of stored objects that cannot be read, at the paths below /stored/."""

import json
from collections.abc import AsyncIterator

import pytest

from apiext.base.meta.host_annotations import HOST_UID, PHASE, SERVING
from tests.support.builders.crds import crd, version, widget
from tests.support.event_loop import until
from tests.support.servers.in_process import CRDS, InProcess

NAME = "widgets.example.com"
BASE = "/apis/example.com/v1/namespaces/default/widgets"
OBJECTS = f"/stored/objects/{NAME}"
PREFIX = "/registry/example.com/widgets/default/"
BROKEN = {"x": b"k8s:enc:aesgcm:v1:key:\x00", "y": b'{"apiVersion":"example.com/v0","kind":"Widget","metadata":{}}', "z": b'{"apiVersion":'}


def _body(name: str, api_version: str = "v1") -> bytes:
    return json.dumps(widget(name, version=api_version, metadata={"namespace": "default"}, size="m")).encode()


@pytest.fixture
async def server() -> AsyncIterator[InProcess]:
    """Yield a server with a readable widget and some that are not."""
    async with InProcess() as running:
        await running.define(crd("widgets", version("v1", storage=True), version("v2")))
        assert (await running.ask("POST", BASE, widget("a"))).status == 201
        for name, data in BROKEN.items():
            await running.backend.create(PREFIX + name, data)
        yield running


async def _revision(server: InProcess, name: str) -> str:
    return str((await server.ask("GET", f"{OBJECTS}/default/{name}")).json["resourceVersion"])


async def _replace(server: InProcess, name: str, data: bytes, query: str = "") -> int:
    path = f"{OBJECTS}/default/{name}?resourceVersion={await _revision(server, name)}{query}"
    return (await server.ask("PUT", path, data)).status


async def test_finds_unreadable_objects(server: InProcess) -> None:
    """Find the objects that no version can show, with the reason; one on demand."""
    items = (await server.ask("GET", f"/stored/unreadable/{NAME}")).json["items"]
    one = (await server.ask("GET", f"/stored/unreadable/{NAME}?key=default/y")).json["items"]
    none = [(await server.ask("GET", f"/stored/unreadable/{NAME}?key=default/{name}")).json["items"] for name in ("a", "none")]

    assert [(item["key"], item["apiVersion"], item["size"]) for item in items] == [
        ("default/x", "", 23),
        ("default/y", "example.com/v0", 61),
        ("default/z", "", 14),
    ]
    assert "invalid group/version: example.com/v0" in items[1]["message"]
    assert one == [items[1]]
    assert none == [[], []]


@pytest.mark.parametrize("annotations", [{}, {HOST_UID: "u", PHASE: SERVING}], ids=["own", "mirror"])
async def test_replaces(server: InProcess, annotations: dict[str, str]) -> None:
    """Replace the bytes of an object as they are, or in the storage version; it can be read then."""
    patch = {"metadata": {"annotations": annotations}}
    assert (await server.ask("PATCH", f"{CRDS}/{NAME}", patch, Content_Type="application/merge-patch+json")).status == 200
    assert await _replace(server, "y", _body("y", "v2")) == 200
    assert await _replace(server, "z", _body("z", "v2"), "&encode=true") == 200

    stored = {name: (await server.backend.get(PREFIX + name))[0] for name in ("y", "z")}
    versions = {name: json.loads(pair.value)["apiVersion"] for name, pair in stored.items() if pair is not None}
    assert versions == {"y": "example.com/v2", "z": "example.com/v1"}
    assert stored["z"] is not None
    assert "resourceVersion" not in json.loads(stored["z"].value)["metadata"]
    assert (await server.ask("GET", f"{BASE}/y")).json["spec"] == {"size": "m"}


@pytest.mark.parametrize("data", BROKEN.values())
async def test_refuses_bytes_that_cannot_be_read(server: InProcess, data: bytes) -> None:
    """Refuse to replace an object by bytes that cannot be read either."""
    assert await _replace(server, "y", data) == 400


async def test_writes_only_what_was_seen(server: InProcess) -> None:
    """Refuse to write what has another revision, does not exist, or can be read."""
    revision = await _revision(server, "y")
    assert await _replace(server, "y", _body("y")) == 200
    again = await server.ask("PUT", f"{OBJECTS}/default/y?resourceVersion={revision}", _body("y"))
    gone = await server.ask("PUT", f"{OBJECTS}/default/none?resourceVersion={revision}", _body("none"))
    deleted = await server.ask("DELETE", f"{OBJECTS}/default/x?resourceVersion=1")
    readable = await server.ask("DELETE", f"{OBJECTS}/default/a?resourceVersion={await _revision(server, 'a')}")
    missing = await server.ask("DELETE", f"{OBJECTS}/default/none?resourceVersion=1")

    assert [answer.status for answer in (again, gone, deleted, readable, missing)] == [409, 404, 409, 409, 404]
    assert "the object has revision" in again.message
    assert "the object can be read" in readable.message


async def test_unblocks_lists(server: InProcess) -> None:
    """Lists answer again once every object can be read or is deleted."""
    assert (await server.ask("GET", f"{BASE}?limit=500")).status == 500
    for name in BROKEN:
        path = f"{OBJECTS}/default/{name}?resourceVersion={await _revision(server, name)}"
        assert (await server.ask("DELETE", path)).status == 200

    listed = await server.ask("GET", BASE)
    assert [item["metadata"]["name"] for item in listed.json["items"]] == ["a"]


async def test_unblocks_the_deletion_of_a_definition(server: InProcess) -> None:
    """The deletion of a definition ends once its unreadable objects are deleted."""
    await server.ask("DELETE", f"{CRDS}/{NAME}")
    for name in BROKEN:
        path = f"{OBJECTS}/default/{name}?resourceVersion={await _revision(server, name)}"
        assert (await server.ask("DELETE", path)).status == 200

    await until(lambda: server.catalog.get(NAME) is None)

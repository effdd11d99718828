"""Built-in kinds and metadata of custom resources in Protobuf."""

from typing import TYPE_CHECKING, Any, cast

import pytest

from apiext.api.endpoints.handlers import protobuf_encoder
from apiext.api.endpoints.serializers.protobuf_status import status_bytes
from apiext.base.meta.builtin_resources import EVENTS as EVENT_RESOURCE
from apiext.base.meta.builtin_resources import NAMESPACES
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.generated.go_types import struct_of
from apiext.resources.registry.protobuf import kinds
from apiext.resources.registry.protobuf.customresourcedefinition import DEFINITION_WIRE
from apiext.resources.registry.protobuf.kinds import Message, message_of
from apiext.resources.registry.protobuf.objectmeta import PARTIAL, PARTIAL_LISTS, WATCH_EVENT, list_message
from apiext.storage.interface import Event, EventType
from tests.support.builders.crds import widget
from tests.support.servers.in_process import CRDS, InProcess

if TYPE_CHECKING:
    from apiext.api.endpoints.scopes.scope import Scope

PROTOBUF = "application/vnd.kubernetes.protobuf"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
EVENTS = "/api/v1/namespaces/default/events"


def _as(kind: str, version: str = "v1") -> str:
    return f"{PROTOBUF};as={kind};g=meta.k8s.io;v={version}"


async def _read(server: InProcess, path: str, message: Message, accept: str = PROTOBUF) -> Object:
    answer = await server.ask("GET", path, Accept=accept)
    assert (answer.status, answer.headers["Content-Type"]) == (200, PROTOBUF)
    return kinds.read(answer.body, message)


def _events(body: bytes) -> list[tuple[str, bytes]]:
    """Return types and objects of a watch's events."""
    found = []
    while body:
        size = int.from_bytes(body[:4], "big")
        event = WATCH_EVENT.read(body[4 : 4 + size])
        found.append((event["type"], event["object"]["raw"]))
        body = body[4 + size :]
    return found


@pytest.mark.parametrize(
    "collection,name,message",
    [
        ("/api/v1/namespaces", "default", message_of(struct_of(NAMESPACES.kind))),
        (EVENTS, "e", message_of(struct_of(EVENT_RESOURCE.kind))),
        (CRDS, "widgets.example.com", DEFINITION_WIRE),
    ],
)
async def test_objects_and_lists(widgets: InProcess, collection: str, name: str, message: Message) -> None:
    """Return the same content as in JSON, for objects and lists; list items have no kind."""
    await widgets.ask("POST", EVENTS, {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}})
    plain = (await widgets.ask("GET", f"{collection}/{name}")).json

    one = await _read(widgets, f"{collection}/{name}", message)
    listing = await _read(widgets, collection, list_message(message))

    assert (one["kind"], one["apiVersion"]) == (plain["kind"], plain["apiVersion"])
    assert message.write(one) == message.write(plain)
    assert listing["kind"] == f"{plain['kind']}List"
    assert message.write(plain) in [message.write(item) for item in listing["items"]]


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_partial_metadata(widgets: InProcess, version: str) -> None:
    """Return the metadata of custom resources in both versions of meta.k8s.io."""
    await widgets.ask("POST", WIDGETS, widget(metadata={"labels": {"b": "c"}}))

    one = await _read(widgets, f"{WIDGETS}/a", PARTIAL, _as("PartialObjectMetadata", version))
    listing = await _read(widgets, WIDGETS, PARTIAL_LISTS[version], _as("PartialObjectMetadataList", version))

    assert (one["apiVersion"], one["metadata"]["labels"]) == (f"meta.k8s.io/{version}", {"b": "c"})
    assert [item["metadata"]["name"] for item in listing["items"]] == ["a"]


@pytest.mark.parametrize("path,code", [(f"{WIDGETS}/a", 406), (f"{CRDS}/widgets.example.com", 406), (f"{CRDS}/x/status", 406)])
async def test_rejects_tables(widgets: InProcess, path: str, code: int) -> None:
    """Reject a Table in Protobuf."""
    assert (await widgets.ask("GET", path, Accept=_as("Table"))).status == code


async def test_status_of_deletes(widgets: InProcess) -> None:
    """Answer a delete with a Status in Protobuf."""
    await widgets.ask("POST", EVENTS, {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}})
    answer = await widgets.ask("DELETE", f"{EVENTS}/e", Accept=PROTOBUF)

    assert (answer.status, answer.headers["Content-Type"]) == (200, PROTOBUF)
    assert b"\x12\x06Status" in answer.body
    assert b"Success" in answer.body


async def _watched(server: InProcess, path: str, accept: str) -> list[tuple[str, bytes]]:
    answer = await server.ask("GET", f"{path}timeoutSeconds=1", Accept=accept)
    assert answer.headers["Content-Type"] == f"{PROTOBUF};stream=watch"
    return _events(answer.body)


async def test_watch_frames(widgets: InProcess) -> None:
    """Prefix each event of a watch with its length; wrap objects in the envelope."""
    await widgets.ask("POST", WIDGETS, widget())
    initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&"

    whole = await _watched(widgets, f"/api/v1/namespaces?watch=true&fieldSelector=metadata.name%3Ddefault&{initial}", PROTOBUF)
    partial = await _watched(widgets, f"{WIDGETS}?watch=true&", _as("PartialObjectMetadata"))

    assert [kind for kind, _ in whole] == ["ADDED", "BOOKMARK"]
    read: list[dict[str, Any]] = [kinds.read(raw, message_of(struct_of(NAMESPACES.kind))) for _, raw in whole]
    assert read[0]["metadata"]["name"] == "default"
    assert "k8s.io/initial-events-end" in read[1]["metadata"]["annotations"]
    assert [kinds.read(raw, PARTIAL)["metadata"]["name"] for _, raw in partial] == ["a"]


def test_watch_errors() -> None:
    """Send a Status unreduced in a watch of partial metadata."""
    line = b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"message":"m","code":410}}\n'
    event = Event(type=EventType.ERROR, item=None, revision=1, line=line)

    read = WATCH_EVENT.read(protobuf_encoder.event_bytes(cast("Scope", None), event, "v1"))

    assert read["type"] == "ERROR"
    assert read["object"]["raw"] == status_bytes({"message": "m", "code": 410})

"""Objects, lists and what is made of their metadata in Protobuf, from their JSON.

Mirrors apimachinery pkg/runtime/serializer/protobuf. Custom resources are never written so, but their metadata is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.endpoints.serializers import status_protobuf
from apiext.endpoints.serializers.negotiation import META_GROUP
from apiext.meta import json_codec
from apiext.registry import protobuf
from apiext.registry.objectmeta_protobuf import PARTIAL, PARTIAL_LISTS, WATCH_EVENT, list_message

if TYPE_CHECKING:
    from collections.abc import Iterable

    from apiext.endpoints.handlers.scope import Scope
    from apiext.meta.json_codec import Object
    from apiext.registry.protobuf import Message
    from apiext.storage.interface import Event, Item


def object_bytes(scope: Scope, obj: Object) -> bytes:
    """An object of a built-in kind."""
    return protobuf.dumps(scope.api_version, scope.kind.kind, _message(scope).write(obj))


def list_bytes(scope: Scope, metadata: dict[str, Any], items: Iterable[Item]) -> bytes:
    """A list of a built-in kind; takes time where it is long."""
    found = {"metadata": metadata, "items": [item.object() for item in items]}
    return protobuf.dumps(scope.api_version, scope.list_kind, list_message(_message(scope)).write(found))


def partial_bytes(obj: Object, version: str) -> bytes:
    """An object's PartialObjectMetadata."""
    return protobuf.dumps(f"{META_GROUP}/{version}", "PartialObjectMetadata", PARTIAL.write(obj))


def partial_list_bytes(version: str, metadata: dict[str, Any], items: Iterable[Item]) -> bytes:
    """A PartialObjectMetadataList; takes time where it is long."""
    found = {"metadata": metadata, "items": [item.object() for item in items]}
    return protobuf.dumps(f"{META_GROUP}/{version}", "PartialObjectMetadataList", PARTIAL_LISTS[version].write(found))


def event_bytes(scope: Scope, event: Event, partial: str = "") -> bytes:
    """A watch event without its frame, its object reduced to its metadata where a version of that is given."""
    obj: Object = event.item.object() if event.item is not None else json_codec.loads(event.line)["object"]
    if obj.get("kind") == "Status" and obj.get("apiVersion") == "v1":
        raw = status_protobuf.dumps(obj)
    else:
        raw = partial_bytes(obj, partial) if partial else object_bytes(scope, obj)
    return WATCH_EVENT.write({"type": event.type.value, "object": {"raw": raw}})


def _message(scope: Scope) -> Message:
    if scope.message is None:
        raise TypeError(f"{scope.kind} has no Protobuf form")
    return scope.message

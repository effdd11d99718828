"""Protobuf of built-in objects and lists, of object metadata, and of a Status.

Mirrors apimachinery pkg/runtime/serializer/protobuf and pkg/apis/meta/v1/generated.proto.
Custom resources have no Protobuf form, but their metadata has.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from apiext.api.endpoints.scopes.scope import Scope
from apiext.api.endpoints.serializers.negotiation import META_GROUP
from apiext.api.endpoints.serializers.protobuf_status import status_bytes
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.objectmeta.raw_metadata import read_metadata
from apiext.resources.registry.protobuf import kinds
from apiext.resources.registry.protobuf.kinds import Message
from apiext.resources.registry.protobuf.objectmeta import PARTIAL, PARTIAL_LISTS, WATCH_EVENT, list_message
from apiext.storage.interface import Event, Item


def object_bytes(scope: Scope, obj: Object) -> bytes:
    """Return an object of a built-in kind."""
    return kinds.dumps(scope.api_version, scope.kind.kind, _message(scope).write(obj))


def list_bytes(scope: Scope, metadata: dict[str, Any], items: Iterable[Item]) -> bytes:
    """Return a list of a built-in kind. The time grows with its length."""
    found = {"metadata": metadata, "items": [item.object() for item in items]}
    return kinds.dumps(scope.api_version, scope.dialect.list_kind, list_message(_message(scope)).write(found))


def partial_bytes(data: bytes, version: str) -> bytes:
    """Return the PartialObjectMetadata of an object; `data` is the object's JSON."""
    return kinds.dumps(f"{META_GROUP}/{version}", "PartialObjectMetadata", PARTIAL.write(_partial(data)))


def partial_list_bytes(version: str, metadata: dict[str, Any], items: Iterable[Item]) -> bytes:
    """Return a PartialObjectMetadataList. The time grows with its length."""
    found = {"metadata": metadata, "items": [_partial(item.data) for item in items]}
    return kinds.dumps(f"{META_GROUP}/{version}", "PartialObjectMetadataList", PARTIAL_LISTS[version].write(found))


def event_bytes(scope: Scope, event: Event, partial: str = "") -> bytes:
    """Return a watch event without its frame. `partial` is the meta.k8s.io version of a PartialObjectMetadata in place of the object."""
    if event.item is not None:
        raw = partial_bytes(event.item.data, partial) if partial else object_bytes(scope, event.item.object())
    else:
        obj: Object = json_codec.loads(event.line)["object"]
        if obj.get("kind") == "Status" and obj.get("apiVersion") == "v1":
            raw = status_bytes(obj)
        else:
            raw = partial_bytes(json_codec.dumps(obj), partial) if partial else object_bytes(scope, obj)
    return WATCH_EVENT.write({"type": event.type.value, "object": {"raw": raw}})


def _partial(data: bytes) -> Object:
    return {"metadata": read_metadata(data)}


def _message(scope: Scope) -> Message:
    if scope.dialect.message is None:
        raise TypeError(f"{scope.kind} has no Protobuf form")
    return scope.dialect.message

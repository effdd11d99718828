"""Metadata of objects and lists in protobuf, with Condition, PartialObjectMetadata and WatchEvent.

Mirrors apimachinery pkg/apis/meta/v1 and v1beta1 (generated.proto).
"""

from __future__ import annotations

from typing import Final

from apiext.registry.protobuf.kinds import BYTES_OF, MapOf, Message, Scalar

CONDITION: Final = Message(
    {
        1: ("type", Scalar.TEXT),
        2: ("status", Scalar.TEXT),
        3: ("observedGeneration", Scalar.INT),
        4: ("lastTransitionTime", Scalar.TIME),
        5: ("reason", Scalar.TEXT),
        6: ("message", Scalar.TEXT),
    }
)
_OWNER: Final = Message(
    {
        1: ("kind", Scalar.TEXT),
        3: ("name", Scalar.TEXT),
        4: ("uid", Scalar.TEXT),
        5: ("apiVersion", Scalar.TEXT),
        6: ("controller", Scalar.BOOL),
        7: ("blockOwnerDeletion", Scalar.BOOL),
    },
    optional={"controller", "blockOwnerDeletion"},
)
_MANAGED: Final = Message(
    {
        1: ("manager", Scalar.TEXT),
        2: ("operation", Scalar.TEXT),
        3: ("apiVersion", Scalar.TEXT),
        4: ("time", Scalar.TIME),
        6: ("fieldsType", Scalar.TEXT),
        7: ("fieldsV1", Scalar.JSON),
        8: ("subresource", Scalar.TEXT),
    },
    optional={"time", "fieldsV1"},
)
_TEXTS: Final = MapOf(Scalar.TEXT)
METADATA: Final = Message(
    {
        1: ("name", Scalar.TEXT),
        2: ("generateName", Scalar.TEXT),
        3: ("namespace", Scalar.TEXT),
        4: ("selfLink", Scalar.TEXT),
        5: ("uid", Scalar.TEXT),
        6: ("resourceVersion", Scalar.TEXT),
        7: ("generation", Scalar.INT),
        8: ("creationTimestamp", Scalar.TIME),
        9: ("deletionTimestamp", Scalar.TIME),
        10: ("deletionGracePeriodSeconds", Scalar.INT),
        11: ("labels", _TEXTS),
        12: ("annotations", _TEXTS),
        13: ("ownerReferences", _OWNER),
        14: ("finalizers", Scalar.TEXT),
        17: ("managedFields", _MANAGED),
    },
    repeated={"ownerReferences", "finalizers", "managedFields"},
    optional={"deletionTimestamp", "deletionGracePeriodSeconds"},
)
LIST_METADATA: Final = Message(
    {
        1: ("selfLink", Scalar.TEXT),
        2: ("resourceVersion", Scalar.TEXT),
        3: ("continue", Scalar.TEXT),
        4: ("remainingItemCount", Scalar.INT),
    },
    optional={"remainingItemCount"},
)
PARTIAL: Final = Message({1: ("metadata", METADATA)})
PARTIAL_LISTS: Final = {
    "v1": Message({1: ("metadata", LIST_METADATA), 2: ("items", PARTIAL)}, repeated={"items"}),
    "v1beta1": Message({1: ("items", PARTIAL), 2: ("metadata", LIST_METADATA)}, repeated={"items"}),
}
"""PartialObjectMetadataList by the version of meta.k8s.io."""
WATCH_EVENT: Final = Message({1: ("type", Scalar.TEXT), 2: ("object", Message({1: ("raw", BYTES_OF)}))})


def list_message(item: Message) -> Message:
    """Return the message of a list of messages."""
    return Message({1: ("metadata", LIST_METADATA), 2: ("items", item)}, repeated={"items"})

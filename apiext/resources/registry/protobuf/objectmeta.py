"""Metadata of objects and lists in protobuf, with PartialObjectMetadata and WatchEvent.

Mirrors apimachinery pkg/apis/meta/v1 and v1beta1 (generated.proto).
"""

from __future__ import annotations

from typing import Final

from apiext.base.meta.golang.struct_table import struct
from apiext.base.meta.objectmeta.canonical import OBJECT_META
from apiext.resources.registry.protobuf import kinds
from apiext.resources.registry.protobuf.kinds import BYTES_OF, Message, Scalar

METADATA: Final = kinds.message_of(OBJECT_META)
LIST_META: Final = struct(
    "ListMeta",
    "1 selfLink, 2 resourceVersion, 3 continue, 4 remainingItemCount *int64, 5 shardInfo *ShardInfo",
    struct("ShardInfo", "1 selector!"),
)
LIST_METADATA: Final = kinds.message_of(LIST_META)
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

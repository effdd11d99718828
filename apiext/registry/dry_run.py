"""What a dry run answers where that is not what the write itself would have answered (pkg/registry/generic/registry/dryrun.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.meta import json_codec
from apiext.storage.interface import InvalidObjectError, Item

if TYPE_CHECKING:
    from apiext.meta.gvk import GroupResource
    from apiext.meta.json_codec import Object


def as_sent(item: Item, metadata: Object) -> Item:
    """The item with the selfLink and, if it has none, the resourceVersion of the metadata: the store takes them from what it writes."""
    kept = {name: metadata[name] for name in ("resourceVersion", "selfLink") if metadata.get(name)}
    if item.revision:
        kept.pop("resourceVersion", None)
    if not kept:
        return item
    obj = item.object()
    obj["metadata"] |= kept
    return Item(key=item.key, revision=item.revision, data=json_codec.dumps(obj), labels=item.labels, fields=item.fields)


def unprefixed(error: InvalidObjectError, resource: GroupResource) -> InvalidObjectError:
    """The error with the key of the object as it is before the store puts the prefix of all keys before it."""
    begin = f"/{resource.group}/{resource.resource}/" if resource.group else f"/{resource.resource}/"
    return InvalidObjectError(error.key[max(error.key.find(begin), 0) :], error.message)

"""The bytes in which the objects of a source are, or would be, stored under a definition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.evaluation.compiled_definition import CompiledDefinition
    from apiext.tools.releases.interface import SourceObject

DEFAULT_NAMESPACE: Final = "default"


@dataclass(slots=True)
class StoredPage:
    """The objects of a page."""

    keys: list[str]
    data: list[bytes]
    versions: list[str]
    """The version of each object as the source gives it."""


async def stored_page(judged: CompiledDefinition, page: Sequence[SourceObject]) -> StoredPage:
    """Return how a definition stores the objects of a page.

    Objects that are not as they are stored become so by a write. What the definition refuses stays as it is.
    """
    data: list[bytes] = [json_codec.dumps(_complete(judged, each)) for each in page]
    by_version: dict[str, list[int]] = {}
    for place, each in enumerate(page):
        api_version = str(each.object.get("apiVersion", ""))
        if not each.is_stored and judged.has(api_version):
            by_version.setdefault(api_version.rpartition("/")[2], []).append(place)
    for name, places in by_version.items():
        if name != judged.storage and judged.converter.missing:
            continue
        written = await judged.store(name, [_body(judged, name, page[place]) for place in places])
        for place, found in zip(places, written, strict=True):
            if not isinstance(found, Exception):
                data[place] = found
    return StoredPage([each.key for each in page], data, [str(each.object.get("apiVersion", "")).rpartition("/")[2] for each in page])


def with_metadata(obj: Object, **members: Any) -> Object:
    """Return an object with other members of its metadata. It shares all others."""
    return obj | {"metadata": (obj.get("metadata") or {}) | members}


def _complete(judged: CompiledDefinition, each: SourceObject) -> Object:
    """Return an object with the namespace of its key."""
    obj = each.object
    metadata = obj.get("metadata")
    if each.is_stored or not judged.definition.namespaced or (type(metadata) is dict and metadata.get("namespace")):
        return obj
    return with_metadata(obj, namespace=each.key.rpartition("/")[0] or DEFAULT_NAMESPACE)


def _body(judged: CompiledDefinition, name: str, each: SourceObject) -> Object | Exception:
    try:
        obj, _ = judged.version(name).decode(_complete(judged, each))
    except ValueError as error:
        return error
    obj.get("metadata", {}).pop("resourceVersion", None)
    return obj

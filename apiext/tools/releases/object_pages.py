"""Pages and keys of objects, whatever their source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.releases.interface import SourceObject

PAGE_OBJECTS: Final = 500
PAGE_BYTES: Final = 8 << 20
"""Bytes of a page's objects in JSON, exceeded by one object at most."""


def object_key(obj: Object) -> str:
    """Return NAMESPACE/NAME of an object, or NAME without a namespace."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return ""
    namespace, name = metadata.get("namespace"), metadata.get("name") or metadata.get("generateName")
    return f"{namespace}/{name}" if namespace else str(name or "")


def paged(objects: Iterable[tuple[SourceObject, int]]) -> Iterator[Sequence[SourceObject]]:
    """Yield objects, given with their sizes in bytes, in pages."""
    page: list[SourceObject] = []
    size = 0
    for found, length in objects:
        page.append(found)
        size += length
        if len(page) == PAGE_OBJECTS or size >= PAGE_BYTES:
            yield page
            page, size = [], 0
    if page:
        yield page

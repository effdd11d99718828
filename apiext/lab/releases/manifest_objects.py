"""Objects in the manifests of files and folders."""

from __future__ import annotations

import asyncio
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Final

from apiext.lab.releases.interface import SourceError, SourceObject
from apiext.lab.releases.manifests import manifests, read_files
from apiext.lab.releases.object_pages import object_key, paged
from apiext.meta.encoding import json_codec
from apiext.meta.gvk import GroupKind, parse_group_version

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Sequence
    from pathlib import Path

    from apiext.definitions.definition import Definition
    from apiext.meta.encoding.json_codec import Object

_IN_MEMORY_BYTES: Final = 64 << 20
"""Bytes of objects that are kept in memory; more are kept in a temporary file."""
_DEFAULT_NAMESPACE: Final = "default"
"""The namespace of namespaced objects without one, as with kubectl."""

_Place = tuple[int, int]
"""Offset and length."""


class ManifestObjects:
    """Implements ObjectSource over files. The first call reads them all; of objects with the same key the last one counts."""

    def __init__(self, paths: Sequence[str | Path]) -> None:
        self._paths = paths
        self._bytes = SpooledTemporaryFile[bytes](max_size=_IN_MEMORY_BYTES)
        self._index: dict[GroupKind, dict[str, _Place]] | None = None
        self.remarks: list[str] = []
        """What the files have besides manifests, once they are read."""

    @property
    def origin(self) -> str:
        """Implement ObjectSource.origin."""
        return " ".join(map(str, self._paths))

    async def count(self, definition: Definition) -> int | None:
        """Implement ObjectSource.count."""
        return len(await self._places(definition))

    async def pages(self, definition: Definition) -> AsyncGenerator[Sequence[SourceObject]]:
        """Implement ObjectSource.pages."""
        for page in paged(self._objects(definition, await self._places(definition))):
            yield page

    async def close(self) -> None:
        """Implement ObjectSource.close."""
        self._bytes.close()

    def _objects(self, definition: Definition, places: dict[str, _Place]) -> Iterator[tuple[SourceObject, int]]:
        def full_key(key: str) -> str:
            return f"{_DEFAULT_NAMESPACE}/{key}" if definition.namespaced and "/" not in key else key

        for key in sorted(places, key=full_key):
            offset, length = places[key]
            self._bytes.seek(offset)
            obj: Object = json_codec.loads(self._bytes.read(length))
            if full_key(key) != key:
                obj["metadata"]["namespace"] = _DEFAULT_NAMESPACE
            yield SourceObject(full_key(key), obj), length

    async def _places(self, definition: Definition) -> dict[str, _Place]:
        if self._index is None:
            self._index = await asyncio.to_thread(self._read)
        return self._index.get(definition.kind, {})

    def _read(self) -> dict[GroupKind, dict[str, _Place]]:
        index: dict[GroupKind, dict[str, _Place]] = {}
        for file in read_files(self._paths):
            for manifest in manifests(file):
                if isinstance(manifest, str):
                    self.remarks.append(manifest)
                else:
                    self._add(index, manifest.place, manifest.object)
        return index

    def _add(self, index: dict[GroupKind, dict[str, _Place]], place: str, obj: Object) -> None:
        key = object_key(obj)
        if not key:
            self.remarks.append(f"{place}: left out: metadata.name is missing")
            return
        try:
            data = json_codec.dumps(obj, sort_keys=False)
        except (ValueError, TypeError) as error:
            raise SourceError(f"{place}: {error}") from error
        kind = GroupKind(parse_group_version(obj["apiVersion"]).group, obj["kind"])
        index.setdefault(kind, {})[key] = self._bytes.tell(), len(data)
        self._bytes.write(data)

"""Definitions and objects in the manifests of files and folders."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.gvk import GroupKind
from apiext.tools.releases.crd_files import release_of_paths
from apiext.tools.releases.interface import SourceError, SourceObject, is_wanted
from apiext.tools.releases.manifests import manifests, read_files
from apiext.tools.releases.object_pages import object_key, paged
from apiext.tools.releases.object_spool import ObjectSpool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Iterator, Sequence
    from pathlib import Path

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.tools.releases.interface import Release
    from apiext.tools.releases.manifests import Manifest

_DEFAULT_NAMESPACE: Final = "default"
"""The namespace of namespaced objects without one, as with kubectl."""


class ManifestSource:
    """Implements WholeSource over files.

    The first call about objects reads them all; of objects with the same key the last one counts.
    """

    def __init__(self, paths: Sequence[str | Path]) -> None:
        self._paths = paths
        self._spool = ObjectSpool()
        self._is_read = False
        self.remarks: list[str] = []
        """What the files have besides manifests, once they are read."""

    @property
    def origin(self) -> str:
        """Implement ObjectSource.origin."""
        return " ".join(map(str, self._paths))

    async def release(self, names: Collection[str] | None = None, *, groups: Collection[str] = ()) -> Release:
        """Implement WholeSource.release."""
        found = await release_of_paths(self._paths)
        if names is None:
            return found
        chosen = {name: definition for name, definition in found.definitions.items() if is_wanted(name, names, groups)}
        return replace(
            found, definitions=chosen, refused={name: why for name, why in found.refused.items() if is_wanted(name, names, groups)}
        )

    async def count(self, definition: Definition) -> int | None:
        """Implement ObjectSource.count."""
        await self._read()
        return self._spool.size(str(definition.kind))[0]

    async def pages(self, definition: Definition) -> AsyncGenerator[Sequence[SourceObject]]:
        """Implement ObjectSource.pages."""
        await self._read()
        for page in paged(self._objects(definition)):
            yield page

    async def close(self) -> None:
        """Implement ObjectSource.close."""
        self._spool.close()

    def _objects(self, definition: Definition) -> Iterator[tuple[SourceObject, int]]:
        for key, data in self._spool.items(str(definition.kind)):
            obj: Object = json_codec.loads(data)
            if definition.namespaced:
                obj["metadata"].setdefault("namespace", _DEFAULT_NAMESPACE)
                yield SourceObject(key, obj), len(data)
            else:
                yield SourceObject(key.rpartition("/")[2], obj), len(data)

    async def _read(self) -> None:
        if not self._is_read:
            await asyncio.to_thread(self._read_files)
            self._is_read = True

    def _read_files(self) -> None:
        for file in read_files(self._paths):
            for manifest in manifests(file):
                remark = manifest if isinstance(manifest, str) else self._add(manifest)
                if remark:
                    self.remarks.append(remark)

    def _add(self, manifest: Manifest) -> str:
        """Add an object to the spool; return why it is left out, "" if it is not."""
        obj = manifest.object
        key = object_key(obj)
        if not key:
            return f"{manifest.place}: left out: metadata.name is missing"
        try:
            data = json_codec.dumps(obj, sort_keys=False)
        except (ValueError, TypeError) as error:
            raise SourceError(f"{manifest.place}: {error}") from error
        kind = GroupKind(obj["apiVersion"].rpartition("/")[0], obj["kind"])
        # whether objects without a namespace are namespaced is known when they are read
        self._spool.add(str(kind), key if "/" in key else f"{_DEFAULT_NAMESPACE}/{key}", data)
        return ""

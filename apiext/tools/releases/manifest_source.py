"""Definitions and objects in the manifests of files and folders."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.gvk import GroupKind
from apiext.tools.releases.crd_files import release_of_files
from apiext.tools.releases.interface import SourceError, SourceObject, is_wanted
from apiext.tools.releases.manifests import manifests, read_files
from apiext.tools.releases.object_pages import object_key, paged
from apiext.tools.releases.object_spool import ObjectSpool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.tools.releases.interface import Release
    from apiext.tools.releases.manifests import Manifest, ManifestFile

_DEFAULT_NAMESPACE: Final = "default"
"""The namespace of namespaced objects without one, as with kubectl."""


class ManifestSource:
    """Implements WholeSource over files.

    The first call about objects reads them all. Of objects with the same key the last one in a version that the definition has counts,
    or else the last one.
    """

    def __init__(self, paths: Sequence[str | Path], *, files: Callable[[], Iterable[ManifestFile]] | None = None) -> None:
        """Create a source over files and folders, or over `files`, which `paths` then only name."""
        self._paths = paths
        self._files = files or partial(read_files, paths)
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
        found = await release_of_files(self.origin, self._files())
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

    def kinds(self) -> dict[GroupKind, int]:
        """Return the kinds of the objects that were read, each with their number."""
        found = [GroupKind(group, kind) for kind, _, group in (name.partition(".") for name in self._spool.collections())]
        return {kind: self._spool.size(str(kind))[0] for kind in found}

    async def close(self) -> None:
        """Implement ObjectSource.close."""
        self._spool.close()

    def _objects(self, definition: Definition) -> Iterator[tuple[SourceObject, int]]:
        versions = {version.name for version in definition.versions}
        for key, variants in groupby(self._spool.items(str(definition.kind)), itemgetter(0)):
            obj, data = _chosen(variants, versions)
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
        for file in self._files():
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
        group, _, version = obj["apiVersion"].rpartition("/")
        kind = GroupKind(group, obj["kind"])
        # whether objects without a namespace are namespaced is known when they are read
        self._spool.add(str(kind), key if "/" in key else f"{_DEFAULT_NAMESPACE}/{key}", data, version)
        return ""


def _chosen(variants: Iterable[tuple[str, bytes]], versions: Collection[str]) -> tuple[Object, bytes]:
    """Return the last variant of an object in one of the versions, or else the last one."""
    found = [(json_codec.loads(data), data) for _, data in variants]
    known = [one for one in found if one[0]["apiVersion"].rpartition("/")[2] in versions]
    return (known or found)[-1]

"""Definitions and objects of a live cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.resources.evaluation.definition_creation import parse_definition
from apiext.tools.releases.cluster_connection import DEFINITIONS, resource_path
from apiext.tools.releases.interface import Release, SourceError, SourceObject, is_wanted
from apiext.tools.releases.object_pages import object_key

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Mapping, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.tools.releases.cluster_connection import ClusterConnection

_COUNTS: Final = "/stored/versions"
"""Where a server of apiext counts stored objects by version."""


class ClusterSource:
    """Implements WholeSource over a cluster. Lists objects in a version that their definition has, the storage version if it can."""

    def __init__(self, cluster: ClusterConnection) -> None:
        self._cluster = cluster
        self._paths: dict[str, str] = {}

    @property
    def origin(self) -> str:
        """Implement ObjectSource.origin."""
        return self._cluster.origin

    async def release(self, names: Collection[str] | None = None, *, groups: Collection[str] = ()) -> Release:
        """Implement WholeSource.release, with the real status of the definitions."""
        found: list[Definition] = []
        if names is None or groups:
            async for page in self._cluster.pages(DEFINITIONS):
                found += [_definition(crd, self.origin) for crd in page.items if is_wanted(crd["metadata"]["name"], names, groups)]
        else:
            for name in sorted(names):
                crd = await self._cluster.get(f"{DEFINITIONS}/{name}")
                if crd is not None:
                    found.append(_definition(crd, self.origin))
        return Release(self.origin, {definition.name: definition for definition in found}, is_live=True)

    async def count(self, definition: Definition) -> int | None:
        """Implement ObjectSource.count."""
        path = await self._path(definition)
        return await self._cluster.count(path) if path else 0

    async def pages(self, definition: Definition) -> AsyncGenerator[Sequence[SourceObject]]:
        """Implement ObjectSource.pages."""
        path = await self._path(definition)
        if not path:
            return
        _, _, group, version, _ = path.split("/")
        head = {"apiVersion": f"{group}/{version}", "kind": definition.names.kind}
        async for page in self._cluster.pages(path):
            yield [SourceObject(object_key(item), item if "apiVersion" in item else head | item) for item in page.items]

    async def counts_stored(self) -> bool:
        """Implement StoredCounter.counts_stored."""
        return await self._cluster.find(f"{_COUNTS}?limit=1") is not None

    async def stored_counts(self, definition: Definition) -> tuple[Mapping[str, int], int]:
        """Implement StoredCounter.stored_counts."""
        found = await self._cluster.get(f"{_COUNTS}/{definition.name}")
        if found is None:
            return {}, 0
        return {row["name"]: row["objects"] for row in found["versions"] if row["objects"]}, found["unknown"]

    async def close(self) -> None:
        """Implement ObjectSource.close."""
        await self._cluster.close()

    async def _path(self, definition: Definition) -> str:
        """Return the path of the objects, "" if the cluster does not have the definition."""
        if definition.name not in self._paths:
            crd = await self._cluster.get(f"{DEFINITIONS}/{definition.name}")
            self._paths[definition.name] = _served_path(_definition(crd, self.origin), definition) if crd is not None else ""
        return self._paths[definition.name]


def _served_path(definition: Definition, wanted: Definition) -> str:
    served = definition.served_versions
    if not served:
        raise SourceError(f"{definition.name}: the cluster serves no version of it, so that its objects cannot be listed")
    known = [version for version in served if wanted.version(version.name) is not None] or served
    version = definition.storage_version if definition.storage_version in known else known[0]
    return resource_path(definition.group, version.name, definition.names.plural)


def _definition(crd: Object, origin: str) -> Definition:
    try:
        return parse_definition(crd)
    except (ValueError, TypeError, KeyError) as error:
        raise SourceError(f"{origin}: invalid CustomResourceDefinition: {error}") from error

"""The instances of definitions, for whoever ends a definition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.meta.request import UserInfo
from apiext.registry.request_context import DeleteOptions, RequestContext
from apiext.serving.mirror_phases import FOREIGN
from apiext.storage.interface import ListOptions

if TYPE_CHECKING:
    from collections.abc import Collection

    from apiext.definitions.definition import Definition
    from apiext.endpoints.handlers.scope import CollectionRest
    from apiext.serving.cache import ServingCache
    from apiext.storage.raw_objects import RawObjects

SYSTEM: Final = UserInfo("system:apiserver", ("system:masters",))
"""Who the server is to itself."""


class DefinitionInstances:
    """Finds and deletes the instances of definitions (definitions.finalizer.Instances)."""

    def __init__(self, cache: ServingCache) -> None:
        self._cache = cache

    async def places(self, definition: Definition) -> Collection[str]:
        """The namespaces that have instances. Raises StatusError, and BackendError."""
        copies = self._copies(definition)
        if copies is not None:
            return sorted({key.rpartition("/")[0] for key in await copies.keys()})
        rest = self._rest(definition)
        if rest is None:
            return ()
        found = await rest.list(RequestContext(user=SYSTEM), ListOptions())
        return sorted({item.fields.get("metadata.namespace", "") for item in found.items})

    async def delete(self, definition: Definition, place: str) -> None:
        """Delete the instances in a namespace; copies of what another server has are removed. Raises StatusError, and BackendError."""
        copies = self._copies(definition)
        if copies is not None:
            await copies.clear(f"{place}/" if place else "")
            return
        rest = self._rest(definition)
        if rest is not None:
            await rest.delete_collection(RequestContext(user=SYSTEM, namespace=place), DeleteOptions(), ListOptions())

    def _copies(self, definition: Definition) -> RawObjects | None:
        """The instances as they are stored, where they are another server's: what keeps them and who follows them is that one's concern."""
        current = self._cache.custodian.current(definition)
        if current.phase not in FOREIGN:
            return None
        return self._cache.stores.raw(current.resource, self._cache.custodian.removals(current))

    def _rest(self, definition: Definition) -> CollectionRest | None:
        info = self._cache.current(definition)
        served = self._cache.version(info, info.definition.storage_version.name)
        return served.scopes[""].rest if served is not None else None

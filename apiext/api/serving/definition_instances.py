"""Instances of definitions, as the finalizer sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.resources.definitions.mirror_phases import FOREIGN
from apiext.resources.registry.request_context import DeleteOptions, RequestContext
from apiext.storage.interface import ListOptions

if TYPE_CHECKING:
    from collections.abc import Collection

    from apiext.api.endpoints.scopes.scope import CollectionRest
    from apiext.api.serving.cache import ServingCache
    from apiext.resources.definitions.definition import Definition
    from apiext.storage.stored_bytes.raw_objects import RawObjects


class DefinitionInstances:
    """Finds and deletes the instances of definitions; implements definitions.finalizer.Instances.

    In some phases of a mirror, another server owns its instances. The copies here are then removed regardless of finalizers.
    """

    def __init__(self, cache: ServingCache) -> None:
        self._cache = cache

    async def namespaces(self, definition: Definition) -> Collection[str]:
        """Return the namespaces that contain instances, sorted; "" stands for cluster-scoped instances.

        Raises:
            StatusError, BackendError: the instances cannot be listed.
        """
        copies = self._copies(definition)
        if copies is not None:
            return sorted({key.rpartition("/")[0] for key in await copies.keys()})
        found = await self._rest(definition).list(RequestContext(), ListOptions())
        return sorted({item.fields.get("metadata.namespace", "") for item in found.items})

    async def delete(self, definition: Definition, namespace: str) -> None:
        """Delete all instances in a namespace.

        Raises:
            StatusError, BackendError: an instance cannot be deleted.
        """
        copies = self._copies(definition)
        if copies is not None:
            await copies.clear(f"{namespace}/" if namespace else "")
        else:
            await self._rest(definition).delete_collection(RequestContext(namespace=namespace), DeleteOptions(), ListOptions())

    def _copies(self, definition: Definition) -> RawObjects | None:
        """Return the stored objects if they are copies of another server's, else None."""
        guards = self._cache.guards
        current = guards.current(definition)
        if current.phase not in FOREIGN:
            return None
        return self._cache.stores.raw(current.resource, guards.for_removals(current))

    def _rest(self, definition: Definition) -> CollectionRest:
        return self._cache.storage_version(self._cache.current(definition)).scopes[""].rest

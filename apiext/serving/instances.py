"""Deletes everything of a resource, for whoever ends a definition or a namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.meta.request import UserInfo
from apiext.registry.context import DeleteOptions, RequestContext
from apiext.storage.interface import ListOptions

if TYPE_CHECKING:
    from apiext.definitions.definition import Definition
    from apiext.endpoints.scope import CollectionRest
    from apiext.serving.cache import ServingCache

SYSTEM: Final = UserInfo("system:apiserver", ("system:masters",))
"""Who the server is to itself."""


async def delete_all(rest: CollectionRest, namespace: str, *, namespaced: bool) -> int:
    """Delete all objects of a resource, in one namespace or ("") everywhere; how many are left. Raises StatusError."""
    context = RequestContext(user=SYSTEM, namespace=namespace)
    namespaces = {namespace}
    if namespaced and not namespace:
        found = await rest.list(context, ListOptions())
        namespaces = {item.fields.get("metadata.namespace", "") for item in found.items}
    for name in sorted(namespaces):
        await rest.delete_collection(RequestContext(user=SYSTEM, namespace=name), DeleteOptions(), ListOptions())
    return len((await rest.list(context, ListOptions())).items)


class InstanceDeletion:
    """Deletes the instances of definitions; called again until none are left."""

    def __init__(self, cache: ServingCache) -> None:
        self._cache = cache

    async def __call__(self, definition: Definition) -> int:
        """Delete all instances; how many are left, held by finalizers. Raises StatusError."""
        info = self._cache.current(definition)
        served = self._cache.version(info, info.definition.storage_version.name)
        if served is None:
            return 0
        return await delete_all(served.scopes[""].rest, "", namespaced=definition.namespaced)

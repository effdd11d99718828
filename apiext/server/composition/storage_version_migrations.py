"""Composition of the controller of StorageVersionMigrations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS, STORAGE_VERSION_MIGRATIONS
from apiext.meta.kube_version import kube_aware_key
from apiext.migration.definition_status import DefinitionStatus
from apiext.migration.migration_controller import MigrationController
from apiext.migration.resource_patches import MigratableResource
from apiext.storage.replicas.lock import ReplicaLock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence
    from contextlib import AsyncExitStack

    from apiext.definitions.catalog import Catalog
    from apiext.meta.gvk import GroupResource
    from apiext.server.options.options import StorageOptions
    from apiext.serving.builtin.endpoints import BuiltinEndpoint
    from apiext.serving.cache import ServingCache
    from apiext.storage.replicas.roll_call import Replicas
    from apiext.workers.pool import WorkerPool

_LOCK: Final = "storage-version-migrations"
_VERBS: Final = frozenset({"list", "patch", "update"})
"""What a migration does with a resource."""


def start_migrations(
    endpoints: Sequence[BuiltinEndpoint],
    catalog: Catalog,
    cache: ServingCache,
    workers: WorkerPool,
    replicas: Replicas,
    options: StorageOptions,
    stack: AsyncExitStack,
) -> MigrationController | None:
    """Run StorageVersionMigrations until `stack` closes, if the server serves them. Of several servers on the store only one runs them."""
    scopes = {endpoint.resource: endpoint.scopes for endpoint in endpoints}
    if STORAGE_VERSION_MIGRATIONS not in scopes:
        return None
    status = DefinitionStatus(scopes[CUSTOM_RESOURCE_DEFINITIONS], workers, cache.stores.count_stored)
    resources = ServedResources(endpoints, catalog, cache)
    lock = ReplicaLock(cache.stores.backend, options.prefix, replicas, _LOCK)
    stack.push_async_callback(lock.release)
    controller = MigrationController(scopes[STORAGE_VERSION_MIGRATIONS], resources, status, workers, lock.acquire)
    controller.start()
    stack.push_async_callback(controller.close)
    return controller


class ServedResources:
    """Implements migration.resource_patches.Resources over the resources of a server."""

    def __init__(self, endpoints: Iterable[BuiltinEndpoint], catalog: Catalog, cache: ServingCache) -> None:
        self._builtins = {endpoint.resource.resource.group_resource: endpoint for endpoint in endpoints}
        self._catalog = catalog
        self._cache = cache

    def find(self, resource: GroupResource) -> MigratableResource | None:
        """Return a resource in its preferred version, None if it is not served."""
        builtin = self._builtins.get(resource)
        if builtin is not None:
            return MigratableResource(builtin.scopes[""], is_writable=_VERBS.issubset(builtin.resource.verbs))
        definition = self._catalog.lookup(resource.group, resource.resource)
        if definition is None or not definition.is_established or not definition.served_versions:
            return None
        preferred = min((version.name for version in definition.served_versions), key=kube_aware_key)
        served = self._cache.version(self._cache.info(definition), preferred)
        return None if served is None else MigratableResource(served.scopes[""], is_writable=not definition.is_terminating)

    def revisions(self, resource: GroupResource) -> AsyncIterator[tuple[str, int]]:
        """Yield the keys of all objects with their revisions. The state is not older than the call."""
        builtin = self._builtins.get(resource)
        stored = builtin.resource.stored_resource if builtin is not None else resource
        return self._cache.stores.stored_versions(stored).revisions()

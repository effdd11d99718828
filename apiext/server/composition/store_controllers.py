"""Composition of the controllers that work on objects of all kinds: StorageVersionMigrations and garbage collection."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from apiext.api.garbagecollector.garbage_collection import GarbageCollection
from apiext.api.garbagecollector.garbage_collector import GarbageCollector
from apiext.api.garbagecollector.graph import KindPlace
from apiext.api.garbagecollector.invalid_owners import InvalidOwners
from apiext.api.garbagecollector.served_objects import ServedObjects
from apiext.api.migration.definition_status import DefinitionStatus
from apiext.api.migration.migration_controller import MigrationController
from apiext.api.migration.resource_patches import MigratableResource
from apiext.base.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS, EVENTS, STORAGE_VERSION_MIGRATIONS
from apiext.base.meta.kube_version import kube_aware_key
from apiext.base.scheduling.tasks import run_until_closed
from apiext.storage import keys
from apiext.storage.replicas.lock import ReplicaLock
from apiext.storage.value.transforming_backend import ResourceKeys

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence
    from contextlib import AsyncExitStack

    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.api.serving.builtin.endpoints import BuiltinEndpoint
    from apiext.api.serving.cache import ServingCache
    from apiext.base.meta.gvk import GroupResource
    from apiext.base.workers.pool import WorkerPool
    from apiext.resources.definitions.catalog import Catalog
    from apiext.server.options.options import ServerOptions
    from apiext.storage.replicas.roll_call import Replicas

_LOCK: Final = "storage-version-migrations"
_GARBAGE_LOCK: Final = "garbage-collector"
_VERBS: Final = frozenset({"list", "patch", "update"})
"""What a migration does with a resource."""


def start_store_controllers(
    endpoints: Sequence[BuiltinEndpoint],
    catalog: Catalog,
    cache: ServingCache,
    workers: WorkerPool,
    replicas: Replicas,
    options: ServerOptions,
    stack: AsyncExitStack,
) -> tuple[MigrationController | None, GarbageCollection | None]:
    """Start the controllers that this server shall have; `stack` stops them. Of several servers on the store one does the work of each."""
    migration = _start_migrations(endpoints, catalog, cache, workers, replicas, options, stack)
    return migration, _start_garbage_collection(endpoints, catalog, cache, workers, replicas, options, stack)


def _start_migrations(
    endpoints: Sequence[BuiltinEndpoint],
    catalog: Catalog,
    cache: ServingCache,
    workers: WorkerPool,
    replicas: Replicas,
    options: ServerOptions,
    stack: AsyncExitStack,
) -> MigrationController | None:
    """Run StorageVersionMigrations until `stack` closes, if the server serves them. Of several servers on the store only one runs them."""
    scopes = {endpoint.resource: endpoint.scopes for endpoint in endpoints}
    if STORAGE_VERSION_MIGRATIONS not in scopes:
        return None
    status = DefinitionStatus(scopes[CUSTOM_RESOURCE_DEFINITIONS], workers, cache.stores.count_stored)
    resources = ServedResources(endpoints, catalog, cache)
    lock = ReplicaLock(cache.stores.backend, options.storage.prefix, replicas, _LOCK)
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


def _start_garbage_collection(
    endpoints: Sequence[BuiltinEndpoint],
    catalog: Catalog,
    cache: ServingCache,
    workers: WorkerPool,
    replicas: Replicas,
    options: ServerOptions,
    stack: AsyncExitStack,
) -> GarbageCollection | None:
    """Collect garbage until `stack` closes, if the server is standalone and shall do it. Of several servers on the store one collects."""
    if options.host is not None or not options.collects_garbage:
        return None
    by_resource = {endpoint.resource: endpoint for endpoint in endpoints}
    backend, kinds = cache.stores.backend, ServedKinds(endpoints, catalog, cache)
    objects = ServedObjects(kinds, backend, workers)
    invalid = InvalidOwners(kinds, objects, backend, by_resource[EVENTS].scopes[""], workers)
    make = partial(
        GarbageCollector,
        kinds,
        objects,
        invalid,
        backend,
        keys.root(options.storage.prefix),
        reach=cache.stores.reach,
        is_ignored=kinds.is_ignored,
    )
    # one process owns an SQLite store
    lock = ReplicaLock(backend, options.storage.prefix, replicas, _GARBAGE_LOCK) if options.storage.etcd is not None else None
    if lock is not None:
        stack.push_async_callback(lock.release)
    collection = GarbageCollection(make, cache.stores, lock)
    stack.callback(catalog.subscribe(collection.take_definition))
    for work in (collection.run(), invalid.run()):
        run_until_closed(stack, work)
    return collection


class ServedKinds:
    """Implements garbagecollector.served_objects.Kinds over the resources of a server."""

    def __init__(self, endpoints: Sequence[BuiltinEndpoint], catalog: Catalog, cache: ServingCache) -> None:
        self._resources = ServedResources(endpoints, catalog, cache)
        self._catalog = catalog
        self._stores = cache.stores
        self._keys = ResourceKeys(cache.stores.prefix)
        self._builtins: dict[str, BuiltinEndpoint] = {}
        """By the prefix of their keys. Events have two groups, and are stored as those of the first."""
        self._places: dict[tuple[str, str], KindPlace] = {}
        """Those of built-in kinds."""
        for endpoint in endpoints:
            if "get" not in endpoint.resource.verbs:
                # a review
                continue
            prefix = self._stores.key_prefix(endpoint.resource.stored_resource)
            kind = endpoint.resource.kind
            self._builtins.setdefault(prefix, endpoint)
            self._places[kind.api_version, kind.kind] = KindPlace(prefix, endpoint.resource.namespaced)
        self._custom: dict[tuple[str, str], KindPlace | None] = {}
        """Those of custom resources that were asked for, at the generation of the catalog."""
        self._generation = -1
        self._events = self._stores.key_prefix(EVENTS.stored_resource)

    def locate(self, api_version: str, kind: str) -> KindPlace | None:
        """Return where the objects of a kind are stored, None if it is not served in this version."""
        found = self._places.get((api_version, kind))
        if found is not None:
            return found
        if self._generation != self._catalog.generation:
            self._generation = self._catalog.generation
            self._custom.clear()
        key = api_version, kind
        if key not in self._custom:
            self._custom[key] = self._find(api_version, kind)
        return self._custom[key]

    def _find(self, api_version: str, kind: str) -> KindPlace | None:
        group, _, version = api_version.partition("/")
        if not self._catalog.has_group(group):
            return None
        for one in self._catalog.all():
            served = one.group == group and one.is_established and one.names.kind == kind
            if served and any(each.name == version for each in one.served_versions):
                return KindPlace(self._stores.key_prefix(one.resource), one.namespaced)
        return None

    def scope_of(self, key: str) -> tuple[Scope, str] | None:
        """Return the preferred version of the resource of a key, and the rest of the key; None if it is not served."""
        place = self._keys.place(key)
        builtin = self._builtins.get(place)
        if builtin is not None:
            return builtin.scopes[""], key[len(place) :]
        resource = self._keys.resource(place)
        found = self._resources.find(resource) if resource is not None else None
        return None if found is None else (found.scope, key[len(place) :])

    def is_ignored(self, key: str) -> bool:
        """Report whether a key is that of an event, or of nothing that could be collected."""
        return key.startswith(self._events) or self._keys.resource(self._keys.place(key)) is None

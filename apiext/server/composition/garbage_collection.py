"""Composition of the garbage collector of a standalone server. Of several servers on the store one collects."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from apiext.garbagecollector.garbage_collector import GarbageCollector
from apiext.garbagecollector.graph import Place
from apiext.garbagecollector.invalid_owners import InvalidOwners
from apiext.garbagecollector.served_objects import ServedObjects
from apiext.meta.builtin_resources import EVENTS
from apiext.meta.log import get_logger
from apiext.scheduling.backoff import Backoff
from apiext.scheduling.tasks import end_tasks, run_until_closed
from apiext.scheduling.ticks import until_tick
from apiext.server.composition.storage_version_migrations import ServedResources
from apiext.storage import keys
from apiext.storage.backend import BackendError
from apiext.storage.replicas.lock import ReplicaLock
from apiext.storage.value.resource_keys import ResourceKeys

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AsyncExitStack

    from apiext.definitions.catalog import Catalog
    from apiext.definitions.definition import Definition
    from apiext.endpoints.scopes.scope import Scope
    from apiext.server.options.options import ServerOptions
    from apiext.serving.builtin.endpoints import BuiltinEndpoint
    from apiext.serving.cache import ServingCache
    from apiext.storage.factory import StoreFactory
    from apiext.storage.replicas.roll_call import Replicas
    from apiext.workers.pool import WorkerPool

_LOG: Final = get_logger(__name__)
_LOCK: Final = "garbage-collector"
_TURN_SECONDS: Final = 15.0
"""Seconds between two looks at the lock: most of the time until a server takes over from one that is gone, as in the reference."""
_PAUSES: Final = (0.2, 15.0)
"""Seconds before the first retry while the store does not answer, and the longest before later ones."""


class GarbageCollection:
    """Runs a garbage collector as long as this server has the lock; without a lock, always."""

    def __init__(self, collector: Callable[[], GarbageCollector], stores: StoreFactory, lock: ReplicaLock | None) -> None:
        """Set what makes a collector for each start, and after each loss of changes."""
        self._make = collector
        self._stores = stores
        self._lock = lock
        self._current: GarbageCollector | None = None
        """The collector that runs, None on a server that waits for its turn."""
        self._failures = 0
        """Failed attempts of former collectors to read all objects."""

    @property
    def leads(self) -> bool:
        """Return whether this server collects."""
        return self._current is not None

    @property
    def followed(self) -> int:
        """Return the number of objects that the collector follows."""
        return len(self._current.graph.nodes) if self._current is not None else 0

    @property
    def failures(self) -> int:
        """Return the number of failed attempts to read all objects."""
        return self._failures + (self._current.builder.failures if self._current is not None else 0)

    async def run(self) -> None:
        """Collect whenever it is this server's turn, until cancelled."""
        if self._lock is None:
            await self._collect()
            return
        collecting: asyncio.Task[None] | None = None
        backoff = Backoff(*_PAUSES)
        try:
            while True:
                try:
                    leads = await self._lock.acquire()
                except BackendError as error:
                    _LOG.warning("lock of the garbage collector cannot be read, retrying", error=str(error), retry_after=backoff.next)
                    await backoff.pause()
                    continue
                backoff.reset()
                if leads and collecting is None:
                    collecting = asyncio.create_task(self._collect(), name="garbage-collection")
                elif not leads and collecting is not None:
                    await end_tasks(collecting)
                    collecting = None
                await until_tick(_TURN_SECONDS)
        finally:
            if collecting is not None:
                await end_tasks(collecting)

    async def _collect(self) -> None:
        """Collect until cancelled, with a new graph whenever changes were lost."""
        backoff = Backoff(*_PAUSES)
        while True:
            collector = self._current = self._make()
            try:
                end = await self._stores.follow_all(collector.builder)
                try:
                    await collector.run()
                    backoff.reset()
                finally:
                    end()
            except Exception as error:  # noqa: BLE001 -- garbage would stay until the server restarts
                _LOG.warning("garbage collection failed, retrying", error=str(error), retry_after=backoff.next)
            finally:
                self._failures = self.failures
                self._current = None
            await backoff.pause()

    def take_definition(self, _old: Definition | None, new: Definition | None) -> None:
        """Take a changed definition: its kind may be that of owners; implements catalog.Listener."""
        if new is not None and new.is_established and self._current is not None:
            for version in new.versions:
                self._current.graph.locate_again(f"{new.group}/{version.name}", new.names.kind)


class ServedKinds:
    """Implements garbagecollector.served_objects.Kinds over the resources of a server."""

    def __init__(self, endpoints: Sequence[BuiltinEndpoint], catalog: Catalog, cache: ServingCache) -> None:
        self._resources = ServedResources(endpoints, catalog, cache)
        self._catalog = catalog
        self._stores = cache.stores
        self._keys = ResourceKeys(cache.stores.prefix)
        self._builtins: dict[str, BuiltinEndpoint] = {}
        """By the prefix of their keys. Events have two groups, and are stored as those of the first."""
        self._places: dict[tuple[str, str], Place] = {}
        """Those of built-in kinds."""
        for endpoint in endpoints:
            if "get" not in endpoint.resource.verbs:
                # a review
                continue
            prefix = self._stores.key_prefix(endpoint.resource.stored_resource)
            kind = endpoint.resource.kind
            self._builtins.setdefault(prefix, endpoint)
            self._places[kind.api_version, kind.kind] = Place(prefix, endpoint.resource.namespaced)
        self._custom: dict[tuple[str, str], Place | None] = {}
        """Those of custom resources that were asked for, at the generation of the catalog."""
        self._generation = -1
        self._events = self._stores.key_prefix(EVENTS.stored_resource)

    def locate(self, api_version: str, kind: str) -> Place | None:
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

    def _find(self, api_version: str, kind: str) -> Place | None:
        group, _, version = api_version.partition("/")
        if not self._catalog.has_group(group):
            return None
        for one in self._catalog.all():
            served = one.group == group and one.is_established and one.names.kind == kind
            if served and any(each.name == version for each in one.served_versions):
                return Place(self._stores.key_prefix(one.resource), one.namespaced)
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


def start_garbage_collection(
    endpoints: Sequence[BuiltinEndpoint],
    catalog: Catalog,
    cache: ServingCache,
    workers: WorkerPool,
    replicas: Replicas,
    options: ServerOptions,
    stack: AsyncExitStack,
) -> GarbageCollection | None:
    """Collect garbage until `stack` closes, if the server is standalone and shall do it."""
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
    lock = ReplicaLock(backend, options.storage.prefix, replicas, _LOCK) if options.storage.etcd is not None else None
    if lock is not None:
        stack.push_async_callback(lock.release)
    collection = GarbageCollection(make, cache.stores, lock)
    stack.callback(catalog.subscribe(collection.take_definition))
    for work in (collection.run(), invalid.run()):
        run_until_closed(stack, work)
    return collection

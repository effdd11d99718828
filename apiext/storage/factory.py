"""Creates the stores of all resources on one backend, and compacts the backend periodically.

Mirrors apiserver pkg/registry/generic/registry/storage_factory.go, pkg/storage/storagebackend/factory and pkg/storage/etcd3/compact.go.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from apiext.base.meta.gvk import GroupResource
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.tasks import end_tasks
from apiext.base.scheduling.ticks import until_tick
from apiext.storage import keys
from apiext.storage.backend import Backend, BackendError, CompactedError, FutureRevisionError
from apiext.storage.backends.fixed_backend import FixedBackend
from apiext.storage.barrier import Barrier
from apiext.storage.cacher.cached_store import CachedStore
from apiext.storage.cacher.feed import MAX_WAIT, BackendFeed, ChangeObserver, FeedFollower
from apiext.storage.cacher.first_change import FirstChange
from apiext.storage.direct.store import DirectStore
from apiext.storage.interface import Codec, Store
from apiext.storage.rendering.interest import ShardStats
from apiext.storage.rendering.renderer import Renderer
from apiext.storage.store_times import STORE_TIMES
from apiext.storage.stored_bytes.raw_objects import RawObjects
from apiext.storage.stored_bytes.reencoder import Reencoder
from apiext.storage.stored_bytes.repair import Repair
from apiext.storage.stored_bytes.version_counts import StoredCounts, StoredVersions
from apiext.storage.writer import WriteGuard

if TYPE_CHECKING:
    from apiext.storage.rendering.renderer import WaitingLimit
    from apiext.storage.store_times import StoreTimes
    from apiext.storage.value.encryption import Encryption

COMPACTION_INTERVAL_SECONDS: Final = 300.0
BOOKMARK_INTERVAL_SECONDS: Final = 60.0
TICK_SECONDS: Final = 1.0
"""Seconds between two rounds of housekeeping of the caches."""

_LOG: Final = get_logger(__name__)


class StoreFactory:
    """Creates one Store for each resource. Owns the backend watch of all caches and the barrier. Compacts the backend."""

    times: Callable[[], StoreTimes | None] | None = None
    """Returns the times of the current request if its waits are measured."""

    def __init__(
        self,
        backend: Backend,
        *,
        prefix: str = "/registry",
        watch_cache: bool = True,
        compaction_interval: float = COMPACTION_INTERVAL_SECONDS,
        bookmark_interval: float = BOOKMARK_INTERVAL_SECONDS,
        max_wait: float = MAX_WAIT,
        clock: Callable[[], float] = time.monotonic,
        encryption: Encryption | None = None,
    ) -> None:
        """Create the factory. `encryption` is that of the backend."""
        self.backend = backend
        self.encryption = encryption
        self._rereading: asyncio.Task[None] | None = None
        self.prefix: Final = prefix
        """The prefix of all keys."""
        self._watch_cache = watch_cache
        self._bookmark_interval = bookmark_interval
        self._clock = clock
        self._barrier = Barrier(backend, self.times)
        self._feed = BackendFeed(backend=backend, root=keys.root(prefix), max_wait=max_wait)
        self._compaction_interval = compaction_interval
        self._stores: dict[GroupResource, DirectStore | CachedStore] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self.shard_stats: defaultdict[GroupResource, ShardStats] = defaultdict(ShardStats)
        """The counts of watches with shard selectors, also of former stores."""

    async def start(self) -> None:
        """Start following and compacting the backend.

        Raises:
            BackendError: the backend does not answer.
        """
        loop = asyncio.get_running_loop()
        if self._watch_cache:
            await self._feed.start()
            self._tasks.append(loop.create_task(self._tick()))
        if self._compaction_interval:
            self._tasks.append(loop.create_task(self._compact()))

    async def close(self) -> None:
        """End all watches and stop. Leave the backend open."""
        for resource in tuple(self._stores):
            self.drop(resource)
        await end_tasks(*self._tasks)
        if self._rereading is not None:
            await end_tasks(self._rereading)
        await self._feed.close()
        await self._barrier.close()

    def store(
        self,
        resource: GroupResource,
        guard: WriteGuard | None = None,
        waiting: WaitingLimit | None = None,
        *,
        shown: GroupResource | None = None,
    ) -> Store:
        """Return the store of a resource, the same one until it is dropped.

        The first call makes it: all writes depend on `guard`, which is that of the resource, not of the caller, and `waiting` limits
        the readers that wait for renderings. So each call for a guarded resource must name the guard. Errors name the resource `shown`,
        if that is not the resource in the keys.
        """
        store = self._stores.get(resource)
        if store is None:
            renderer = Renderer(self.key_prefix(resource), waiting)
            if self._watch_cache:
                store = CachedStore(
                    backend=self.backend,
                    renderer=renderer,
                    resource=shown or resource,
                    feed=self._feed,
                    barrier=self._barrier,
                    clock=self._clock,
                    bookmark_interval=self._bookmark_interval,
                    guard=guard,
                )
                store.rewrites = self.encryption is not None
                store.cache.dispatcher.shards = self.shard_stats[shown or resource]
            else:
                store = DirectStore(
                    backend=self.backend,
                    renderer=renderer,
                    resource=shown or resource,
                    bookmark_interval=self._bookmark_interval,
                    guard=guard,
                )
            self._stores[resource] = store
        return store

    def hold(self, resource: GroupResource, objects: Mapping[str, bytes], *, revision: int) -> None:
        """Give a resource constant objects by name, all of one revision. They are never stored."""
        prefix = self.key_prefix(resource)
        backend = FixedBackend({prefix + name: data for name, data in objects.items()}, revision=revision)
        renderer = Renderer(prefix)
        self._stores[resource] = DirectStore(
            backend=backend, renderer=renderer, resource=resource, bookmark_interval=self._bookmark_interval
        )

    async def count(self, resource: GroupResource) -> int:
        """Return the number of objects of a resource; that of a store with a loaded cache may be stale. Makes no store.

        Raises:
            BackendError: the backend does not answer.
        """
        store = self._stores.get(resource)
        return await store.count() if store is not None else await self.backend.count(self.key_prefix(resource))

    def report_change(self, resource: GroupResource, report: Callable[[], None]) -> bool:
        """Call a function once, when a resource without a store has changed. Return False if changes are not watched."""
        if self._watch_cache:
            FirstChange(self._feed, self.key_prefix(resource), report)
        return self._watch_cache

    def observe(self, observer: ChangeObserver) -> Callable[[], None] | None:
        """Report all later changes to an observer. Return a function that ends this, None if changes are not watched."""
        return self._feed.observe(observer) if self._watch_cache else None

    async def follow_all(self, follower: FeedFollower) -> Callable[[], None]:
        """Deliver all later changes of all resources to a follower, also without watch caches. Return a function that ends this.

        Raises:
            BackendError: the backend does not answer.
        """
        if not self._watch_cache and not self._feed.revision:
            await self._feed.start()
        return self._feed.tap(follower)

    async def reach(self, revision: int) -> None:
        """Wait until the changes up to a revision are delivered.

        Raises:
            StatusError: 504 if this takes too long.
            ProgressUnreliableError: the store does not report progress reliably.
        """
        await self._feed.wait(revision)

    def stored_versions(self, resource: GroupResource) -> StoredVersions:
        """Return the reader of a resource's stored versions."""
        store = self._stores.get(resource)
        return StoredVersions(
            backend=self.backend,
            prefix=self.key_prefix(resource),
            resource=resource,
            store=store if isinstance(store, CachedStore) else None,
        )

    def known_size(self, resource: GroupResource) -> tuple[int, int] | None:
        """Return the number of a resource's objects and their stored bytes from its watch cache, None if it is not loaded."""
        store = self._stores.get(resource)
        if not isinstance(store, CachedStore) or not store.cache.loaded:
            return None
        return len(store.cache.entries), store.cache.totals.stored_bytes

    async def count_stored(self, resource: GroupResource) -> StoredCounts:
        """Return the number of stored objects of a resource by version, as StoredVersions.counts."""
        return await self.stored_versions(resource).counts()

    @property
    def feed(self) -> BackendFeed | None:
        """Return the watch of all caches, None without watch caches."""
        return self._feed if self._watch_cache else None

    @property
    def cache_revision(self) -> int | None:
        """Return the revision that all loaded watch caches have reached, None without watch caches."""
        return self._feed.revision if self._watch_cache else None

    def key_prefix(self, resource: GroupResource) -> str:
        """Return the key prefix of a resource, with a final slash."""
        return keys.resource_prefix(self.prefix, resource)

    def raw(self, resource: GroupResource, guard: WriteGuard) -> RawObjects:
        """Return the raw access to the stored objects of a resource."""
        return RawObjects(backend=self.backend, prefix=self.key_prefix(resource), guard=guard)

    def reencoder(self, resource: GroupResource, guard: WriteGuard) -> Reencoder:
        """Return what rewrites the objects of a resource that are stored in other versions."""
        return Reencoder(backend=self.backend, renderer=Renderer(self.key_prefix(resource)), guard=guard)

    def repair(self, resource: GroupResource, codec: Codec, guard: WriteGuard | None = None) -> Repair:
        """Return the repair of the stored objects of a resource."""
        renderer = Renderer(self.key_prefix(resource))
        return Repair(backend=self.backend, renderer=renderer, codec=codec, guard=guard)

    def drop(self, resource: GroupResource) -> None:
        """Drop the store of a resource and end its watches."""
        store = self._stores.pop(resource, None)
        if store is not None:
            store.close()

    async def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await until_tick(TICK_SECONDS)
            for store in tuple(self._stores.values()):
                try:
                    if isinstance(store, CachedStore):
                        await store.cache.tick()
                except Exception:  # noqa: BLE001 - go on with the other caches
                    _LOG.exception("watch cache housekeeping failed, retrying")
            if self.encryption is not None and (self._rereading is None or self._rereading.done()):
                self._rereading = loop.create_task(self._read_again(self.encryption.generation))

    async def _read_again(self, generation: int) -> None:
        for store in tuple(self._stores.values()):
            try:
                if isinstance(store, CachedStore):
                    await store.read_again(generation)
            except BackendError as error:
                _LOG.warning("unreadable objects cannot be read again, retrying", error=str(error))

    async def _compact(self) -> None:
        """Drop history older than the compaction interval, once an interval."""
        while True:
            try:
                await self.backend.compact_aged()
            except (CompactedError, FutureRevisionError):
                # another server compacted first, or the store was replaced
                _LOG.debug("nothing to compact")
            except BackendError as error:
                _LOG.warning("compaction failed, retrying", error=str(error))
            except Exception:  # noqa: BLE001 - keep compacting
                _LOG.exception("compaction failed")
            await asyncio.sleep(self._compaction_interval)


class TimedStores(StoreFactory):
    """Creates stores as StoreFactory, on a TimedBackend, whose readers also measure how long they wait for the store's revision."""

    times = staticmethod(STORE_TIMES.get)

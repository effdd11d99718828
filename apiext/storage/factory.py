"""The stores of all resources over one backend, and what they share.

Mirrors apiserver pkg/registry/generic/registry/storage_factory.go and pkg/storage/storagebackend/factory.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from apiext.meta.log import get_logger
from apiext.meta.tasks import end_tasks
from apiext.storage import keys
from apiext.storage.barrier import Barrier
from apiext.storage.cacher.cached_store import CachedStore
from apiext.storage.cacher.feed import MAX_WAIT, Feed
from apiext.storage.compactor import Compactor
from apiext.storage.direct_store import DirectStore
from apiext.storage.raw_objects import RawObjects
from apiext.storage.rendering import Renderer
from apiext.storage.value.identity import IdentityTransformer

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.meta.errors import StatusError
    from apiext.meta.gvk import GroupResource
    from apiext.storage.backend import Backend
    from apiext.storage.interface import Store, Transformer
    from apiext.storage.write_guards import WriteGuard

COMPACTION_INTERVAL: Final = 300.0
BOOKMARK_INTERVAL: Final = 60.0
_TICK: Final = 1.0

_LOG: Final = get_logger(__name__)


class StoreFactory:
    """Makes one Store for each resource; owns the one watch that feeds all caches, the barrier and the compaction."""

    def __init__(
        self,
        backend: Backend,
        *,
        prefix: str = "/registry",
        watch_cache: bool = True,
        transformer: Transformer | None = None,
        compaction_interval: float = COMPACTION_INTERVAL,
        bookmark_interval: float = BOOKMARK_INTERVAL,
        max_wait: float = MAX_WAIT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.backend = backend
        self._prefix = prefix
        self._watch_cache = watch_cache
        self._transformer = transformer
        self._bookmark_interval = bookmark_interval
        self._clock = clock
        self._barrier = Barrier(backend)
        self._feed = Feed(backend=backend, root=keys.root(prefix), max_wait=max_wait)
        self._compactor = Compactor(backend=backend, interval=compaction_interval)
        self._compaction_interval = compaction_interval
        self._stores: dict[GroupResource, DirectStore | CachedStore] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Begin to follow the backend and to compact it. Raises BackendError when it does not answer."""
        loop = asyncio.get_running_loop()
        if self._watch_cache:
            await self._feed.start()
            self._tasks.append(loop.create_task(self._tick()))
        if self._compaction_interval:
            self._tasks.append(loop.create_task(self._compactor.run()))

    async def close(self) -> None:
        """End all watches and stop; the backend stays open."""
        for resource in tuple(self._stores):
            self.drop(resource)
        await end_tasks(*self._tasks)
        await self._feed.close()
        await self._barrier.close()

    def store(self, resource: GroupResource) -> Store:
        """The store of a resource: always the same one, until it is dropped."""
        store = self._stores.get(resource)
        if store is None:
            store = self._stores[resource] = self._make(resource)
        return store

    def key_prefix(self, resource: GroupResource) -> str:
        """Where the objects of a resource are, with a final slash."""
        return keys.resource_prefix(self._prefix, resource)

    def raw(self, resource: GroupResource, guard: WriteGuard) -> RawObjects:
        """The objects of a resource as they are stored."""
        transformer = self._transformer or IdentityTransformer()
        return RawObjects(backend=self.backend, renderer=Renderer(prefix=self.key_prefix(resource), transformer=transformer), guard=guard)

    def _make(self, resource: GroupResource) -> DirectStore | CachedStore:
        direct = DirectStore(
            backend=self.backend,
            resource_prefix=self.key_prefix(resource),
            resource=resource,
            transformer=self._transformer,
            bookmark_interval=self._bookmark_interval,
        )
        if not self._watch_cache:
            return direct
        return CachedStore(
            backend=self.backend,
            direct=direct,
            feed=self._feed,
            barrier=self._barrier,
            clock=self._clock,
            bookmark_interval=self._bookmark_interval,
        )

    def drop(self, resource: GroupResource, error: StatusError | None = None) -> None:
        """Let a resource's cache go and end its watches, with a Status where there is one."""
        store = self._stores.pop(resource, None)
        if store is not None:
            store.close(error)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            for store in tuple(self._stores.values()):
                try:
                    if isinstance(store, CachedStore):
                        store.cache.tick()
                except Exception:  # noqa: BLE001 - or all others would stay without bookmarks for ever
                    _LOG.exception("a cache cannot be looked after")

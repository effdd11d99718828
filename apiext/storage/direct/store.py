"""The typed Store straight over a backend, for `--watch-cache=false` (apiserver pkg/storage/etcd3/store.go)."""

from __future__ import annotations

from apiext.base.meta.gvk import GroupResource
from apiext.storage import keys, list_plan
from apiext.storage.backend import Backend
from apiext.storage.direct.reader import DirectReader
from apiext.storage.direct.watch import DirectWatch
from apiext.storage.interface import Codec, Event, Item, ListOptions, ListResult, Watch, WatchOptions
from apiext.storage.rendering.renderer import Renderer
from apiext.storage.rendering.watch_queue import WatchQueue
from apiext.storage.write_guards import WriteGuard
from apiext.storage.writer import Writer


class DirectStore(Writer):
    """Implements Store without a cache: every read asks the backend, every watch opens a watch of the backend."""

    def __init__(
        self,
        *,
        backend: Backend,
        renderer: Renderer,
        resource: GroupResource,
        bookmark_interval: float,
        guard: WriteGuard | None = None,
    ) -> None:
        super().__init__(backend=backend, renderer=renderer, guard=guard)
        self._reader = DirectReader(backend=backend, renderer=renderer, resource=resource)
        self._bookmark_interval = bookmark_interval
        self._watches: set[WatchQueue[Event]] = set()
        self._closed = False

    async def get(self, key: str, codec: Codec, *, resource_version: str = "") -> Item:
        """Implement Store.get."""
        return await self._reader.get(key, codec, resource_version=resource_version)

    async def list(self, prefix: str, codec: Codec, options: ListOptions) -> ListResult:
        """Implement Store.list."""
        return await self._reader.list(list_plan.plan(prefix, options), codec)

    async def watch(self, prefix: str, codec: Codec, options: WatchOptions) -> Watch:
        """Implement Store.watch."""
        watch = DirectWatch(
            backend=self._backend,
            renderer=self.renderer,
            codec=codec,
            scope=keys.narrow(prefix, options.selection),
            options=options,
            bookmark_interval=self._bookmark_interval,
            closed=self._watches.discard,
        )
        await watch.start()
        if self._closed:
            watch.close()
        elif not watch.finished:
            self._watches.add(watch)
        return watch

    def close(self) -> None:
        """End all watches, current and future ones."""
        self._closed = True
        for watch in tuple(self._watches):
            watch.finish()

    async def count(self) -> int:
        """Implement Store.count."""
        return await self._reader.count()

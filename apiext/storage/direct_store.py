"""The typed Store straight over a backend: what `--watch-cache=false` serves from, and what the cache falls back to.

Mirrors apiserver pkg/storage/etcd3/store.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.meta import errors
from apiext.storage import change, continue_token, keys, list_plan, versioner
from apiext.storage.backend import CompactedError, FutureRevisionError
from apiext.storage.corrupt_objects import Corruption
from apiext.storage.direct_watch import DirectWatch
from apiext.storage.interface import CorruptObjectError, KeyNotFoundError, ListResult
from apiext.storage.rendering import Renderer
from apiext.storage.time_slice import Pace
from apiext.storage.value.identity import IdentityTransformer
from apiext.storage.watch_queue import WatchQueue
from apiext.storage.writer import State, Writer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableSequence, Sequence

    from apiext.meta.gvk import GroupResource
    from apiext.meta.json_codec import Object
    from apiext.storage.backend import Backend, KeyValue, RangeResult
    from apiext.storage.interface import Codec, Item, ListOptions, Preconditions, Transformer, Watch, WatchOptions
    from apiext.storage.list_plan import ListPlan
    from apiext.storage.write_guards import WriteGuard

_PAGE: Final = 1000
_MAX_PAGE: Final = 10000
_LIST_EXPIRED: Final = "The resourceVersion for the provided list is too old."
_BOOKMARK_INTERVAL: Final = 60.0


class DirectStore:
    """Implements interface.Store; every read asks the backend, every watch has a watch of its own there."""

    def __init__(
        self,
        *,
        backend: Backend,
        resource_prefix: str,
        resource: GroupResource,
        transformer: Transformer | None = None,
        bookmark_interval: float = _BOOKMARK_INTERVAL,
    ) -> None:
        self.resource = resource
        self.prefix = f"{resource_prefix.rstrip('/')}/"
        self.renderer = Renderer(prefix=self.prefix, transformer=transformer or IdentityTransformer())
        self._backend = backend
        self._writer = Writer(backend=backend, renderer=self.renderer)
        self._bookmark_interval = bookmark_interval
        self._watches: set[WatchQueue] = set()
        self._closed = False

    async def create(self, key: str, obj: Object, codec: Codec, *, dry_run: bool = False) -> Item:
        """Implements Store.create."""
        return await self._writer.create(key, obj, codec, dry_run=dry_run)

    async def get(self, key: str, codec: Codec, *, resource_version: str = "") -> Item:
        """Implements Store.get; the answer is always the latest state."""
        minimum = versioner.parse(resource_version)
        pair, revision = await self._backend.get(self.prefix + key)
        versioner.require(minimum, revision)
        if pair is None:
            raise KeyNotFoundError(self.prefix + key, "key not found")
        return self._item(codec, pair)

    def _item(self, codec: Codec, pair: KeyValue) -> Item:
        key = pair.key[len(self.prefix) :]
        return self.renderer.item(codec, key, self.renderer.open(key, pair.value)[0], pair.revision)

    async def list(self, prefix: str, codec: Codec, options: ListOptions) -> ListResult:
        """Implements Store.list."""
        return await self.serve(list_plan.plan(prefix, options), codec)

    async def serve(self, plan: ListPlan, codec: Codec) -> ListResult:
        """Answer a list that has been planned."""
        if keys.is_single(plan.scope):
            return await self._serve_one(plan, codec)
        unfiltered = change.is_everything(plan.selection)
        size, revision, start = plan.limit or _PAGE, plan.exact, plan.start
        items: list[Item] = []
        corruption, total = Corruption(self.resource), 0
        while True:
            result = await self._range(plan, start=start, revision=revision, limit=size)
            revision = revision or result.revision
            total = total or result.count
            whole = await self._collect(plan, codec, result.items, items, corruption)
            if not whole or not result.more or (plan.limit and len(items) >= plan.limit):
                corruption.check()
                more = not whole or result.more
                return list_plan.page(plan, items, revision=revision, total=total, more=more, unfiltered=unfiltered)
            start = f"{result.items[-1].key[len(self.prefix + plan.scope) :]}\0"
            size = min(size * 2, _MAX_PAGE) if plan.limit else size

    async def _serve_one(self, plan: ListPlan, codec: Codec) -> ListResult:
        parent, _, name = plan.scope.rpartition("/")
        result = await self._range(plan, scope=f"{parent}/" if parent else "", start=name, revision=plan.exact, limit=1)
        corruption = Corruption(self.resource)
        items: list[Item] = []
        found = [pair for pair in result.items if pair.key == self.prefix + plan.scope]
        await self._collect(plan, codec, found, items, corruption)
        corruption.check()
        return ListResult(items=items, revision=plan.exact or result.revision)

    async def _range(self, plan: ListPlan, *, start: str, revision: int, limit: int, scope: str | None = None) -> RangeResult:
        prefix = self.prefix + (plan.scope if scope is None else scope)
        begin = prefix + start if start else ""
        try:
            result = await self._backend.list(prefix, start=begin, revision=revision, limit=limit)
        except CompactedError as error:
            if plan.paging:
                raise continue_token.too_old(start) from error
            raise errors.expired(_LIST_EXPIRED) from error
        except FutureRevisionError as error:
            raise errors.too_large_resource_version(revision, error.current, 0) from error
        versioner.require(plan.minimum, result.revision)
        return result

    async def _collect(
        self, plan: ListPlan, codec: Codec, pairs: Sequence[KeyValue], items: MutableSequence[Item], corruption: Corruption
    ) -> bool:
        """Add what is selected; False when the limit was reached before the last pair."""
        pace = Pace()
        for pair in pairs:
            if plan.limit and len(items) >= plan.limit:
                return False
            if pace.due:
                await pace.pause()
            try:
                item = self._item(codec, pair)
            except CorruptObjectError as error:
                corruption.add(error)
                continue
            if plan.selection.matches(item.labels, item.fields):
                items.append(item)
        return True

    async def watch(self, prefix: str, codec: Codec, options: WatchOptions) -> Watch:
        """Implements Store.watch."""
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
        elif watch.active:
            self._watches.add(watch)
        return watch

    def close(self, error: errors.StatusError | None = None) -> None:
        """End all watches, with a Status where there is one, and those still to come."""
        self._closed = True
        for watch in tuple(self._watches):
            if error is not None:
                watch.fail(error)
            watch.finish()

    async def guaranteed_update(
        self,
        key: str,
        codec: Codec,
        update: Callable[[Object, int], Awaitable[Object]],
        *,
        preconditions: Preconditions | None = None,
        ignore_not_found: bool = False,
        dry_run: bool = False,
        begin: State | None = None,
    ) -> tuple[Item, bool]:
        """Implements Store.guaranteed_update; `begin` is a state to try first, which may be outdated."""
        return await self._writer.update(
            key,
            codec,
            update,
            preconditions=preconditions,
            ignore_not_found=ignore_not_found,
            dry_run=dry_run,
            begin=begin,
        )

    async def delete(
        self,
        key: str,
        codec: Codec,
        *,
        preconditions: Preconditions | None = None,
        validate: Callable[[Object], Awaitable[None]] | None = None,
        dry_run: bool = False,
        begin: State | None = None,
    ) -> Item:
        """Implements Store.delete; `begin` is a state to try first, which may be outdated."""
        return await self._writer.delete(key, codec, preconditions=preconditions, validate=validate, dry_run=dry_run, begin=begin)

    async def delete_unreadable(self, key: str, codec: Codec, *, dry_run: bool = False) -> None:
        """Implements Store.delete_unreadable."""
        await self._writer.delete_unreadable(key, codec, dry_run=dry_run)

    def guard_writes(self, guard: WriteGuard) -> None:
        """Implements Store.guard_writes."""
        self._writer.guard = guard

    async def count(self) -> int:
        """Implements Store.count."""
        return await self._backend.count(self.prefix)

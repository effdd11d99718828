"""Reads of one resource straight from the backend (apiserver pkg/storage/etcd3/store.go: Get, GetList, Count)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.meta import errors
from apiext.storage import change, continue_token, keys, list_plan, versioner
from apiext.storage.backend import CompactedError, FutureRevisionError
from apiext.storage.corrupt_objects import Corruption
from apiext.storage.interface import CorruptObjectError, KeyNotFoundError, ListResult
from apiext.storage.time_slice import Pace

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence

    from apiext.meta.gvk import GroupResource
    from apiext.storage.backend import Backend, KeyValue, RangeResult
    from apiext.storage.interface import Codec, Item
    from apiext.storage.list_plan import ListPlan
    from apiext.storage.rendering import Renderer, RenderResult, Stored

_PAGE_KEYS: Final = 1000  # objects
_MAX_PAGE_KEYS: Final = 10000  # objects
_LIST_EXPIRED: Final = "The resourceVersion for the provided list is too old."


class DirectReader:
    """Gets, lists and counts the objects of one resource; each call asks the backend."""

    def __init__(self, *, backend: Backend, renderer: Renderer, resource: GroupResource) -> None:
        self.resource = resource
        self.prefix = renderer.prefix
        self._backend = backend
        self._renderer = renderer

    async def get(self, key: str, codec: Codec, *, resource_version: str = "") -> Item:
        """Implement Store.get; always return the latest state."""
        minimum = versioner.parse(resource_version)
        pair, revision = await self._backend.get(self.prefix + key)
        versioner.require_not_older(minimum, revision)
        if pair is None:
            raise KeyNotFoundError(self.prefix + key, "key not found")
        relative, data, revision = self._open(pair)
        return await self._renderer.read_item(codec, relative, data, revision)

    def _open(self, pair: KeyValue) -> Stored:
        key = pair.key[len(self.prefix) :]
        return key, self._renderer.open(key, pair.value)[0], pair.revision

    async def list(self, plan: ListPlan, codec: Codec) -> ListResult:
        """Return the result of a planned list."""
        if keys.is_single(plan.scope):
            return await self._serve_one(plan, codec)
        unfiltered = change.is_everything(plan.selection)
        size, revision, start = plan.limit or _PAGE_KEYS, plan.exact, plan.start
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
            size = min(size * 2, _MAX_PAGE_KEYS) if plan.limit else size

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
        versioner.require_not_older(plan.minimum, result.revision)
        return result

    async def _collect(
        self, plan: ListPlan, codec: Codec, pairs: Sequence[KeyValue], items: MutableSequence[Item], corruption: Corruption
    ) -> bool:
        """Append the selected items; return False if the limit was reached before the last pair."""
        pace = Pace()
        shown = await self._converted(codec, pairs) if codec.conversion is not None else None
        for place, pair in enumerate(pairs):
            if plan.limit and len(items) >= plan.limit:
                return False
            if pace.due:
                await pace.pause()
            item = self._item(codec, pair) if shown is None else shown[place]
            if isinstance(item, CorruptObjectError):
                corruption.add(item)
            elif isinstance(item, errors.StatusError):
                raise item
            elif plan.selection.matches(item.labels, item.fields):
                items.append(item)
        return True

    def _item(self, codec: Codec, pair: KeyValue) -> RenderResult:
        try:
            return self._renderer.item(codec, *self._open(pair))
        except CorruptObjectError as error:
            return error

    async def _converted(self, codec: Codec, pairs: Sequence[KeyValue]) -> Sequence[RenderResult]:
        """Return the renderings of a page after one conversion, or the errors of objects in their places."""
        shown: dict[str, RenderResult] = {}
        opened: MutableSequence[Stored] = []
        for pair in pairs:
            try:
                opened.append(self._open(pair))
            except CorruptObjectError as error:
                shown[pair.key] = error
        for (key, _, _), item in zip(opened, await self._renderer.items(codec, opened), strict=True):
            shown[self.prefix + key] = item
        return [shown[pair.key] for pair in pairs]

    async def count(self) -> int:
        """Implement Store.count."""
        return await self._backend.count(self.prefix)

"""Reads of one resource straight from the backend (apiserver pkg/storage/etcd3/store.go: Get, GetList, Count)."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Generator, Iterable, MutableSequence, Sequence
from contextlib import aclosing, contextmanager
from typing import Final

from apiext.base.meta import errors
from apiext.base.meta.gvk import GroupResource
from apiext.base.scheduling.gradual_list import GradualList
from apiext.base.scheduling.time_slice import Pace
from apiext.storage import continue_token, keys, list_plan, versioner
from apiext.storage.backend import Backend, CompactedError, FutureRevisionError, KeyValue, RangeResult
from apiext.storage.corrupt_objects import Corruption
from apiext.storage.errors import CorruptObjectError, KeyNotFoundError
from apiext.storage.interface import Codec, Item, ListResult, RenderResult
from apiext.storage.list_plan import ListPlan
from apiext.storage.paged_reads import pages
from apiext.storage.rendering import interest, stored_entry
from apiext.storage.rendering.renderer import Renderer
from apiext.storage.rendering.stored_entry import StoredEntry
from apiext.storage.rendering.version_view import VersionView
from apiext.storage.store_times import STORE_TIMES, timed_read

_PAGE_KEYS: Final = 1000
"""Most keys of a page of a limited list."""
_LIST_EXPIRED: Final = "The resourceVersion for the provided list is too old."


class DirectReader:
    """Gets, lists and counts the objects of one resource. Each call asks the backend."""

    def __init__(self, *, backend: Backend, renderer: Renderer, resource: GroupResource) -> None:
        self.resource = resource
        self.prefix = renderer.prefix
        self._backend = backend
        self._renderer = renderer

    async def get(self, key: str, codec: Codec, *, resource_version: str = "") -> Item:
        """Implement Store.get; always return the latest state."""
        minimum = versioner.parse(resource_version)
        pair, revision = await self._backend.get(self.prefix + key)
        if minimum > revision:
            raise errors.too_large_resource_version(minimum, revision, 0)
        if pair is None:
            raise KeyNotFoundError(self.prefix + key, "key not found")
        return await VersionView(codec, self._renderer).shown(stored_entry.read(self._renderer, key, pair.value, pair.revision))

    async def list(self, plan: ListPlan, codec: Codec) -> ListResult:
        """Return the result of a planned list."""
        if keys.is_single(plan.scope):
            return await self._serve_one(plan, codec)
        items: GradualList[Item] = GradualList()
        corruption, revision, total, more = Corruption(self.resource), plan.exact, 0, False
        async with aclosing(self._pages(plan)) as found:
            async for result in found:
                revision = revision or result.revision
                total = total or result.count
                whole = await self._collect_timed(plan, codec, result.items, items, corruption)
                more = not whole or result.more
                if not whole or 0 < plan.limit <= len(items):
                    break
        corruption.check()
        unfiltered = interest.is_everything(plan.selection)
        return list_plan.page(plan, items, revision=revision, total=total, more=more, unfiltered=unfiltered)

    async def _pages(self, plan: ListPlan) -> AsyncGenerator[RangeResult]:
        """Yield the objects of a plan at one revision, in pages that are converted at once without a long pause."""
        prefix, start, revision = self.prefix + plan.scope, plan.start, plan.exact
        if not plan.limit:
            with _refusals(plan, start, revision):
                async with aclosing(pages(self._backend, prefix, start=prefix + start if start else "", revision=revision)) as found:
                    async for result in found:
                        _check_minimum(plan, result)
                        yield result
            return
        size = plan.limit
        while True:
            size = min(size, _PAGE_KEYS)
            result = await self._range(plan, start=start, revision=revision, limit=size)
            yield result
            if not result.more:
                return
            revision = revision or result.revision
            start = f"{result.items[-1].key[len(prefix) :]}\0"
            size *= 2

    async def _serve_one(self, plan: ListPlan, codec: Codec) -> ListResult:
        parent, _, name = plan.scope.rpartition("/")
        with timed_read():
            result = await self._range(plan, scope=f"{parent}/" if parent else "", start=name, revision=plan.exact, limit=1)
        corruption = Corruption(self.resource)
        items: list[Item] = []
        found = [pair for pair in result.items if pair.key == self.prefix + plan.scope]
        await self._collect_timed(plan, codec, found, items, corruption)
        corruption.check()
        return ListResult(items=items, revision=plan.exact or result.revision)

    async def _range(self, plan: ListPlan, *, start: str, revision: int, limit: int, scope: str | None = None) -> RangeResult:
        prefix = self.prefix + (plan.scope if scope is None else scope)
        begin = prefix + start if start else ""
        with _refusals(plan, start, revision):
            result = await self._backend.list(prefix, start=begin, revision=revision, limit=limit)
        _check_minimum(plan, result)
        return result

    async def _collect_timed(
        self, plan: ListPlan, codec: Codec, pairs: Sequence[KeyValue], items: MutableSequence[Item], corruption: Corruption
    ) -> bool:
        """Append the selected items as `_collect`, and measure that for the request."""
        times = STORE_TIMES.get()
        if times is None or not pairs:
            return await self._collect(plan, codec, pairs, items, corruption)
        begin = time.perf_counter()
        try:
            return await self._collect(plan, codec, pairs, items, corruption)
        finally:
            times.decoding += time.perf_counter() - begin

    async def _collect(
        self, plan: ListPlan, codec: Codec, pairs: Sequence[KeyValue], items: MutableSequence[Item], corruption: Corruption
    ) -> bool:
        """Append the selected items. Return False if they reach the limit before the last pair."""
        pace = Pace()
        view = VersionView(codec, self._renderer)
        # an inline view renders each entry when its turn comes
        entries = (stored_entry.read(self._renderer, pair.key[len(self.prefix) :], pair.value, pair.revision) for pair in pairs)
        shown: Iterable[StoredEntry | RenderResult] = entries if view.inline else await view.items(list(entries))
        item: RenderResult
        for each in shown:
            if plan.limit and len(items) >= plan.limit:
                return False
            await pace.checkpoint()
            try:
                if not isinstance(each, StoredEntry):
                    item = each
                elif view.is_ready(each):
                    item = view.render(each, each.revision)
                else:
                    (item,) = await view.items([each])
            except CorruptObjectError as error:
                item = error
            if isinstance(item, CorruptObjectError):
                corruption.add(item)
            elif isinstance(item, errors.StatusError):
                raise item
            elif plan.selection.matches(item):
                items.append(item)
        return True

    async def count(self) -> int:
        """Implement Store.count."""
        return await self._backend.count(self.prefix)


@contextmanager
def _refusals(plan: ListPlan, start: str, revision: int) -> Generator[None]:
    """Turn the refusals of a revision into the Status errors of a list that reads from a start key."""
    try:
        yield
    except CompactedError as error:
        if plan.paging:
            raise continue_token.ExpiredContinueError(start) from error
        raise errors.expired(_LIST_EXPIRED) from error
    except FutureRevisionError as error:
        raise errors.too_large_resource_version(revision, error.current, 0) from error


def _check_minimum(plan: ListPlan, result: RangeResult) -> None:
    if plan.minimum > result.revision:
        raise errors.too_large_resource_version(plan.minimum, result.revision, 0)

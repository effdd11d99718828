"""All items of a view in key order, updated by changes: a list is a slice."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from apiext.base.meta.objectmeta.sharding import UID
from apiext.base.meta.steps import Steps
from apiext.base.scheduling.tasks import SharedWork
from apiext.base.scheduling.time_slice import in_slices
from apiext.storage import keys
from apiext.storage.cacher.selector_indexes import SelectorIndexes
from apiext.storage.errors import CorruptObjectError
from apiext.storage.interface import Item, Selection
from apiext.storage.rendering.interest import selection_key
from apiext.storage.rendering.object_change import ObjectChange
from apiext.storage.rendering.stored_entry import StoredEntry
from apiext.storage.rendering.version_view import VersionView

_STEP: Final = 512
"""Items per step."""
_UNFILLED: Final = -1
"""The generation before the first fill."""
_LEAST_REMEMBERED: Final = 100
"""Least number of items of a page to remember; responses share the encoding of such pages."""
_MAX_REMEMBERED: Final = 1 << 18
"""Items of all remembered selections and pages, plus a tenth of the characters of their selectors."""

_What = tuple[str, str, str, str] | tuple[str, str, int]
"""A scope of keys, and the texts of selectors; or a scope, a start key, and a limit."""


class SortedView:
    """The sorted items of one view. Returned lists never change: each update makes a new list."""

    __slots__ = ("_generation", "_indexes", "_remembered", "_selections", "_view", "_work", "items")

    def __init__(self, view: VersionView) -> None:
        self._view = view
        self._generation = _UNFILLED
        self.items: list[Item] = []
        """The items as of the latest update."""
        self._indexes = SelectorIndexes()
        self._selections: dict[_What, Sequence[Item]] = {}
        self._remembered = 0
        self._work: SharedWork[Sequence[Item]] = SharedWork()

    def lag(self, generation: int) -> int | None:
        """Return the number of missing changes, None before the first fill."""
        return generation - self._generation if self._generation != _UNFILLED else None

    def fill(self, entries: Sequence[StoredEntry], generation: int) -> Steps[bool]:
        """Take all entries of a generation; return False if one is not rendered."""
        items: list[Item] = []
        for first in range(0, len(entries), _STEP):
            for entry in entries[first : first + _STEP]:
                item = entry.cached(self._view)
                if item is None:
                    return False
                items.append(item)
            yield
        self._indexes.clear()
        self._set(items, generation)
        return True

    def update(self, changes: Sequence[ObjectChange]) -> bool:
        """Apply the next changes; return False if one of them is not rendered and cannot be."""
        if not all(change.entry is None or self._view.is_ready(change.entry) for change in changes):
            return False
        items = self.items.copy()
        try:
            news = [self._view.item(change.entry) if change.entry is not None else None for change in changes]
        except CorruptObjectError:
            return False
        for change, new in zip(changes, news, strict=True):
            place = bisect_left(items, change.key, key=attrgetter("key"))
            old = items[place] if place < len(items) and items[place].key == change.key else None
            items[place : place + (old is not None)] = [new] if new is not None else []
            self._indexes.replace(old, new)
        self._set(items, self._generation + len(changes))
        return True

    def clear(self) -> None:
        """Release all items, as before the first fill."""
        self._indexes.clear()
        self._set([], _UNFILLED)

    def _set(self, items: list[Item], generation: int) -> None:
        self.items = items
        self._generation = generation
        self._selections.clear()
        self._remembered = 0

    async def prepare(self, selection: Selection) -> None:
        """Build an index for a selection if it is worth the cost. Items may change meanwhile."""
        subject = self._indexes.missing(selection, len(self.items))
        if subject is not None:
            await self._indexes.make(subject, self.items)

    def page(self, scope: str, start: str, limit: int) -> tuple[Sequence[Item], int]:
        """Return the items of a scope from a relative start key, at most `limit` (0: all), and their number without a limit.

        Until the next update, equal pages of many items are the same sequence object.
        """
        items = self.items
        here = place(items, scope, start)
        total = here.stop - here.start
        count = min(limit, total) if limit else total
        if count == len(items):
            return items, total
        what = (scope, start, limit)
        found = self._selections.get(what)
        if found is None:
            found = items[here.start : here.start + count]
            if count >= _LEAST_REMEMBERED:
                self._remember(what, found)
        return found, total

    async def selected(self, scope: str, selection: Selection) -> Sequence[Item]:
        """Return the selected items of a scope at the time of the call. Equal concurrent selections share the work."""
        candidates = self._indexes.candidates(selection)
        if candidates is not None and selection.size == 1:
            return between(candidates, scope)
        items = between(self.items if candidates is None else candidates, scope)
        if len(items) <= _STEP:
            return _selected(items, selection)
        what = (scope, *selection_key(selection))
        found = self._selections.get(what)
        if found is None:
            generation = self._generation
            found = await self._work.run((generation, what), lambda: in_slices(select(items, selection)))
            if generation == self._generation and what not in self._selections:
                self._remember(what, found)
        return found

    def _remember(self, what: _What, found: Sequence[Item]) -> None:
        self._selections[what] = found
        self._remembered += _cost(what, found)
        while self._remembered > _MAX_REMEMBERED:
            oldest = next(iter(self._selections))
            self._remembered -= _cost(oldest, self._selections.pop(oldest))


def place(items: Sequence[Item], scope: str, start: str = "") -> slice:
    """Return the range of a scope in sorted items, from a relative start key."""
    first = bisect_left(items, scope + start, key=attrgetter("key")) if scope or start else 0
    end = bisect_left(items, keys.prefix_end(scope), lo=first, key=attrgetter("key")) if scope else len(items)
    return slice(first, end)


def between(items: Sequence[Item], scope: str, start: str = "") -> Sequence[Item]:
    """Return the items of a scope, from a relative start key."""
    return items[place(items, scope, start)] if scope or start else items


def select(items: Sequence[Item], selection: Selection) -> Steps[Sequence[Item]]:
    """Return the selected items."""
    found: list[Item] = []
    for first in range(0, len(items), _STEP):
        found += _selected(items[first : first + _STEP], selection)
        yield
    return found


def _selected(items: Sequence[Item], selection: Selection) -> list[Item]:
    shard = selection.shard
    if shard is None or shard.field != UID or selection.size > 1 or len(shard.ranges) > 1:
        return [item for item in items if selection.matches(item)]
    # fast path: each of several informers lists its share
    ((first, end),) = shard.ranges
    return [item for item in items if first <= (item.uid_hash or item.shard_hash(shard)) < end]


def _cost(what: _What, found: Sequence[Item]) -> int:
    return len(found) + sum(len(text) for text in what if isinstance(text, str)) // 10

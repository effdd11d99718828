"""All items of a view in the order of keys, updated by changes: a list is a slice."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from apiext.storage.cacher.selector_index import FieldIndex, Index, LabelIndex, item_key
from apiext.storage.interface import CorruptObjectError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.storage.change import Change
    from apiext.storage.entry import Entry
    from apiext.storage.interface import Item
    from apiext.storage.view import View

_MAX_CACHED_SELECTIONS: Final = 64  # entries
_MAX_INDEXES: Final = 4
"""Maximum number of indexes; every change updates each of them."""


class SortedView:
    """The sorted items of one view. Returned lists never change: each update makes a new list."""

    __slots__ = ("_generation", "_indexes", "_items", "_selections", "_view")

    def __init__(self, view: View) -> None:
        self._view = view
        self._generation = -1
        self._items: list[Item] = []
        self._selections: dict[tuple[str, str, str, str], Sequence[Item]] = {}
        self._indexes: dict[tuple[type[Index], str], Index] = {}

    def lag(self, generation: int) -> int | None:
        """Return the number of changes to catch up; None before the first fill."""
        return generation - self._generation if self._generation >= 0 else None

    @property
    def items(self) -> Sequence[Item]:
        """Return the items as of the latest update."""
        return self._items

    def fill(self, entries: Sequence[Entry], generation: int) -> bool:
        """Take all entries; return False if one is not rendered."""
        ready = [entry.cached(self._view) for entry in entries]
        if None in ready:
            return False
        self._indexes.clear()
        self._set(ready, generation)  # type: ignore[arg-type]
        return True

    def update(self, changes: Sequence[Change], generation: int) -> bool:
        """Apply the latest changes; return False if one of them is not rendered and cannot be."""
        if not self._view.inline and any(change.entry is not None and change.entry.cached(self._view) is None for change in changes):
            return False
        items = self._items.copy()
        try:
            news = [change.entry.item(self._view) if change.entry is not None else None for change in changes]
        except CorruptObjectError:
            return False
        for change, new in zip(changes, news, strict=True):
            place = bisect_left(items, change.key, key=item_key)
            old = items[place] if place < len(items) and items[place].key == change.key else None
            items[place : place + (old is not None)] = [new] if new is not None else []
            for index in self._indexes.values():
                index.replace(old, new)
        self._set(items, generation)
        return True

    def _set(self, items: list[Item], generation: int) -> None:
        self._items = items
        self._generation = generation
        self._selections.clear()

    def cached_selection(self, what: tuple[str, str, str, str]) -> Sequence[Item] | None:
        """Return a cached selection of the current items."""
        return self._selections.get(what)

    def cache_selection(self, what: tuple[str, str, str, str], items: Sequence[Item]) -> None:
        """Cache a selection of the current items."""
        if len(self._selections) < _MAX_CACHED_SELECTIONS:
            self._selections[what] = items

    def with_label(self, label: str, value: str) -> Sequence[Item]:
        """Return the items with a value of a label; the first call for a label indexes it."""
        return self._index(LabelIndex, label).items(value)

    def with_field(self, field: str, value: str) -> Sequence[Item]:
        """Return the items with a value of a selectable field; the first call for a field indexes it."""
        return self._index(FieldIndex, field).items(value)

    def _index(self, kind: type[Index], name: str) -> Index:
        index = self._indexes.get((kind, name))
        if index is None:
            if len(self._indexes) >= _MAX_INDEXES:
                self._indexes.clear()
            index = self._indexes[kind, name] = kind(name, self._items)
        return index

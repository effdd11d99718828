"""All items of a view in the order of keys, updated by changes: a list is a slice."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final

from apiext.storage.cacher.selector_index import SelectorIndex
from apiext.storage.change import Change
from apiext.storage.entry import Entry
from apiext.storage.interface import CorruptObjectError, Item
from apiext.storage.view import View

_MAX_CACHED_SELECTIONS: Final = 64
_MAX_INDEXES: Final = 4
"""Maximum number of indexes; every change updates each of them."""


class SortedView:
    """The sorted items of one view. Returned lists never change: each update makes a new list."""

    __slots__ = ("_generation", "_indexes", "_selections", "_view", "items")

    def __init__(self, view: View) -> None:
        self._view = view
        self._generation = -1
        self.items: list[Item] = []
        """The items as of the latest update."""
        self._selections: dict[tuple[str, str, str, str], Sequence[Item]] = {}
        self._indexes: dict[tuple[str, str], SelectorIndex] = {}

    def lag(self, generation: int) -> int | None:
        """Return the number of changes to catch up; None before the first fill."""
        return generation - self._generation if self._generation >= 0 else None

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
        items = self.items.copy()
        try:
            news = [self._view.item(change.entry) if change.entry is not None else None for change in changes]
        except CorruptObjectError:
            return False
        for change, new in zip(changes, news, strict=True):
            place = bisect_left(items, change.key, key=attrgetter("key"))
            old = items[place] if place < len(items) and items[place].key == change.key else None
            items[place : place + (old is not None)] = [new] if new is not None else []
            for index in self._indexes.values():
                index.replace(old, new)
        self._set(items, generation)
        return True

    def _set(self, items: list[Item], generation: int) -> None:
        self.items = items
        self._generation = generation
        self._selections.clear()

    def selection(self, what: tuple[str, str, str, str], select: Callable[[], Sequence[Item]]) -> Sequence[Item]:
        """Return a selection of the current items, made once if the cache has room."""
        selected = self._selections.get(what)
        if selected is None:
            selected = select()
            if len(self._selections) < _MAX_CACHED_SELECTIONS:
                self._selections[what] = selected
        return selected

    def with_label(self, label: str, value: str) -> Sequence[Item]:
        """Return the items with a value of a label; the first call for a label indexes it."""
        return self._index(("label", label), lambda item: item.labels.get(label)).items(value)

    def with_field(self, field: str, value: str) -> Sequence[Item]:
        """Return the items with a value of a selectable field, absent ones as empty; the first call for a field indexes it."""
        return self._index(("field", field), lambda item: item.fields.get(field, "")).items(value)

    def _index(self, selector: tuple[str, str], value_of: Callable[[Item], str | None]) -> SelectorIndex:
        index = self._indexes.get(selector)
        if index is None:
            if len(self._indexes) >= _MAX_INDEXES:
                self._indexes.clear()
            index = self._indexes[selector] = SelectorIndex(value_of, self.items)
        return index

"""All items of a view in the order of their keys, kept up to date by the changes, so that a list is a slice."""

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

_MAX_SELECTIONS: Final = 64
_MAX_INDEXES: Final = 4
"""Labels and fields that an index is kept for: each has to be kept up to date with every change."""


class Shelf:
    """One for each view of a cache. Lists that were handed out never change: a newer state is a new list."""

    __slots__ = ("_generation", "_indexes", "_items", "_selections", "_view")

    def __init__(self, view: View) -> None:
        self._view = view
        self._generation = -1
        self._items: list[Item] = []
        self._selections: dict[tuple[str, str, str, str], Sequence[Item]] = {}
        self._indexes: dict[tuple[type[Index], str], Index] = {}

    def behind(self, generation: int) -> int | None:
        """How many changes it has not seen; None before it was first filled."""
        return generation - self._generation if self._generation >= 0 else None

    @property
    def items(self) -> Sequence[Item]:
        """The items as of the latest update."""
        return self._items

    def fill(self, entries: Sequence[Entry], generation: int) -> bool:
        """Take all entries, if all of them have been rendered."""
        ready = [entry.ready(self._view) for entry in entries]
        if None in ready:
            return False
        self._indexes.clear()
        self._set(ready, generation)  # type: ignore[arg-type]
        return True

    def update(self, changes: Sequence[Change], generation: int) -> bool:
        """Take the changes since; False when one of them cannot be shown."""
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

    def selected(self, what: tuple[str, str, str, str]) -> Sequence[Item] | None:
        """What somebody else has selected already, from the present items."""
        return self._selections.get(what)

    def remember(self, what: tuple[str, str, str, str], items: Sequence[Item]) -> None:
        """Keep a selection for others who ask the same."""
        if len(self._selections) < _MAX_SELECTIONS:
            self._selections[what] = items

    def labelled(self, label: str, value: str) -> Sequence[Item]:
        """The present items with a label of a value; the first to ask for a label has all its values looked up."""
        return self._index(LabelIndex, label).items(value)

    def with_field(self, field: str, value: str) -> Sequence[Item]:
        """The present items whose selectable field has a value, likewise."""
        return self._index(FieldIndex, field).items(value)

    def _index(self, kind: type[Index], name: str) -> Index:
        index = self._indexes.get((kind, name))
        if index is None:
            if len(self._indexes) >= _MAX_INDEXES:
                self._indexes.clear()
            index = self._indexes[kind, name] = kind(name, self._items)
        return index

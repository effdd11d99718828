"""Indexes of items by the value of a label or a selectable field."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from apiext.storage.interface import Item


class Index(ABC):
    """Items by value, in the order of keys. Returned lists never change."""

    __slots__ = ("_name", "_values")

    def __init__(self, name: str, items: Iterable[Item]) -> None:
        self._name = name
        self._values: dict[str, list[Item]] = {}
        for item in items:
            value = self._value(item)
            if value is not None:
                self._values.setdefault(value, []).append(item)

    @abstractmethod
    def _value(self, item: Item) -> str | None:
        """Return the indexed value of an item; None if it is not in the index."""

    def items(self, value: str) -> Sequence[Item]:
        """Return the items with a value."""
        return self._values.get(value, ())

    def replace(self, old: Item | None, new: Item | None) -> None:
        """Apply a change of one item (None: absent)."""
        before = self._value(old) if old is not None else None
        after = self._value(new) if new is not None else None
        if old is not None and before is not None and before != after:
            self._put(before, old.key, [])
        if new is not None and after is not None:
            self._put(after, new.key, [new])

    def _put(self, value: str, key: str, new: list[Item]) -> None:
        items = self._values.get(value, [])
        place = bisect_left(items, key, key=item_key)
        known = place < len(items) and items[place].key == key
        items = [*items[:place], *new, *items[place + known :]]
        if items:
            self._values[value] = items
        else:
            self._values.pop(value, None)


class LabelIndex(Index):
    """Items with a label, by its value."""

    __slots__ = ()

    def _value(self, item: Item) -> str | None:
        return item.labels.get(self._name)


class FieldIndex(Index):
    """All items by a selectable field; an absent field counts as empty."""

    __slots__ = ()

    def _value(self, item: Item) -> str | None:
        return item.fields.get(self._name, "")


def item_key(item: Item) -> str:
    """Return the sort key of an item."""
    return item.key

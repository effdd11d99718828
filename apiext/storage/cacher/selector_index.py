"""Indexes of items by the value of a label or a selectable field."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter

from apiext.storage.interface import Item


class SelectorIndex:
    """Items by a value, in the order of keys. Returned lists never change.

    `value_of` returns the value of an item, None for an item that is not in the index.
    """

    __slots__ = ("_value_of", "_values")

    def __init__(self, value_of: Callable[[Item], str | None], items: Iterable[Item]) -> None:
        self._value_of = value_of
        self._values: dict[str, list[Item]] = {}
        for item in items:
            value = value_of(item)
            if value is not None:
                self._values.setdefault(value, []).append(item)

    def items(self, value: str) -> Sequence[Item]:
        """Return the items with a value."""
        return self._values.get(value, ())

    def replace(self, old: Item | None, new: Item | None) -> None:
        """Apply a change of one item (None: absent)."""
        before = self._value_of(old) if old is not None else None
        after = self._value_of(new) if new is not None else None
        if old is not None and before is not None and before != after:
            self._put(before, old.key, [])
        if new is not None and after is not None:
            self._put(after, new.key, [new])

    def _put(self, value: str, key: str, new: list[Item]) -> None:
        items = self._values.get(value, [])
        place = bisect_left(items, key, key=attrgetter("key"))
        known = place < len(items) and items[place].key == key
        items = [*items[:place], *new, *items[place + known :]]
        if items:
            self._values[value] = items
        else:
            self._values.pop(value, None)

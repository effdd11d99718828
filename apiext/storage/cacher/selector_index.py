"""Indexes of items by the value of a label or a selectable field."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from operator import attrgetter
from typing import Final

from apiext.meta.steps import Steps
from apiext.storage.interface import Item

_STEP: Final = 512
"""Items indexed in one step."""
_MAX_MERGED: Final = 512
"""Items with different values to merge for one selection. With more, visiting all items is as fast."""


class SelectorIndex:
    """Items by a value, in key order. Returned lists never change.

    `value_of` returns the value of an item, None for an item without one.
    """

    __slots__ = ("_returned", "_value_of", "_values")

    def __init__(self, value_of: Callable[[Item], str | None]) -> None:
        self._value_of = value_of
        self._values: dict[str, list[Item]] = {}
        self._returned: set[str] = set()
        """Values with a returned list: a change copies such a list."""

    def fill(self, items: Sequence[Item]) -> Steps[None]:
        """Add sorted items to the empty index."""
        values, value_of = self._values, self._value_of
        for first in range(0, len(items), _STEP):
            for item in items[first : first + _STEP]:
                value = value_of(item)
                if value is not None:
                    values.setdefault(value, []).append(item)
            yield

    def items(self, wanted: Collection[str]) -> Sequence[Item] | None:
        """Return the items with one of the values, None if several values have too many items to merge."""
        values = self._values.keys() & wanted
        if len(values) == 1:
            self._returned |= values
            return self._values[values.pop()]
        if sum(len(self._values[value]) for value in values) > _MAX_MERGED:
            return None
        return sorted((item for value in values for item in self._values[value]), key=attrgetter("key"))

    def replace(self, old: Item | None, new: Item | None) -> None:
        """Apply a change of one item (None: absent)."""
        before = self._value_of(old) if old is not None else None
        after = self._value_of(new) if new is not None else None
        if old is not None and before is not None and before != after:
            self._put(before, old.key, [])
        if new is not None and after is not None:
            self._put(after, new.key, [new])

    def _put(self, value: str, key: str, new: list[Item]) -> None:
        items = self._values.setdefault(value, [])
        if value in self._returned:
            self._returned.discard(value)
            items = self._values[value] = items.copy()
        place = bisect_left(items, key, key=attrgetter("key"))
        known = place < len(items) and items[place].key == key
        items[place : place + known] = new
        if not items:
            del self._values[value]

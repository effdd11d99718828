"""Indexes of a sorted view: built at first use, limited in number, updated by changes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import chain, islice
from operator import attrgetter
from typing import Final

from apiext.base.meta.steps import Steps
from apiext.base.scheduling.tasks import SharedWork
from apiext.base.scheduling.time_slice import in_slices
from apiext.storage.interface import Item, Selection

_MAX_INDEXES: Final = 4
"""Maximum number of indexes. Every change updates each of them."""
_MAX_REQUIREMENTS: Final = 16
"""Requirements of a selector to look up in the indexes."""
FEW_ITEMS: Final = 32
"""Items that need no index."""
_MANY: Final = 512
"""Items from an index that justify a second one, which may have fewer."""

_Subject = tuple[str, str]
"""`label` or `field`, and its name."""

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


class SelectorIndexes:
    """Indexes by labels and selectable fields."""

    __slots__ = ("_indexes", "_late", "_work")

    def __init__(self) -> None:
        self._indexes: dict[_Subject, SelectorIndex] = {}
        """The indexes, the least recently used one first."""
        self._late: dict[_Subject, list[tuple[Item | None, Item | None]]] = {}
        """The changes since each unfinished index was begun."""
        self._work: SharedWork[None] = SharedWork()

    def candidates(self, selection: Selection) -> Sequence[Item] | None:
        """Return the smallest list with all selected items, None without an index. The list never changes."""
        best: Sequence[Item] | None = None
        for subject, values in _indexable(selection):
            index = self._indexes.get(subject)
            if index is None:
                continue
            self._indexes[subject] = self._indexes.pop(subject)
            found = index.items(values)
            if found is not None and (best is None or len(found) < len(best)):
                best = found
        return best

    def missing(self, selection: Selection, size: int) -> _Subject | None:
        """Return the label or field to index for a selection among `size` items, None if no index is worth it."""
        if size <= FEW_ITEMS:
            return None
        candidates = self.candidates(selection)
        if candidates is not None and (len(candidates) <= _MANY or len(self._indexes) >= _MAX_INDEXES):
            return None
        return next((subject for subject, _ in _indexable(selection) if subject not in self._indexes), None)

    async def make(self, subject: _Subject, items: Sequence[Item]) -> None:
        """Build an index of the current items. `replace` updates it meanwhile. Concurrent callers share the work."""
        await self._work.run(subject, lambda: self._make(subject, items))

    async def _make(self, subject: _Subject, items: Sequence[Item]) -> None:
        kind, name = subject
        index = SelectorIndex(partial(_label if kind == "label" else _field, name))
        late = self._late[subject] = []
        try:
            await in_slices(index.fill(items))
            if self._late.get(subject) is late:
                for old, new in late:
                    index.replace(old, new)
                if len(self._indexes) >= _MAX_INDEXES:
                    del self._indexes[next(iter(self._indexes))]
                self._indexes[subject] = index
        finally:
            if self._late.get(subject) is late:
                del self._late[subject]

    def replace(self, old: Item | None, new: Item | None) -> None:
        """Apply a change of one item (None: absent)."""
        for index in self._indexes.values():
            index.replace(old, new)
        for late in self._late.values():
            late.append((old, new))

    def clear(self) -> None:
        """Drop all indexes, also unfinished ones."""
        self._indexes.clear()
        self._late.clear()


def _indexable(selection: Selection) -> Sequence[tuple[_Subject, Collection[str]]]:
    """Return the first requirements with a known set of values, by label or field."""
    labels = selection.labels.required.items() if selection.labels is not None else ()
    fields = selection.fields.required.items() if selection.fields is not None else ()
    found = chain(
        ((("field", name), (value,)) for name, value in fields if not name.startswith("metadata.")),
        ((("label", name), values) for name, values in labels if values is not None),
    )
    return list(islice(found, _MAX_REQUIREMENTS))


def _label(name: str, item: Item) -> str | None:
    return item.labels.get(name)


def _field(name: str, item: Item) -> str:
    """Return the value of a selectable field, empty if absent."""
    return item.fields.get(name, "")

"""Indexes of a sorted view: built at first use, limited in number, updated by changes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from itertools import chain, islice
from typing import Final

from apiext.scheduling.tasks import SharedWork
from apiext.scheduling.time_slice import in_slices
from apiext.storage.cacher.selector_index import SelectorIndex
from apiext.storage.interface import Item, Selection

_MAX_INDEXES: Final = 4
"""Maximum number of indexes. Every change updates each of them."""
_MAX_REQUIREMENTS: Final = 16
"""Requirements of a selector to look up in the indexes."""
_FEW: Final = 32
"""Items that need no index."""
_MANY: Final = 512
"""Items from an index that justify a second one, which may have fewer."""

_Subject = tuple[str, str]
"""`label` or `field`, and its name."""


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
        if size <= _FEW:
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

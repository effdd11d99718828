"""Watchers of one scope in groups with equal interests, indexed by the value of a selected field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from apiext.storage import rendering
from apiext.storage.change import Change, Interest, equal_field
from apiext.storage.view import View
from apiext.storage.watch_queue import WatchQueue


@dataclass(slots=True, eq=False)
class WatcherGroup:
    """Watchers with equal interests; their batches are rendered once and shared."""

    interest: Interest
    watchers: dict[WatchQueue[Any], None] = field(default_factory=dict)


_Index = tuple[View, str] | None
"""A view and a selectable field; None for interests that are matched with every change."""


class WatcherGroups:
    """The groups of one scope. A change is matched only with the groups of its field values."""

    __slots__ = ("_indexes",)

    def __init__(self) -> None:
        self._indexes: dict[_Index, dict[str, dict[object, WatcherGroup]]] = {}
        """Groups by the identity of their interest, by the value of the field, by index. No member is empty."""

    def __bool__(self) -> bool:
        return bool(self._indexes)

    def __iter__(self) -> Iterator[WatcherGroup]:
        """Yield all groups."""
        for values in tuple(self._indexes.values()):
            for groups in tuple(values.values()):
                yield from tuple(groups.values())

    def join(self, watch: WatchQueue[Any], interest: Interest) -> None:
        """Add a watcher to the group of its interest."""
        index, value = _place(interest)
        groups = self._indexes.setdefault(index, {}).setdefault(value, {})
        groups.setdefault(interest.identity, WatcherGroup(interest)).watchers[watch] = None

    def leave(self, watch: WatchQueue[Any], interest: Interest) -> bool:
        """Remove a watcher; return whether it was present."""
        index, value = _place(interest)
        values = self._indexes.get(index, {})
        groups = values.get(value, {})
        group = groups.get(interest.identity)
        if group is None or watch not in group.watchers:
            return False
        del group.watchers[watch]
        if not group.watchers:
            del groups[interest.identity]
        if not groups:
            del values[value]
        if not values:
            del self._indexes[index]
        return True

    def matching(self, change: Change) -> list[WatcherGroup]:
        """Return the groups that a change may concern."""
        found: list[WatcherGroup] = []
        for index, values in self._indexes.items():
            wanted = values if index is None else _values(*index, change, values)
            for value in wanted:
                if value in values:
                    found += values[value].values()
        return found


def _place(interest: Interest) -> tuple[_Index, str]:
    """Return the index and the value of an interest; no index where fields are known only after a conversion."""
    found = equal_field(interest.selection) if interest.view.inline else None
    return ((interest.view, found[0]), found[1]) if found is not None else (None, "")


def _values(view: View, name: str, change: Change, every: Iterable[str]) -> Iterable[str]:
    """Return the values of a field before and after a change; every value if the object cannot be decoded: all must fail with the error."""
    try:
        return {view.item(entry).fields.get(name, "") for entry in (change.entry, change.previous) if entry is not None}
    except rendering.RENDERING_ERRORS:
        return every

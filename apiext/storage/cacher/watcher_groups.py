"""Watchers of one scope in groups with equal interests, indexed by the value of a selected field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.storage import rendering
from apiext.storage.change import equal_field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.storage.change import Change, Interest
    from apiext.storage.view import View
    from apiext.storage.watch_queue import WatchQueue


class WatcherGroup:
    """Watchers with equal interests; their batches are rendered once and shared."""

    __slots__ = ("interest", "watchers")

    def __init__(self, interest: Interest) -> None:
        self.interest = interest
        self.watchers: dict[WatchQueue[Any], None] = {}


_ByIdentity = dict[object, WatcherGroup]


class WatcherGroups:
    """The groups of one scope. A change is matched only with the groups of its field values."""

    __slots__ = ("_by_field", "_others")

    def __init__(self) -> None:
        self._others: _ByIdentity = {}
        self._by_field: dict[tuple[View, str], dict[str, _ByIdentity]] = {}

    def __bool__(self) -> bool:
        return bool(self._others or self._by_field)

    def __iter__(self) -> Iterator[WatcherGroup]:
        """Yield all groups."""
        yield from tuple(self._others.values())
        for values in tuple(self._by_field.values()):
            for groups in tuple(values.values()):
                yield from tuple(groups.values())

    def join(self, watch: WatchQueue[Any], interest: Interest) -> None:
        """Add a watcher to the group of its interest."""
        groups, field = self._others, _indexed_field(interest)
        if field is not None:
            name, value = field
            groups = self._by_field.setdefault((interest.view, name), {}).setdefault(value, {})
        groups.setdefault(interest.identity, WatcherGroup(interest)).watchers[watch] = None

    def group(self, interest: Interest) -> WatcherGroup | None:
        """Return the group of an interest, or None."""
        return self._groups_of(interest).get(interest.identity)

    def _groups_of(self, interest: Interest) -> _ByIdentity:
        """Return the groups among which that of an interest belongs."""
        field = _indexed_field(interest)
        if field is None:
            return self._others
        name, value = field
        return self._by_field.get((interest.view, name), {}).get(value, {})

    def leave(self, watch: WatchQueue[Any], interest: Interest) -> bool:
        """Remove a watcher; return whether it was present."""
        groups = self._groups_of(interest)
        group = groups.get(interest.identity)
        if group is None or watch not in group.watchers:
            return False
        del group.watchers[watch]
        if not group.watchers:
            del groups[interest.identity]
            self._drop_empty(interest)
        return True

    def _drop_empty(self, interest: Interest) -> None:
        """Drop empty values and fields of the index."""
        field = _indexed_field(interest)
        if field is None:
            return
        name, value = field
        values = self._by_field[interest.view, name]
        if not values[value]:
            del values[value]
        if not values:
            del self._by_field[interest.view, name]

    def matching(self, change: Change) -> list[WatcherGroup]:
        """Return the groups that a change may concern."""
        found = list(self._others.values())
        for (view, name), values in self._by_field.items():
            for groups in self._with_values(view, name, values, change):
                found += groups.values()
        return found

    @staticmethod
    def _with_values(view: View, name: str, values: dict[str, _ByIdentity], change: Change) -> list[_ByIdentity]:
        try:
            has = {entry.item(view).fields.get(name, "") for entry in (change.entry, change.previous) if entry is not None}
        except rendering.RENDERING_ERRORS:
            # all of them must fail with the error
            return list(values.values())
        return [values[value] for value in has if value in values]


def _indexed_field(interest: Interest) -> tuple[str, str] | None:
    """Return the field and value that an interest is indexed by; None where fields are known only after a conversion."""
    return equal_field(interest.selection) if interest.view.inline else None

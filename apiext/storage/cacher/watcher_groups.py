"""Watchers of one scope, in groups that want the same; those that ask for a value of a field are found by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.storage import rendering
from apiext.storage.change import equal_field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.storage.change import Change, Interest
    from apiext.storage.view import View
    from apiext.storage.watch_queue import WatchQueue


class Group:
    """Watchers that want the same: their batches are made once and shared."""

    __slots__ = ("interest", "watchers")

    def __init__(self, interest: Interest) -> None:
        self.interest = interest
        self.watchers: dict[WatchQueue, None] = {}


_ByIdentity = dict[object, Group]


class Groups:
    """The groups of one scope. Many that each want another value of a field cost a change no more than one."""

    __slots__ = ("_by_field", "_others")

    def __init__(self) -> None:
        self._others: _ByIdentity = {}
        self._by_field: dict[tuple[View, str], dict[str, _ByIdentity]] = {}

    def __bool__(self) -> bool:
        return bool(self._others or self._by_field)

    def __iter__(self) -> Iterator[Group]:
        """All of them."""
        yield from tuple(self._others.values())
        for values in tuple(self._by_field.values()):
            for groups in tuple(values.values()):
                yield from tuple(groups.values())

    def join(self, watch: WatchQueue, interest: Interest) -> None:
        """Add a watcher to the group of those who want the same."""
        groups, field = self._others, equal_field(interest.selection)
        if field is not None:
            name, value = field
            groups = self._by_field.setdefault((interest.view, name), {}).setdefault(value, {})
        groups.setdefault(interest.identity, Group(interest)).watchers[watch] = None

    def group(self, interest: Interest) -> Group | None:
        """The group of those who want something, if there is any."""
        return self._same(interest).get(interest.identity)

    def _same(self, interest: Interest) -> _ByIdentity:
        """Where the group of an interest stands, if it does."""
        field = equal_field(interest.selection)
        if field is None:
            return self._others
        name, value = field
        return self._by_field.get((interest.view, name), {}).get(value, {})

    def leave(self, watch: WatchQueue, interest: Interest) -> bool:
        """Take a watcher out; whether it was there."""
        groups = self._same(interest)
        group = groups.get(interest.identity)
        if group is None or watch not in group.watchers:
            return False
        del group.watchers[watch]
        if not group.watchers:
            del groups[interest.identity]
            self._tidy(interest)
        return True

    def _tidy(self, interest: Interest) -> None:
        """Forget a value that nobody asks for any more, and a field without values."""
        field = equal_field(interest.selection)
        if field is None:
            return
        name, value = field
        values = self._by_field[interest.view, name]
        if not values[value]:
            del values[value]
        if not values:
            del self._by_field[interest.view, name]

    def concerned(self, change: Change) -> list[Group]:
        """Those that a change may mean something to."""
        found = list(self._others.values())
        for (view, name), values in self._by_field.items():
            for groups in self._with_values(view, name, values, change):
                found += groups.values()
        return found

    @staticmethod
    def _with_values(view: View, name: str, values: dict[str, _ByIdentity], change: Change) -> list[_ByIdentity]:
        try:
            has = {entry.item(view).fields.get(name, "") for entry in (change.entry, change.previous) if entry is not None}
        except rendering.UNSHOWABLE:
            # each of them is to be told why it sees no more
            return list(values.values())
        return [values[value] for value in has if value in values]

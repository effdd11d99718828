"""Groups the watchers of one scope by equal interests, indexed by a required label or field, or by their shards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from apiext.base.meta.objectmeta.sharding import ShardSelector
from apiext.storage.errors import RENDERING_ERRORS
from apiext.storage.interface import Item
from apiext.storage.rendering.interest import Interest, ShardStats, equal_field
from apiext.storage.rendering.object_change import ObjectChange
from apiext.storage.rendering.version_view import VersionView
from apiext.storage.rendering.watch_queue import WatchQueue


@dataclass(slots=True, eq=False)
class WatcherGroup:
    """Watchers with equal interests. They share batches, which are rendered once."""

    interest: Interest
    watchers: dict[WatchQueue[Any], int] = field(default_factory=dict)
    """Each watcher, with the number of the last batch before it joined (`Sender.number`)."""

    def joined_before(self, number: int) -> list[WatchQueue[Any]]:
        """Return the watchers that joined before the batch with a number."""
        return [watch for watch, joined in self.watchers.items() if joined < number]


_Name = str | ShardSelector
_Place = tuple[VersionView | None, str, _Name, str | None]
"""A view, `label` or `field`, its name, and its value; None for a label of any value. Or a view, `shard`, and the selector. No view for
interests without such a requirement."""
_EVERY_CHANGE: Final[_Place] = (None, "", "", None)
_Names = Mapping[_Name, Mapping[str | None, Mapping[object, WatcherGroup]]]
"""Groups by name, by value, by the identity of their interest."""
_MAX_REQUIREMENTS: Final = 16
"""Labels of a selector to search for one with a single value."""


class WatcherGroups:
    """The groups of one scope. Matches a change only with groups that may select its object's labels and field values."""

    __slots__ = ("_indexes", "_stats")

    def __init__(self, stats: ShardStats) -> None:
        """Begin without watchers. Note in `stats` what shard selectors keep from them."""
        self._stats = stats
        self._indexes: dict[tuple[VersionView | None, str], dict[_Name, dict[str | None, dict[object, WatcherGroup]]]] = {}
        """Groups by view and kind of their place, by name, by value, by the identity of their interest. No member is empty."""

    def __bool__(self) -> bool:
        return bool(self._indexes)

    def __iter__(self) -> Iterator[WatcherGroup]:
        """Yield all groups."""
        for names in tuple(self._indexes.values()):
            for values in tuple(names.values()):
                for groups in tuple(values.values()):
                    yield from tuple(groups.values())

    def join(self, watch: WatchQueue[Any], interest: Interest, number: int) -> None:
        """Add a watcher to the group of its interest, after the batch with a number."""
        view, kind, name, value = _place(interest)
        groups = self._indexes.setdefault((view, kind), {}).setdefault(name, {}).setdefault(value, {})
        groups.setdefault(interest.identity, WatcherGroup(interest)).watchers[watch] = number

    def leave(self, watch: WatchQueue[Any], interest: Interest) -> bool:
        """Remove a watcher. Return whether it was present."""
        view, kind, name, value = _place(interest)
        names = self._indexes.get((view, kind), {})
        values = names.get(name, {})
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
            del names[name]
        if not names:
            del self._indexes[view, kind]
        return True

    def matching(self, change: ObjectChange) -> list[WatcherGroup]:
        """Return the groups that a change may concern."""
        found: list[WatcherGroup] = []
        for (view, kind), names in self._indexes.items():
            for name, value in self._shards(view, change, names) if kind == "shard" else _values(view, kind, change, names):
                groups = names[name].get(value)
                if groups is not None:
                    found += groups.values()
        return found

    def _shards(self, view: VersionView | None, change: ObjectChange, names: _Names) -> Iterable[tuple[_Name, str | None]]:
        """Return the shard selectors that include the object; all if it cannot be decoded: all must fail."""
        try:
            items = _items(view, change)
        except RENDERING_ERRORS:
            return [(shard, None) for shard in names]
        found: dict[tuple[_Name, str | None], None] = {}
        for item in items:
            for shard, values in names.items():
                if isinstance(shard, ShardSelector) and not shard.contains(item.shard_hash(shard)):
                    self._stats.filtered += sum(len(group.watchers) for groups in values.values() for group in groups.values())
                else:
                    found[shard, None] = None
        return found


def _place(interest: Interest) -> _Place:
    """Return the requirement that indexes an interest, if its fields are known before a conversion."""
    if not interest.view.inline:
        return _EVERY_CHANGE
    shard = interest.selection.shard
    if shard is not None:
        return interest.view, "shard", shard, None
    field = equal_field(interest.selection)
    if field is not None:
        return interest.view, "field", *field
    labels = interest.selection.labels
    required = list(islice(labels.required.items(), _MAX_REQUIREMENTS)) if labels is not None else []
    for name, values in required:
        if values is not None and len(values) == 1:
            return interest.view, "label", name, next(iter(values))
    if required:
        return interest.view, "label", required[0][0], None
    return _EVERY_CHANGE


def _items(view: VersionView | None, change: ObjectChange) -> list[Item]:
    """Return the object before and after a change. Raise one of RENDERING_ERRORS if it cannot be decoded."""
    return [] if view is None else [view.item(entry) for entry in (change.entry, change.previous) if entry is not None]


def _values(view: VersionView | None, kind: str, change: ObjectChange, names: _Names) -> Iterable[tuple[_Name, str | None]]:
    """Return the indexed names with their values before and after a change; all if the object cannot be decoded: all must fail."""
    if view is None:
        return (("", None),)
    try:
        items = _items(view, change)
    except RENDERING_ERRORS:
        return [(name, value) for name, values in names.items() for value in values]
    found: dict[tuple[_Name, str | None], None] = {}
    for item in items:
        if kind == "field":
            found.update(((name, item.fields.get(name, "")), None) for name in names if isinstance(name, str))
            continue
        for name in item.labels.keys() & names.keys():
            found[name, item.labels[name]] = found[name, None] = None
    return found

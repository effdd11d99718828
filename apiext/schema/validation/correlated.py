"""Correlation of the values of a changed object with those of the old one (apiserver pkg/cel/common/equality.go)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from apiext.base.meta.encoding import json_values

if TYPE_CHECKING:
    from apiext.schema.model import Props

Key = tuple[tuple[type, Any], ...]


class KeyedItems:
    """The items of a list of type map by the values of their keys (apiserver pkg/cel/common/maplist.go); of repeated keys, the first."""

    __slots__ = ("_items", "_keys")

    def __init__(self, items: list[Any], props: Props) -> None:
        self._keys: list[str] = props.get("x-kubernetes-list-map-keys") or []
        self._items: dict[Key, Any] = {}
        for item in items:
            key = self._key_of(item)
            if key is not None:
                self._items.setdefault(key, item)

    def get(self, item: Any) -> Any:
        """Return the item with the same keys as another list's item, None if there is none."""
        key = self._key_of(item)
        return None if key is None else self._items.get(key)

    def _key_of(self, item: Any) -> Key | None:
        if not isinstance(item, dict):
            return None
        keys = [item.get(name) for name in self._keys]
        if not keys or not all(isinstance(key, bool | int | float | str) for key in keys):
            return None
        return tuple((type(key), key) for key in keys)


def is_keyed_list(props: Props) -> bool:
    """Return whether a schema describes a list whose items are identified by keys."""
    return props.get("x-kubernetes-list-type") == "map"


class Correlated:
    """A value of the new object, the value in its place of the old object, and their schema."""

    __slots__ = ("_children", "_equal", "_keyed", "_new", "_old", "_props")

    def __init__(self, new: Any, old: Any, props: Props) -> None:
        self._new = new
        self._old = old
        self._props = props
        self._children: dict[str | int, Correlated | None] = {}
        self._equal: bool | None = None
        self._keyed: KeyedItems | None = None

    def key(self, name: str) -> Correlated | None:
        """Return a member, None unless both objects have it and the schema specifies it."""
        if name not in self._children:
            self._children[name] = self._member(name)
        return self._children[name]

    def index(self, index: int) -> Correlated | None:
        """Return an item of a list of type map, None unless the old list has an item with the same key."""
        if index not in self._children:
            self._children[index] = self._item(index)
        return self._children[index]

    @property
    def equal(self) -> bool:
        """Whether the value is unchanged, as far as its parts can be correlated."""
        if self._equal is None:
            self._equal = self._compare()
        return self._equal

    def _member(self, name: str) -> Correlated | None:
        new, old = self._new, self._old
        if not isinstance(new, dict) or not isinstance(old, dict) or name not in new or name not in old:
            return None
        properties, additional = self._props.get("properties") or {}, self._props.get("additionalProperties")
        child = properties.get(name, additional)
        return Correlated(new[name], old[name], child) if isinstance(child, Mapping) else None

    def _item(self, index: int) -> Correlated | None:
        new, old, items = self._new, self._old, self._props.get("items")
        if not isinstance(new, list) or not isinstance(old, list) or not isinstance(items, Mapping) or not is_keyed_list(self._props):
            return None
        if self._keyed is None:
            self._keyed = KeyedItems(old, self._props)
        found = self._keyed.get(new[index])
        return None if found is None else Correlated(new[index], found, items)

    def _compare(self) -> bool:
        new, old = self._new, self._old
        if isinstance(new, list) and isinstance(old, list):
            if len(new) != len(old):
                return False
            if not is_keyed_list(self._props) or not new:
                return json_values.equal(new, old)
            return all(child is not None and child.equal for child in map(self.index, range(len(new))))
        if isinstance(new, dict) and isinstance(old, dict):
            return len(new) == len(old) and all(child is not None and child.equal for child in map(self.key, new))
        return json_values.equal(new, old)

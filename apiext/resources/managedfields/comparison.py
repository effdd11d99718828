"""Compares two valid values of a merge type (structured-merge-diff typed/compare.go)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from apiext.base.meta.encoding import json_values
from apiext.resources.managedfields import field_set
from apiext.resources.managedfields.field_set import ITSELF, LEAF, FieldSet
from apiext.resources.managedfields.merge_types import ItemError, ListType, MapType, MergeType
from apiext.resources.managedfields.validation import COMPARED_LEVELS

_Difference = list[FieldSet | None]
"""The removed, modified and added members below a path; None for none."""


_UNNAMED: Final = ""


def leaves(merge_type: MergeType, value: Any) -> FieldSet:
    """Return the fields that an applied value owns: scalars, atomic values, items, and undeclared fields.

    An item without its keys, as pruning leaves one whose keys have no owner, has a path element that no other item has.
    """
    return _leaves(merge_type, value) or LEAF


def _leaves(merge_type: MergeType, value: Any) -> FieldSet | None:
    """Return the members below a path, LEAF if the path itself is a member, None if there are none."""
    kind = type(value) if type(value) is dict and merge_type.map is not None else merge_type.kind(value)
    if kind is dict and merge_type.map is not None:
        return _map_leaves(merge_type.map, value)
    return _list_leaves(merge_type.list, value) if kind is list and merge_type.list is not None else LEAF


def _map_leaves(map_type: MapType, value: Any) -> FieldSet | None:
    if map_type.atomic:
        return LEAF
    found: FieldSet = {}
    fields, other = map_type.fields, map_type.element
    for name, item in (value or LEAF).items():
        field = fields.get(name)
        if field is not None:
            element, below = field
            members = LEAF if type(item) in below.scalars or (not item and type(item) is dict) else _leaves(below, item)
            if members is not None:
                found[element] = members
        elif other is not None:
            found[f"f:{name}"] = LEAF if type(item) in other.scalars or not item else _with_itself(_leaves(other, item))
    return found or None


def _list_leaves(list_type: ListType, value: Any) -> FieldSet | None:
    if not list_type.associative:
        return LEAF
    found: FieldSet = {}
    below, element_of = list_type.element, list_type.element_of
    for item in value or ():
        try:
            element = element_of(item)
        except ItemError:
            element = _UNNAMED
        if element in found:
            found[element] = LEAF
        else:
            found[element] = LEAF if type(item) in below.scalars or not item else _with_itself(_leaves(below, item))
    return found or None


def _with_itself(members: FieldSet | None) -> FieldSet:
    return {ITSELF: LEAF, **members} if members else LEAF


def everything(merge_type: MergeType, value: Any) -> FieldSet:
    """Return all fields below an added or removed value, objects and lists included. The path itself is a member."""
    if not value or type(value) in merge_type.scalars:
        return LEAF
    kind = merge_type.kind(value)
    if kind is dict and merge_type.map is not None and not merge_type.map.atomic:
        return _map_everything(merge_type.map, value)
    if kind is list and merge_type.list is not None and merge_type.list.associative:
        return _list_everything(merge_type.list, value)
    return LEAF


def _map_everything(map_type: MapType, value: dict[str, Any]) -> FieldSet:
    if (leaf := map_type.leaves) is not None:
        return {ITSELF: LEAF, **dict.fromkeys(filter(None, map(leaf.get, value)), LEAF)}
    found: FieldSet = {ITSELF: LEAF}
    fields, other = map_type.fields, map_type.element
    for name, item in value.items():
        field = fields.get(name)
        if field is not None:
            element, below = field
            found[element] = LEAF if type(item) in below.scalars or not item else everything(below, item)
        elif other is not None:
            found[f"f:{name}"] = LEAF if type(item) in other.scalars or not item else everything(other, item)
    return found


def _list_everything(list_type: ListType, value: list[Any]) -> FieldSet:
    found: FieldSet = {ITSELF: LEAF}
    below, element_of = list_type.element, list_type.element_of
    for item in value:
        element = element_of(item)
        # Duplicate items have one owner: that of their key.
        found[element] = LEAF if element in found or type(item) in below.scalars else everything(below, item)
    return found


class Comparison(NamedTuple):
    """The differing fields of two values, each in one of the sets."""

    removed: FieldSet
    modified: FieldSet
    added: FieldSet

    def without(self, excluded: FieldSet) -> Comparison:
        """Return the comparison without the fields in or below a set."""
        return Comparison(*(field_set.recursive_difference(fields, excluded) for fields in self)) if excluded else self


_SAME: Final = Comparison(LEAF, LEAF, LEAF)
_SCALARS: Final = frozenset({str, int, bool})


def compare(merge_type: MergeType, left: Any, right: Any) -> Comparison:
    """Return the fields that the right value removes, modifies and adds."""
    difference = _compare(merge_type, left, right, 0)
    if difference is None:
        return _SAME
    return Comparison(*map(_at_root, difference))


def additions(merge_type: MergeType, empty: dict[str, Any], value: dict[str, Any]) -> FieldSet | None:
    """Return the `added` of `compare` with an empty object whose members are strings. None if they differ or the type is atomic."""
    map_type = merge_type.map
    if map_type is None or map_type.atomic:
        return None
    if any(type(text) is not str or value.get(name) != text for name, text in empty.items()):
        return None
    found: FieldSet = {}
    for name, item in value.items():
        if name not in empty:
            element, below = map_type.field(name)
            found[element] = everything(below, item)
    return found


def _at_root(fields: FieldSet | None) -> FieldSet:
    if not fields or ITSELF not in fields:
        return fields or LEAF
    return {name: below for name, below in fields.items() if name != ITSELF}


def same(left: Any, right: Any) -> bool:
    """Return whether two values are equal; 1 equals 1.0, but not true."""
    if type(left) is type(right) and type(left) is not dict and type(left) is not list:
        return bool(left == right)
    if left != right or isinstance(left, bool) or isinstance(right, bool):
        return False
    if type(left) is dict:
        return json_values.equal(left, right) or all(same(item, right[name]) for name, item in left.items())
    if type(left) is list:
        return json_values.equal(left, right) or all(map(same, left, right))
    return True


def _compare(merge_type: MergeType, left: Any, right: Any, level: int) -> _Difference | None:
    """Compare two existing values."""
    if left is right or (level < COMPARED_LEVELS and json_values.equal(left, right)):
        return None
    one, other = merge_type.kind(left), merge_type.kind(right)
    difference = _BY_KIND[other](merge_type, left, right, level)
    return difference if one is other else _joined(_BY_KIND[one](merge_type, left, right, level), difference)


def _joined(left: _Difference | None, right: _Difference | None) -> _Difference | None:
    if left is None or right is None:
        return left if right is None else right
    return [
        mine if theirs is None else theirs if mine is None else field_set.union_below(mine, theirs)
        for mine, theirs in zip(left, right, strict=True)
    ]


def _compare_whole(_type: MergeType, left: Any, right: Any, _level: int) -> _Difference | None:
    return None if same(left, right) else [None, LEAF, None]


def _compare_maps(merge_type: MergeType, left: Any, right: Any, level: int) -> _Difference | None:
    map_type: MapType = merge_type.map  # type: ignore[assignment]  # the kind says so
    old, new = left if type(left) is dict else LEAF, right if type(right) is dict else LEAF
    if map_type.atomic or not (old or new):
        return _compare_whole(merge_type, left, right, level)
    removed: FieldSet = {}
    modified: FieldSet = {}
    added: FieldSet = {}
    field_of = map_type.field
    shared = len(new)
    for name, item in new.items():
        if name in old:
            before, kind = old[name], type(item)
            if before is item or (kind in _SCALARS and type(before) is kind and before == item):
                continue
            element, below = field_of(name)
            difference = _compare(below, before, item, level + 1)
            if difference is not None:
                _add(element, difference, removed, modified, added)
        else:
            element, below = field_of(name)
            added[element] = everything(below, item)
            shared -= 1
    if shared < len(old):
        for name, item in old.items():
            if name not in new:
                element, below = field_of(name)
                removed[element] = everything(below, item)
    return [removed or None, modified or None, added or None] if removed or modified or added else None


def _add(element: str, difference: _Difference, *sets: FieldSet) -> None:
    for fields, below in zip(sets, difference, strict=True):
        if below is not None:
            fields[element] = below


def _compare_lists(merge_type: MergeType, left: Any, right: Any, level: int) -> _Difference | None:
    list_type = merge_type.list
    old, new = left if type(left) is list else [], right if type(right) is list else []
    if list_type is None or not list_type.associative or not (old or new):
        return _compare_whole(merge_type, left, right, level)
    removed: FieldSet = {}
    modified: FieldSet = {}
    added: FieldSet = {}
    below, before, after = list_type.element, _by_element(list_type.element_of, old), _by_element(list_type.element_of, new)
    for element in before | after:
        had, has = before.get(element, ()), after.get(element, ())
        if len(had) == len(has) == 1:
            difference = _compare(below, had[0], has[0], level + 1)
            if difference is not None:
                _add(element, difference, removed, modified, added)
        elif len(had) > 1 and len(has) > 1:
            if not same(had, has):
                modified[element] = LEAF
        else:
            # Duplicate items have one owner: that of their key.
            if had:
                removed[element] = LEAF if len(had) > 1 else everything(below, had[0])
            if has:
                added[element] = LEAF if len(has) > 1 else everything(below, has[0])
    return [removed or None, modified or None, added or None] if removed or modified or added else None


def _by_element(element_of: Callable[[Any], str], items: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for item in items:
        found.setdefault(element_of(item), []).append(item)
    return found


_BY_KIND: Final[dict[type, Callable[[MergeType, Any, Any, int], _Difference | None]]] = {
    dict: _compare_maps,
    list: _compare_lists,
    str: _compare_whole,
}

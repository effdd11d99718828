"""The field sets of valid values (structured-merge-diff typed/tofieldset.go)."""

from __future__ import annotations

from typing import Any, Final

from apiext.resources.managedfields.field_set import ITSELF, LEAF, FieldSet
from apiext.resources.managedfields.merge_types import ItemError, ListType, MapType, MergeType

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

"""Removes fields from values, and adjusts field sets to a merge type.

Mirrors structured-merge-diff typed/remove.go and typed/reconcile_schema.go, and EnsureNamedFieldsAreMembers of fieldpath/set.go.
"""

from __future__ import annotations

from typing import Any

from apiext.managedfields.field_set import ITSELF, LEAF, FieldSet, is_member
from apiext.managedfields.merge_types import ListType, MapType, MergeType


def remove(merge_type: MergeType, value: Any, fields: FieldSet) -> Any:
    """Return a valid value without some fields and items, None if nothing is left."""
    kind = merge_type.kind(value)
    if kind is dict and merge_type.map is not None:
        return _remove_from_map(merge_type.map, value, fields)
    return _remove_from_list(merge_type.list, value, fields) if kind is list and merge_type.list is not None else value


def _remove_from_map(map_type: MapType, value: Any, fields: FieldSet) -> Any:
    if map_type.atomic or type(value) is not dict:
        return None
    result: dict[str, Any] = {}
    for name, item in value.items():
        element, below = map_type.field(name)
        removed = fields.get(element)
        if removed is None:
            result[name] = item
        elif not is_member(removed):
            result[name] = remove(below, item, removed)
    return result or None


def _remove_from_list(list_type: ListType, value: Any, fields: FieldSet) -> Any:
    if not list_type.associative or type(value) is not list:
        return None
    result = []
    for item in value:
        removed = fields.get(list_type.element_of(item))
        if removed is None:
            result.append(item)
        elif not is_member(removed):
            result.append(remove(list_type.element, item, removed))
    return result or None


def with_named_fields(merge_type: MergeType, fields: FieldSet) -> FieldSet:
    """Return a set in which each declared field with members below is a member too."""
    if merge_type.map is None and merge_type.list is None:
        return fields
    result: FieldSet = {}
    for element, below in fields.items():
        declared = None
        if below:
            declared, below_type = _type_below(merge_type, element)
            members = with_named_fields(below_type, below) if below_type is not None else below
            result[element] = {ITSELF: LEAF, **members} if declared else members
        else:
            result[element] = below
    return result


def _type_below(merge_type: MergeType, element: str) -> tuple[bool, MergeType | None]:
    """Return whether a path element is a declared field, and the type there, None if unknown."""
    if element.startswith("f:") and merge_type.map is not None:
        field = merge_type.map.fields.get(element[2:])
        return (False, merge_type.map.element) if field is None else (True, field[1])
    return False, merge_type.list.element if element.startswith("k:") and merge_type.list is not None else None


def reconcile(merge_type: MergeType, fields: FieldSet) -> FieldSet:
    """Return a set adjusted to a changed schema: of a value that now has a single owner, only its path is left."""
    map_type, list_type = merge_type.map, merge_type.list
    types: dict[str, MergeType] = {}
    if map_type is not None:
        if map_type.is_deduced:
            return fields
        if map_type.atomic:
            return LEAF
        types, other = map_type.types, map_type.element
    elif merge_type.scalar or list_type is None:
        return fields
    elif not list_type.associative:
        return LEAF
    else:
        other = list_type.element
    result = fields
    for element, below in fields.items():
        if below and (below_type := types.get(element, other)) is not None and (reconciled := reconcile(below_type, below)) is not below:
            result = result.copy() if result is fields else result
            result[element] = reconciled
    return result

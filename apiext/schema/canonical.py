"""Fast path: detects objects that pruning, or pruning and defaulting, would not change."""

from __future__ import annotations

from typing import Any

from apiext.schema.defaulting.algorithm import defaults_of
from apiext.schema.model import Structural
from apiext.schema.pruning import META_FIELDS


def supports(schema: Structural) -> bool:
    """Return whether `is_canonical` and `is_pruned` can be true for objects of a schema.

    They do not handle embedded resources, nor defaults and children of apiVersion, kind and metadata.
    """
    special = [child for name, child in schema.properties.items() if name in META_FIELDS]
    return not schema.has_resources and not any(child.default is not None or any(child.children()) for child in special)


def is_canonical(obj: dict[str, Any], schema: Structural) -> bool:
    """Return whether pruning, the removal of nulls and defaulting would change nothing of an object outside its metadata.

    False also where that takes a closer check: for fractions, which are written in another form than they are read, for nulls, and
    below x-kubernetes-preserve-unknown-fields.
    """
    return _members(_without_metadata(obj), schema, defaulted=True)


def is_pruned(obj: dict[str, Any], schema: Structural) -> bool:
    """Return whether pruning and the removal of nulls would change nothing of an object outside its metadata; False as `is_canonical`."""
    return _members(_without_metadata(obj), schema, defaulted=False)


def _without_metadata(obj: dict[str, Any]) -> dict[str, Any]:
    return {key: member for key, member in obj.items() if key not in META_FIELDS}


def _members(value: dict[str, Any], schema: Structural, *, defaulted: bool) -> bool:
    if schema.preserve:
        return False
    if defaulted:
        for name, _, _ in defaults_of(schema):
            if name not in value:
                return False
    properties = schema.properties
    for key, member in value.items():
        child = properties.get(key) or schema.additional
        if child is None:
            return False
        kind = type(member)
        if kind is not str and kind is not int and kind is not bool and not _below(member, child, defaulted=defaulted):
            return False
    return True


def _below(value: Any, schema: Structural, *, defaulted: bool) -> bool:
    if type(value) is dict:
        return _members(value, schema, defaulted=defaulted)
    items = schema.items
    if type(value) is not list or items is None:
        return False
    for item in value:
        kind = type(item)
        if kind is dict:
            if not _members(item, items, defaulted=defaulted):
                return False
        elif kind is not str and kind is not int and kind is not bool and not _below(item, items, defaulted=defaulted):
            return False
    return True

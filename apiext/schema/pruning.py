"""Pruning: removal of unspecified fields (schema/pruning/algorithm.go)."""

from __future__ import annotations

from typing import Any

from apiext.schema.lazy_path import Location, path_of
from apiext.schema.model import Structural

META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


def prune(obj: Any, schema: Structural | None, *, resource_root: bool) -> list[str]:
    """Drop unspecified fields, in place, and return their sorted paths, such as `spec.a[0].b`.

    apiVersion, kind and metadata of the root (if resource_root) and of embedded resources are kept.
    """
    dropped: list[str] = []
    if type(obj) is not dict and type(obj) is not list:
        return dropped
    if resource_root:
        schema = (schema or Structural(None)).as_resource() if schema is None or not schema.embedded else schema
    _prune(obj, schema, None, dropped)
    dropped.sort()
    return dropped


def prune_resource(obj: dict[str, Any], resource: Structural) -> list[str]:
    """Prune like `prune`, by the schema of a whole object (Structural.as_resource)."""
    dropped: list[str] = []
    _prune(obj, resource, None, dropped)
    dropped.sort()
    return dropped


def _prune(value: Any, schema: Structural | None, location: Location, dropped: list[str]) -> None:
    if schema is None:
        _prune_all(value, location, dropped)
    elif schema.preserve:
        _prune_specified(value, schema, location, dropped)
    elif type(value) is dict:
        _prune_object(value, schema, location, dropped)
    else:
        items = schema.items
        for index, item in enumerate(value):
            if type(item) is dict or type(item) is list:
                _prune(item, items, (location, index), dropped)


def _prune_object(value: dict[str, Any], schema: Structural, location: Location, dropped: list[str]) -> None:
    properties = schema.properties
    unknown: list[str] | None = None
    for key, member in value.items():
        child = properties.get(key)
        if child is None:
            if schema.embedded and key in META_FIELDS:
                continue
            if not schema.has_additional:
                if unknown is None:
                    unknown = []
                unknown.append(key)
                continue
            child = schema.additional
        kind = type(member)
        if kind is str:
            continue
        if (kind is dict or kind is list) and not (schema.embedded and key in META_FIELDS):
            _prune(member, child, (location, key), dropped)
    if unknown is not None:
        for key in unknown:
            del value[key]
            if location is not None or key not in META_FIELDS:
                dropped.append(path_of((location, key)))


def _prune_specified(value: Any, schema: Structural, location: Location, dropped: list[str]) -> None:
    """Keep unknown fields here, but prune below specified fields."""
    if type(value) is list:
        items = schema.items
        if items is not None:
            for index, item in enumerate(value):
                if type(item) is dict or type(item) is list:
                    _prune_specified(item, items, (location, index), dropped)
        return
    for key, member in value.items():
        if (type(member) is not dict and type(member) is not list) or (schema.embedded and key in META_FIELDS):
            continue
        child = schema.properties.get(key)
        if child is not None:
            _prune(member, child, (location, key), dropped)
        elif schema.has_additional:
            _prune(member, schema.additional, (location, key), dropped)


def _prune_all(value: Any, location: Location, dropped: list[str]) -> None:
    """Empty every object that is reached through lists."""
    pending: list[tuple[Any, Location]] = [(value, location)]
    while pending:
        item, here = pending.pop()
        if type(item) is dict:
            dropped.extend(path_of((here, key)) for key in item)
            item.clear()
        elif type(item) is list:
            pending.extend((element, (here, index)) for index, element in enumerate(item))

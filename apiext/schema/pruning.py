"""Pruning: removal of unspecified fields (schema/pruning/algorithm.go)."""

from __future__ import annotations

from typing import Any

from apiext.base.meta.limits import MAX_ERROR_CHARACTERS
from apiext.schema.field_path import Location, path_of
from apiext.schema.model import Structural

META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


def prune(value: Any, schema: Structural, *, report: bool = True) -> list[str]:
    """Drop unspecified fields in place. With `report`, return their sorted paths, such as `spec.a[0].b`.

    Stop reporting at MAX_ERROR_CHARACTERS of paths. Keep apiVersion, kind and metadata of resources.
    """
    dropped = _pruned(value, schema)
    paths: list[str] = []
    size = 0
    for location in dropped if report else ():
        paths.append(path_of(location))
        size += len(paths[-1])
        if size >= MAX_ERROR_CHARACTERS:
            break
    paths.sort()
    return paths


def prune_fields(value: Any, schema: Structural) -> bool:
    """Drop unspecified fields in place. Return whether there were any. Keep apiVersion, kind and metadata of resources."""
    return bool(_pruned(value, schema))


def _pruned(value: Any, schema: Structural) -> list[Location]:
    dropped: list[Location] = []
    if type(value) is dict or type(value) is list:
        _prune(value, schema, None, dropped)
    return dropped


def _prune(value: Any, schema: Structural | None, location: Location, dropped: list[Location], *, preserve: bool = False) -> None:
    if schema is None:
        _prune_all(value, location, dropped)
        return
    preserve = preserve or schema.preserve
    if type(value) is dict:
        _prune_object(value, schema, location, dropped, preserve=preserve)
        return
    items = schema.items
    if items is None and preserve:
        return
    for index, item in enumerate(value):
        if type(item) is dict or type(item) is list:
            # A list that preserves unknown fields preserves those of its items, but not those of the items' members.
            _prune(item, items, (location, index), dropped, preserve=preserve)


def _prune_object(value: dict[str, Any], schema: Structural, location: Location, dropped: list[Location], *, preserve: bool) -> None:
    properties = schema.properties
    unknown: list[str] | None = None
    for key, member in value.items():
        child = properties.get(key)
        if child is None:
            if schema.embedded and key in META_FIELDS:
                continue
            if not schema.has_additional:
                if not preserve:
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
                dropped.append((location, key))


def _prune_all(value: Any, location: Location, dropped: list[Location]) -> None:
    """Empty all objects in nested lists."""
    pending: list[tuple[Any, Location]] = [(value, location)]
    while pending:
        item, here = pending.pop()
        if type(item) is dict:
            dropped.extend((here, key) for key in item)
            item.clear()
        elif type(item) is list:
            pending.extend((element, (here, index)) for index, element in enumerate(item))

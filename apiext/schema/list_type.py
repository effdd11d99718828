"""Uniqueness in lists with x-kubernetes-list-type set and map (schema/listtype/validation.go)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.field import ErrorType, FieldError
from apiext.schema.lazy_path import Location, LocationPath, MapKey
from apiext.schema.model import Structural

_UNSPECIFIED: Final = object()
"""Key of an item without keys."""


def list_errors(obj: dict[str, Any], schema: Structural) -> list[FieldError]:
    """Return an error for the first repetition of each item of a set and of each key of a map."""
    errors: list[FieldError] = []
    if schema.has_lists:
        _object(obj, schema, None, errors)
    return errors


def _object(value: dict[str, Any], schema: Structural, location: Location, errors: list[FieldError]) -> None:
    properties = schema.properties
    for key, member in value.items():
        kind = type(member)
        if kind is not dict and kind is not list:
            continue
        # A schema cannot have both properties and additionalProperties.
        child = properties.get(key) or schema.additional
        if child is None or not child.has_lists:
            continue
        here: Location = (location, key) if key in properties else (location, MapKey(key))
        if kind is dict:
            _object(member, child, here, errors)
        else:
            _list(member, child, here, errors)


def _list(value: list[Any], schema: Structural, location: Location, errors: list[FieldError]) -> None:
    if schema.list_type == "set":
        errors.extend(_duplicate(location, index, value[index]) for index in _repeated(value))
    elif schema.list_type == "map":
        errors.extend(_map_errors(value, schema.list_map_keys, location))
    items = schema.items
    if items is None or not items.has_lists:
        return
    for index, item in enumerate(value):
        if type(item) is dict:
            _object(item, items, (location, index), errors)
        elif type(item) is list:
            _list(item, items, (location, index), errors)


def _map_errors(value: list[Any], map_keys: list[str], location: Location) -> Iterator[FieldError]:
    for index, item in enumerate(value):
        if item is not None and type(item) is not dict:
            detail = "must be an object for an array of list-type map"
            yield FieldError(ErrorType.INVALID, LocationPath((location, index)), item, detail)
            return
    if len(map_keys) == 1:
        name = map_keys[0]
        keys = [_UNSPECIFIED if item is None else item.get(name, _UNSPECIFIED) for item in value]
        for index in _repeated(keys):
            yield _duplicate(location, index, {} if keys[index] is _UNSPECIFIED else {name: keys[index]})
    else:
        composed = [{name: item[name] for name in map_keys if name in item} if item else {} for item in value]
        for index in _repeated(composed):
            yield _duplicate(location, index, composed[index])


def _duplicate(location: Location, index: int, value: Any) -> FieldError:
    return FieldError(ErrorType.DUPLICATE, LocationPath((location, index)), value)


def _repeated(items: list[Any]) -> Iterator[int]:
    """Yield the index of the second occurrence of each repeated item."""
    if len(items) <= 1:
        return
    try:
        # Here 1, 1.0 and true are equal. If nothing repeats in this sense, nothing repeats at all.
        if len(set(items)) == len(items):
            return
    except TypeError:
        pass
    times: dict[Hashable, int] = {}
    for index, item in enumerate(items):
        # Scalars 1, 1.0 and true differ. In lists and objects the written form counts.
        identity = json_codec.dumps(item) if type(item) is dict or type(item) is list else (type(item), item)
        times[identity] = times.get(identity, 0) + 1
        if times[identity] == 2:
            yield index

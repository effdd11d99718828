"""Fast path: detects objects that pruning, or pruning and defaulting, would not change, and sets defaults in the same walk."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from apiext.meta import json_values
from apiext.schema.defaulting.algorithm import defaults_of
from apiext.schema.model import Structural
from apiext.schema.pruning import META_FIELDS


class _Absent(Enum):
    """What an absent field with a default means."""

    NOTHING = 0
    DIFFERENCE = 1
    SET = 2


_SCALARS: Final = frozenset({str, int, bool})
_NOTHING: Final = _Absent.NOTHING
_SET: Final = _Absent.SET
_NO_MEMBERS: Final[Mapping[str, Any]] = {}


def supports(schema: Structural) -> bool:
    """Return whether the other functions can be true for objects of a schema.

    They do not handle embedded resources, nor defaults and children of apiVersion, kind and metadata.
    """
    special = [child for name, child in schema.properties.items() if name in META_FIELDS]
    return not schema.has_resources and not any(child.default is not None or any(child.children()) for child in special)


def is_canonical(obj: dict[str, Any], schema: Structural, known: Mapping[str, Any] = _NO_MEMBERS) -> bool:
    """Return whether pruning, the removal of nulls and defaulting would change nothing of an object outside its metadata.

    False also where that takes a closer check: for fractions, which are written in another form than they are read, for nulls, and
    below x-kubernetes-preserve-unknown-fields. Values at the places of the same ones in `known`, a canonical object, are not checked.
    """
    content = {key: member for key, member in obj.items() if key not in META_FIELDS}
    return _members(content, schema, _Absent.DIFFERENCE, known)


def complete(obj: dict[str, Any], schema: Structural, known: Mapping[str, Any] = _NO_MEMBERS, *, defaults: bool) -> bool:
    """Return whether pruning and the removal of nulls would change nothing of an object outside its metadata; False as `is_canonical`.

    With `defaults`, sets all defaults in place; some of them, if the result is False. `known` has defaults then.
    """
    content = {key: member for key, member in obj.items() if key not in META_FIELDS}
    size = len(content)
    result = _members(content, schema, _SET if defaults else _NOTHING, known)
    if len(content) > size:
        obj |= content
    return result


def _members(value: dict[str, Any], schema: Structural, absent: _Absent, known: Mapping[str, Any] = _NO_MEMBERS) -> bool:
    if schema.preserve:
        return False
    if absent is not _NOTHING:
        for name, default, _ in defaults_of(schema):
            if name not in value:
                if absent is not _SET:
                    return False
                value[name] = default if type(default) in _SCALARS else json_values.copy(default)
    properties = schema.properties
    for key, member in value.items():
        child = properties.get(key) or schema.additional
        if child is None:
            return False
        kind = type(member)
        if kind is not str and kind is not int and kind is not bool:
            same = known.get(key, _NO_MEMBERS)
            if same is not member and not _below(member, child, absent, same):
                return False
    return True


def _below(value: Any, schema: Structural, absent: _Absent, known: Any = _NO_MEMBERS) -> bool:
    if type(value) is dict:
        return _members(value, schema, absent, known if type(known) is dict else _NO_MEMBERS)
    items = schema.items
    if type(value) is not list or items is None:
        return False
    for item in value:
        kind = type(item)
        if kind is dict:
            if not _members(item, items, absent):
                return False
        elif kind is not str and kind is not int and kind is not bool and not _below(item, items, absent):
            return False
    return True

"""Fast path: detects objects that pruning, or pruning and defaulting, would not change, and sets defaults in the same walk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final

from apiext.meta.encoding import json_values
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
    return _are_canonical((content,), schema, _Absent.DIFFERENCE, known)


def complete(obj: dict[str, Any], schema: Structural, known: Mapping[str, Any] = _NO_MEMBERS, *, defaults: bool) -> bool:
    """Return whether pruning and the removal of nulls would change nothing of an object outside its metadata; False as `is_canonical`.

    With `defaults`, sets all defaults in place; some of them, if the result is False. `known` has defaults then.
    """
    content = {key: member for key, member in obj.items() if key not in META_FIELDS}
    size = len(content)
    result = _are_canonical((content,), schema, _SET if defaults else _NOTHING, known)
    if len(content) > size:
        obj |= content
    return result


def _are_canonical(values: Sequence[Any], schema: Structural, absent: _Absent, known: Mapping[str, Any] = _NO_MEMBERS) -> bool:
    """Check all items of a list, or a single object, whose `known` members are not checked.

    Most values are objects with scalars, so these are checked without a call for each.
    """
    preserve, properties, additional = schema.preserve, schema.properties, schema.additional
    defaults = () if absent is _NOTHING else defaults_of(schema)
    for value in values:
        if type(value) is not dict:
            if defaults or (type(value) not in _SCALARS and not _is_canonical(value, schema, absent)):
                return False
            continue
        if preserve:
            return False
        for key, member in value.items():
            if type(member) in _SCALARS and key in properties:
                continue
            child = properties.get(key) or additional
            if child is None:
                return False
            same = known.get(key, _NO_MEMBERS)
            if same is not member and type(member) not in _SCALARS and not _is_canonical(member, child, absent, same):
                return False
    return not defaults or _have_defaults(values, schema, defaults, absent)


def _have_defaults(values: Sequence[Any], schema: Structural, defaults: tuple[tuple[str, Any, bool], ...], absent: _Absent) -> bool:
    """Check that objects have the properties with a default, or set these."""
    for name, default, _ in defaults:
        is_scalar = type(default) in _SCALARS
        for value in values:
            if name in value:
                continue
            if absent is not _SET:
                return False
            if is_scalar:
                value[name] = default
                continue
            copied = value[name] = json_values.copy(default)
            if not _is_canonical(copied, schema.properties[name], _SET):
                return False
    return True


def _is_canonical(value: Any, schema: Structural, absent: _Absent, known: Any = _NO_MEMBERS) -> bool:
    """Check a value that is no scalar."""
    if type(value) is dict:
        return _are_canonical((value,), schema, absent, known if type(known) is dict else _NO_MEMBERS)
    items = schema.items
    return type(value) is list and items is not None and _are_canonical(value, items, absent)

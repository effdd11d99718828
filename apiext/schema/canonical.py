"""Fast path: detects objects that pruning and defaulting would not change. The same walk can set defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final

from apiext.base.meta.encoding import json_values
from apiext.base.scheduling.inline_work import current_work
from apiext.schema.defaulting.algorithm import defaults_of
from apiext.schema.model import Default, Structural
from apiext.schema.pruning import META_FIELDS


class _Absent(Enum):
    """Treatment of an absent field with a default: ignore it, report a difference, or set it."""

    NOTHING = 0
    DIFFERENCE = 1
    SET = 2


_SCALARS: Final = frozenset({str, int, bool})
_FEW_DEFAULTS: Final = 16
"""Defaults of a node that are set in a step."""
_NOTHING: Final = _Absent.NOTHING
_SET: Final = _Absent.SET
_NO_MEMBERS: Final[Mapping[str, Any]] = {}


def supports(schema: Structural) -> bool:
    """Return whether this module can handle a schema's objects.

    It handles neither embedded resources, nor defaults and children of apiVersion, kind and metadata.
    """
    special = [child for name in META_FIELDS if (child := schema.properties.get(name)) is not None]
    return not schema.has_resources and not any(child.default is not None or any(child.children()) for child in special)


def is_canonical(obj: dict[str, Any], schema: Structural, known: Mapping[str, Any] = _NO_MEMBERS) -> bool:
    """Return whether pruning, removal of nulls and defaulting would leave an object unchanged, apart from its metadata.

    False also means that only a closer check can tell: for fractions, whose written form may differ, for nulls, and below
    x-kubernetes-preserve-unknown-fields. Values that are the same Python objects in the canonical `known` are not checked.
    """
    content = {key: member for key, member in obj.items() if key not in META_FIELDS}
    return _are_canonical((content,), schema, _Absent.DIFFERENCE, known)


def complete(obj: dict[str, Any], schema: Structural, known: Mapping[str, Any] = _NO_MEMBERS, *, defaults: bool) -> bool:
    """Return whether pruning and removal of nulls would leave an object unchanged, apart from its metadata. False as `is_canonical`.

    With `defaults`, set all defaults in place, or only some of them if the result is False. `known` then has its defaults.
    """
    content = {key: member for key, member in obj.items() if key not in META_FIELDS}
    size = len(content)
    result = _are_canonical((content,), schema, _SET if defaults else _NOTHING, known)
    if len(content) > size:
        obj |= content
    return result


def are_complete(items: Sequence[Any], schema: Structural) -> bool:
    """Return whether pruning and removal of nulls would leave the items of a list unchanged. False as `is_canonical`."""
    return _are_canonical(items, schema, _NOTHING)


def _are_canonical(values: Sequence[Any], schema: Structural, absent: _Absent, known: Mapping[str, Any] = _NO_MEMBERS) -> bool:
    """Check all items of a list, or a single object. Skip members that are the same in `known`.

    Most values are objects with scalars, so scalars are checked without a call.
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


def _have_defaults(values: Sequence[Any], schema: Structural, defaults: tuple[Default, ...], absent: _Absent) -> bool:
    """Check that objects have all properties with a default, or set the missing ones."""
    if len(defaults) > _FEW_DEFAULTS:
        current_work().step(len(defaults) * len(values) // _FEW_DEFAULTS)
    for name, default, _, steps in defaults:
        is_scalar = type(default) in _SCALARS
        for value in values:
            if name in value:
                continue
            if absent is not _SET:
                return False
            if is_scalar:
                value[name] = default
                continue
            current_work().step(steps)
            copied = value[name] = json_values.copy(default)
            if not _is_canonical(copied, schema.properties[name], _SET):
                return False
    return True


def _is_canonical(value: Any, schema: Structural, absent: _Absent, known: Any = _NO_MEMBERS) -> bool:
    """Check a value that is not a scalar."""
    if type(value) is dict:
        return _are_canonical((value,), schema, absent, known if type(known) is dict else _NO_MEMBERS)
    items = schema.items
    return type(value) is list and items is not None and _are_canonical(value, items, absent)

"""Values of expressions in Protobuf's messages for JSON (cel-go's ConvertToNative to structpb.Value)."""

from __future__ import annotations

import base64
from typing import Final

from apiext.schema.cel.associative import AssociativeList
from apiext.schema.cel.ast import Uint
from apiext.schema.cel.errors import CelError
from apiext.schema.cel.json_values import JsonList, JsonMap, ObjectValue
from apiext.schema.cel.standard.kinds import type_of
from apiext.schema.cel.standard.times import format_duration, format_timestamp
from apiext.schema.cel.values import Duration, EmptyMessage, OptionalValue, Timestamp

_EXACT: Final = (1 << 53) - 1
"""Magnitude up to which integers are JSON numbers. Greater ones become text."""

JSON_CONTAINERS: Final = (JsonList, AssociativeList, JsonMap, ObjectValue)
"""Lists and maps of a custom resource. The reference does not convert them."""


def mismatch(value: object, go: str) -> CelError:
    """Return the error about a value without a Go type."""
    return CelError(f"type conversion error from '{type_of(value).name}' to '{go}'")


def to_json(value: object) -> object:
    """Return a value's JSON form: numbers as doubles, times and bytes as text.

    Raises:
        CelError: the value has no such form.
    """
    match value:
        case None | bool() | str() | float():
            return value
        case Uint() | int():
            return float(value) if -_EXACT <= value <= _EXACT else str(int(value))
        case bytes():
            return base64.b64encode(value).decode()
        case Duration():
            return format_duration(value)
        case Timestamp():
            return format_timestamp(value)
        case OptionalValue():
            if not value.present:
                raise CelError("optional.none() dereference")
            return to_json(value.value)
        case EmptyMessage():
            return {}
        case list() | dict() if isinstance(value, JSON_CONTAINERS):
            pass
        case list():
            return to_list(value)
        case dict():
            return to_struct(value)
    raise mismatch(value, "*structpb.Value")


def to_struct_value(value: object) -> object:
    """Return an expression's map as a JSON object. Raises as `to_struct`, and for other values."""
    if not isinstance(value, dict) or isinstance(value, JSON_CONTAINERS):
        raise mismatch(value, "*structpb.Struct")
    return to_struct(value)


def to_list_value(value: object) -> object:
    """Return an expression's list as a JSON array. Raises as `to_json`, and for other values."""
    if not isinstance(value, list) or isinstance(value, JSON_CONTAINERS):
        raise mismatch(value, "*structpb.ListValue")
    return to_list(value)


def to_list(value: list[object]) -> list[object]:
    """Return a list as a JSON array. Raises as `to_json`."""
    return [to_json(item) for item in value]


def to_struct(value: dict[object, object]) -> dict[str, object]:
    """Return a map as a JSON object. Raises as `to_json`, and for keys that are not text."""
    members: dict[str, object] = {}
    for key, member in value.items():
        if not isinstance(key, str):
            raise mismatch(key, "string")
        members[key] = to_json(member)
    return members

"""Values of expressions in Protobuf's messages for JSON (cel-go's ConvertToNative to structpb.Value)."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Final

from apiext.schema.cel.ast import Uint
from apiext.schema.cel.errors import CelError
from apiext.schema.cel.standard.times import format_duration, format_timestamp
from apiext.schema.cel.values import Duration, OptionalValue, Timestamp

_EXACT: Final = (1 << 53) - 1
"""The magnitude up to which integers are JSON numbers; greater ones become text."""

Mismatch = Callable[[object, str], str]
"""Returns the error of a value that cannot become a Go type."""


def to_json(value: object, mismatch: Mismatch) -> object:
    """Return a value as JSON has it: numbers are doubles, times and bytes text.

    Raises:
        CelError: it has no such form.
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
            return to_json(value.value, mismatch)
        case list():
            return [to_json(item, mismatch) for item in value]
        case dict():
            return to_struct(value, mismatch)
    raise CelError(mismatch(value, "*structpb.Value"))


def to_struct(value: dict[object, object], mismatch: Mismatch) -> dict[str, object]:
    """Return a map as a JSON object. Raises as `to_json`, and for keys that are no text."""
    members: dict[str, object] = {}
    for key, member in value.items():
        if not isinstance(key, str):
            raise CelError(mismatch(key, "string"))
        members[key] = to_json(member, mismatch)
    return members

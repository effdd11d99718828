"""Types of run-time values, and each type's operators (cel-go common/types/traits)."""

from __future__ import annotations

from typing import Any, Final

from apiext.schema.cel.ast import Uint
from apiext.schema.cel.errors import NO_SUCH_OVERLOAD, CelError
from apiext.schema.cel.types import BOOL, BYTES, DOUBLE, DURATION, INT, NULL, STRING, TIMESTAMP, TYPE, UINT, CelType
from apiext.schema.cel.values import Duration, OpaqueValue, OptionalValue, Timestamp

LIST: Final = CelType("list")
MAP: Final = CelType("map")
OPTIONAL: Final = CelType("optional_type")

_TYPES: Final[dict[type, CelType]] = {
    type(None): NULL,
    bool: BOOL,
    int: INT,
    Uint: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    list: LIST,
    dict: MAP,
    Timestamp: TIMESTAMP,
    Duration: DURATION,
    CelType: TYPE,
    OptionalValue: OPTIONAL,
}

_RECEIVERS: Final = (str, Timestamp, Duration, CelType, OpaqueValue)
"""Types whose errors about a missing operator do not name it."""


def type_of(value: Any) -> CelType:
    """Return the type of a value, as the function `type` does."""
    found = _TYPES.get(type(value))
    if found is not None:
        return found
    if isinstance(value, list):
        return LIST
    return MAP if isinstance(value, dict) else value.cel_type


def undefined(function: str, operand: object) -> CelError:
    """Return the error that the type of the first argument lacks a function or operator."""
    return CelError(NO_SUCH_OVERLOAD if isinstance(operand, _RECEIVERS) else f"{NO_SUCH_OVERLOAD}: {function}")

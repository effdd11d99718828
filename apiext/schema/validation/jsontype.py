"""The type keyword (validate/type.go)."""

from __future__ import annotations

import math
from typing import Any

from apiext.schema.validation.result import Violation, invalid_type
from apiext.schema.validation.spec import Spec

_NAMES = {
    bool: ("boolean", ""),
    str: ("string", ""),
    int: ("integer", "int64"),
    float: ("number", "float64"),
    list: ("array", ""),
    dict: ("object", ""),
}
_MAX_SAFE = float(2**53 - 1)
_EPSILON = 1e-9
"""Distance from an integer that still counts as one (swag)."""


def type_violation(spec: Spec, value: Any, name: object) -> Violation | None:
    """Return the violation of a value's type, None if it is right."""
    types = spec.types
    if value is None:
        if types and "null" not in types and not spec.nullable:
            return invalid_type(name, ",".join(types), "null")
        return None
    if not types and not spec.format:
        return None
    actual, actual_format = _NAMES[type(value)]
    fits = (
        actual in types
        or (actual == "number" and "integer" in types and is_json_integer(value))
        or (actual == "integer" and "number" in types)
    )
    formatted = bool(spec.format)
    textual = actual in ("string", "array")
    if formatted and not textual and not fits and actual_format != spec.format:
        return invalid_type(name, spec.format, actual_format)
    # The reference leaves the type of formatted strings, and of lists with them, to the check of the format.
    if formatted and textual and "number" not in types and "integer" not in types:
        return None
    return None if fits else invalid_type(name, ",".join(types), actual)


def is_json_integer(number: float) -> bool:
    """Return whether a float is, or nearly is, an integer that JSON keeps exactly (swag.IsFloat64AJSONInteger)."""
    if not -_MAX_SAFE <= number <= _MAX_SAFE:
        return False
    if number.is_integer():
        return True
    distance = abs(number)
    rounded = math.floor(distance + 0.5)
    return rounded != 0 and abs(distance - rounded) < _EPSILON * rounded

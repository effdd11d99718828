"""The enum keyword (validate/validator.go, basicCommonValidator)."""

from __future__ import annotations

from typing import Any

from apiext.meta import go_format
from apiext.meta.field import ErrorType
from apiext.schema.json_values import same_json
from apiext.schema.validation.numbers import truncate
from apiext.schema.validation.result import Violation
from apiext.schema.validation.spec import Spec


def enum_violation(spec: Spec, value: Any, name: str) -> Violation | None:
    """What is wrong with a value that must be one of a few."""
    if not spec.enum or any(_equals(value, allowed) for allowed in spec.enum):
        return None
    listed = " ".join(map(go_format.value, spec.enum))
    message = f"{name} in body should be one of [{listed}]"
    return Violation(ErrorType.NOT_SUPPORTED, name, message, value, allowed=tuple(spec.enum))


def _equals(value: Any, allowed: Any) -> bool:
    """Equality after Go's conversion to the allowed value's type; null equals nothing, not even null."""
    if value is None or allowed is None:
        return False
    if type(value) is float and type(allowed) is int:
        return truncate(value) == allowed
    if type(value) is int and type(allowed) is float:
        return float(value) == allowed
    if type(value) is int and type(allowed) is str:
        # Go converts an integer to the text of that code point
        return (chr(value) if 0 <= value <= 0x10FFFF and not 0xD800 <= value <= 0xDFFF else "\ufffd") == allowed
    return same_json(value, allowed)

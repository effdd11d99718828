"""Keywords of values: enum, bounds and multipleOf of numbers, length, pattern and format of strings (validate/values.go).

The reference truncates a bound to an integer before it compares an integer with it, and the messages show that.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from typing import Any

from apiext.meta.encoding import json_values
from apiext.meta.field import ErrorType
from apiext.meta.golang import formatting
from apiext.schema.pattern import PatternError, compile_pattern
from apiext.schema.strfmt.registry import format_checker
from apiext.schema.validation.jsontype import is_json_integer
from apiext.schema.validation.result import Violation, composite, invalid, invalid_type
from apiext.schema.validation.spec import Spec

_MIN_INT64 = -(2**63)
_LIMITS = {"int32": 2**31, "int64": 2**63, "": 2**63}


def number_violations(spec: Spec, value: float, name: object) -> Iterator[Violation]:
    """Yield the violations of a number."""
    kind = spec.types[0] if len(spec.types) == 1 and spec.types[0] in ("integer", "number") else ""
    if bad := _range(value, kind, spec.format, "Checked", name):
        yield bad
    if spec.multiple_of is not None:
        yield from _multiple(spec, value, name, kind)
    if spec.minimum is not None:
        yield from _bound(spec, value, name, kind, upper=False)
    if spec.maximum is not None:
        yield from _bound(spec, value, name, kind, upper=True)


def _range(value: float, kind: str, fmt: str, subject: str, name: object) -> Violation | None:
    """Return the violation of a number, or of a bound in the schema, outside the range of the type and format."""
    if kind == "integer":
        fmt = fmt if fmt in _LIMITS else ""
        limit = _LIMITS[fmt]
        # Go reads the digits of a float; those of the least integer round to more than it.
        fits = -limit <= value < limit and (type(value) is int or (value.is_integer() and value > _MIN_INT64))
    elif kind == "number" and fmt == "float":
        fits = _fits_float32(value)
    else:
        return None
    if fits:
        return None
    form = f"with format {fmt}" if fmt else "(default format)"
    return composite(f"{subject} value must be of type {kind} {form} in {name}")


def _fits_float32(value: float) -> bool:
    try:
        struct.pack("<f", value)
    except OverflowError:
        return False
    return True


def _multiple(spec: Spec, value: float, name: object, kind: str) -> Iterator[Violation]:
    factor: float = spec.multiple_of or 0.0
    bad = _range(factor, kind, spec.format, "MultipleOf", name)
    if bad:
        yield bad
    if type(value) is int and not bad:
        factor = truncate(factor)
        divides = factor > 0 and value % factor == 0
    else:
        value = float(value)
        divides = factor > 0 and is_json_integer(1 / factor * value if factor < 1 else value / factor)
    if factor <= 0:
        text = f"factor MultipleOf declared for {name} must be positive: {formatting.value(factor)}"
        yield invalid(name, factor, text)
    elif not divides:
        yield invalid(name, value, f"{name} in body should be a multiple of {formatting.value(factor)}")


def _bound(spec: Spec, value: float, name: object, kind: str, *, upper: bool) -> Iterator[Violation]:
    bound, exclusive = (spec.maximum, spec.exclusive_maximum) if upper else (spec.minimum, spec.exclusive_minimum)
    limit: float = bound or 0.0
    bad = _range(limit, kind, spec.format, "Maximum boundary" if upper else "Minimum boundary", name)
    if bad:
        yield bad
    if type(value) is int and not bad:
        limit = truncate(limit)
    else:
        value = float(value)
    if (upper and (value > limit or (exclusive and value == limit))) or (not upper and (value < limit or (exclusive and value == limit))):
        relation = ("less" if upper else "greater") + " than" + ("" if exclusive else " or equal to")
        yield invalid(name, value, f"{name} in body should be {relation} {formatting.value(limit)}")


def truncate(value: float) -> int:
    """Return a float as Go converts it to int64 on amd64: truncated, and the least integer if it does not fit."""
    if math.isfinite(value) and _MIN_INT64 <= value < -_MIN_INT64:
        return int(value)
    return _MIN_INT64


def enum_violation(spec: Spec, value: Any, name: object) -> Violation | None:
    """Return the violation of a value that is not in the enum, None if it is."""
    if not spec.enum or is_allowed(spec, value):
        return None
    return Violation(ErrorType.NOT_SUPPORTED, name, f"{name} in body should be one of {spec.enum_digest}", value, detail=spec.supported)


def is_allowed(spec: Spec, value: Any) -> bool:
    """Return whether a value is in the enum, after Go's conversion to the allowed value's type; null equals nothing, not even null."""
    return value is not None and not spec.allowed.isdisjoint(map(json_values.identity, _converted(value)))


def _converted(value: Any) -> tuple[Any, ...]:
    """Return a value and what Go converts it to before it compares it with an allowed value of another type."""
    if type(value) is float:
        return value, truncate(value)
    if type(value) is int:
        # An integer becomes the text of that code point.
        text = chr(value) if 0 <= value <= 0x10FFFF and not 0xD800 <= value <= 0xDFFF else "\ufffd"
        return value, float(value), text
    return (value,)


def string_violation(spec: Spec, value: str, name: object) -> Violation | None:
    """Return the first violation of length and pattern, None if there is none."""
    length = len(value)
    if spec.max_length is not None and length > spec.max_length:
        message = f"{name} in body should be at most {spec.max_length} chars long"
        return Violation(ErrorType.TOO_LONG, name, message, value, limit=spec.max_length)
    if spec.min_length is not None and length < spec.min_length:
        return invalid(name, value, f"{name} in body should be at least {spec.min_length} chars long")
    if spec.pattern:
        try:
            if not compile_pattern(spec.pattern).matches(value):
                return invalid(name, value, f"{name} in body should match '{spec.pattern}'")
        except PatternError as error:
            text = f"{name} in body should match '{spec.pattern}, but pattern is invalid: {error}'"
            return invalid(name, value, text)
    return None


def has_format(spec: Spec) -> bool:
    """Return whether strings must have a format."""
    return format_checker(spec.format) is not None


def format_violation(spec: Spec, value: str, name: object) -> Violation | None:
    """Return the violation of a known format, None if there is none."""
    check = format_checker(spec.format)
    return invalid_type(name, spec.format, value) if check is not None and not check(value) else None

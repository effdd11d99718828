"""Keywords of numbers: ranges of formats, multipleOf, maximum, minimum (validate/values.go, numberValidator).

The reference compares an integer with a bound by cutting the bound to an integer. The sentences show that, so do we.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator

from apiext.meta import go_format
from apiext.schema.validation.jsontype import is_json_integer
from apiext.schema.validation.result import Violation, composite, invalid
from apiext.schema.validation.spec import Spec

_MIN_INT64 = -(2**63)
_LIMITS = {"int32": 2**31, "int64": 2**63, "": 2**63}


def number_violations(spec: Spec, value: float, name: str) -> Iterator[Violation]:
    """All that is wrong with a number."""
    kind = spec.types[0] if len(spec.types) == 1 and spec.types[0] in ("integer", "number") else ""
    if bad := _range(value, kind, spec.format, "Checked", name):
        yield bad
    if spec.multiple_of is not None:
        yield from _multiple(spec, value, name, kind)
    if spec.minimum is not None:
        yield from _bound(spec, value, name, kind, upper=False)
    if spec.maximum is not None:
        yield from _bound(spec, value, name, kind, upper=True)


def _range(value: float, kind: str, fmt: str, subject: str, name: str) -> Violation | None:
    """Whether a number, or a bound in the schema, can be of the type and format."""
    if kind == "integer":
        fmt = fmt if fmt in _LIMITS else ""
        limit = _LIMITS[fmt]
        # Go looks at the digits of a float, which for the least integer round to more than it.
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


def _multiple(spec: Spec, value: float, name: str, kind: str) -> Iterator[Violation]:
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
        text = f"factor MultipleOf declared for {name} must be positive: {go_format.value(factor)}"
        yield invalid(name, factor, text)
    elif not divides:
        yield invalid(name, value, f"{name} in body should be a multiple of {go_format.value(factor)}")


def _bound(spec: Spec, value: float, name: str, kind: str, *, upper: bool) -> Iterator[Violation]:
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
        yield invalid(name, value, f"{name} in body should be {relation} {go_format.value(limit)}")


def truncate(value: float) -> int:
    """A float as Go makes it an int64 on amd64: cut, and the least integer where it does not fit."""
    if math.isfinite(value) and _MIN_INT64 <= value < -_MIN_INT64:
        return int(value)
    return _MIN_INT64

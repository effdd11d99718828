"""The keywords of numbers, multipleOf, minimum and maximum, and their range (validate/values.go).

The reference truncates a bound to an integer before it compares an integer with it, and the messages show that.
"""

from __future__ import annotations

import math
import operator
import struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from apiext.base.meta.golang import formatting
from apiext.schema.field_path import DottedPath
from apiext.schema.validation.correlated import Correlated
from apiext.schema.validation.keywords.constraint import Constraint, Functions, constraint, reject
from apiext.schema.validation.result import Result, Violation, composite, invalid

if TYPE_CHECKING:
    from apiext.schema.validation.keywords.constraint import Node

_MAX_SAFE: Final = float(2**53 - 1)
_EPSILON: Final = 1e-9
"""Distance from an integer that still counts as one (swag)."""
_MIN_INT64: Final = -(2**63)
_LIMITS: Final = {"int32": 2**31, "int64": 2**63, "": 2**63}


class _NumberType(NamedTuple):
    """The type of a number with its format: what the checks of a node keep, which keeps them itself."""

    name: str
    """Empty if values may have several types."""
    form: str
    """The format; empty for one of an integer that means nothing."""

    @classmethod
    def of(cls, spec: Node) -> Self:
        """Return the type of a node's values."""
        name = spec.types[0] if len(spec.types) == 1 else ""
        return cls(name, "" if name == "integer" and spec.format not in _LIMITS else spec.format)

    def fits(self, value: float) -> bool:
        """Return whether a number, or a bound in the schema, is in the range of the type and format."""
        if self.name == "integer":
            limit = _LIMITS[self.form]
            # Go reads the digits of a float; those of the least integer round to more than it.
            return -limit <= value < limit and (type(value) is int or (value.is_integer() and value > _MIN_INT64))
        return self.name != "number" or self.form != "float" or _fits_float32(value)

    def misfit(self, subject: str, name: Any) -> Violation:
        """Return the violation of a number that does not fit."""
        form = f"with format {self.form}" if self.form else "(default format)"
        return composite(f"{subject} value must be of type {self.name} {form} in {name}")


def number_range(spec: Node, kind: type) -> Constraint | None:
    """Require a number that the type and format can represent."""
    number = _NumberType.of(spec)
    if number.name == "integer":
        limit = _LIMITS[number.form]
        span = (-limit, limit - 1) if kind is int else None
    elif number == ("number", "float"):
        span = None
    else:
        return None
    return constraint(number.fits, lambda _, name: number.misfit("Checked", name), span=span)


def _fits_float32(value: float) -> bool:
    try:
        struct.pack("<f", value)
    except OverflowError:
        return False
    return True


def multiple_of(spec: Node, kind: type) -> Constraint | None:
    """Require a multiple of a factor."""
    if (raw := spec.raw.get("multipleOf")) is None:
        return None
    given, number = float(raw), _NumberType.of(spec)
    fitting = number.fits(given)
    exact = kind is int and fitting
    factor = truncate(given) if exact else given

    def check(value: float) -> bool:
        if exact:
            return value % factor == 0
        return is_json_integer(1 / factor * value if factor < 1 else value / factor)

    def report(value: float, name: DottedPath, result: Result, _: Correlated | None) -> None:
        if not fitting:
            result.add(number.misfit("MultipleOf", name))
        value = value if exact else float(value)
        if factor <= 0:
            text = f"factor MultipleOf declared for {name} must be positive: {formatting.value(factor)}"
            result.add(invalid(name, factor, text))
        elif not check(value):
            result.add(invalid(name, value, f"{name} in body should be a multiple of {formatting.value(factor)}"))

    return Constraint(check if fitting and factor > 0 else reject, report)


def minimum(spec: Node, kind: type) -> Constraint | None:
    """Require a number of at least the minimum, or above it."""
    return _bound(spec, kind, upper=False)


def maximum(spec: Node, kind: type) -> Constraint | None:
    """Require a number of at most the maximum, or below it."""
    return _bound(spec, kind, upper=True)


def _bound(spec: Node, kind: type, *, upper: bool) -> Constraint | None:
    given = spec.raw.get("maximum" if upper else "minimum")
    if given is None:
        return None
    exclusive = spec.raw.get("exclusiveMaximum" if upper else "exclusiveMinimum") is True
    number = _NumberType.of(spec)
    fitting = number.fits(float(given))
    exact = kind is int and fitting
    limit = truncate(float(given)) if exact else float(given)
    if upper:
        exceeds, subject, relation = (operator.ge if exclusive else operator.gt), "Maximum boundary", "less than"
    else:
        exceeds, subject, relation = (operator.le if exclusive else operator.lt), "Minimum boundary", "greater than"
    wanted = f"{relation}{'' if exclusive else ' or equal to'} {formatting.value(limit)}"

    def report(value: float, name: DottedPath, result: Result, _: Correlated | None) -> None:
        if not fitting:
            result.add(number.misfit(subject, name))
        value = value if exact else float(value)
        if exceeds(value, limit):
            result.add(invalid(name, value, f"{name} in body should be {wanted}"))

    def check(value: Any) -> bool:
        return not exceeds(value, limit)

    span = (-math.inf, limit - exclusive) if upper else (limit + exclusive, math.inf)
    return Constraint(check if fitting else reject, report, span if exact else None)


def truncate(value: float) -> int:
    """Return a float as Go converts it to int64 on amd64: truncated, and the least integer if it does not fit."""
    if math.isfinite(value) and _MIN_INT64 <= value < -_MIN_INT64:
        return int(value)
    return _MIN_INT64


def is_json_integer(number: float) -> bool:
    """Return whether a float is, or nearly is, an integer that JSON keeps exactly (swag.IsFloat64AJSONInteger)."""
    if not -_MAX_SAFE <= number <= _MAX_SAFE:
        return False
    if number.is_integer():
        return True
    distance = abs(number)
    rounded = math.floor(distance + 0.5)
    return rounded != 0 and abs(distance - rounded) < _EPSILON * rounded


NUMBERS: Final[Functions] = {
    "multipleOf": multiple_of,
    **dict.fromkeys(("minimum", "exclusiveMinimum"), minimum),
    **dict.fromkeys(("maximum", "exclusiveMaximum"), maximum),
}

"""The keywords of values of several types: type with nullable and x-kubernetes-int-or-string, format, and enum (validate/type.go, ...)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding.json_values import identity
from apiext.base.meta.field import ErrorType
from apiext.schema.field_path import DottedPath
from apiext.schema.strfmt.registry import format_checker, is_known_format
from apiext.schema.validation.correlated import Correlated
from apiext.schema.validation.keywords.constraint import (
    Check,
    Constraint,
    DoubtError,
    Functions,
    NoneType,
    accept,
    constraint,
    reject,
)
from apiext.schema.validation.keywords.numbers import is_json_integer, number_range, truncate
from apiext.schema.validation.result import Result, Violation, invalid_type

if TYPE_CHECKING:
    from apiext.schema.validation.keywords.constraint import Enumeration, Node

_NAMES: Final = {
    NoneType: ("null", ""),
    bool: ("boolean", ""),
    str: ("string", ""),
    int: ("integer", "int64"),
    float: ("number", "float64"),
    list: ("array", ""),
    dict: ("object", ""),
}
"""Names of types in schemas, and of Go's formats of their values."""
_NUMERIC_FORMATS: Final = {"integer": ("int32", "int64"), "number": ("float", "double")}


def type_(spec: Node, kind: type) -> Constraint | None:
    """Require a value of one of the types."""
    actual, actual_format = _NAMES[kind]
    matches = 0 if kind is NoneType else 1
    if matches and not spec.types and not spec.format:
        return None
    check, expected = _type_check(spec, kind), ",".join(spec.types)
    if spec.format not in ("", actual_format) and kind not in (str, list, NoneType):
        expected, actual = spec.format, actual_format

    def report(value: Any, name: DottedPath, result: Result, _: Correlated | None) -> None:
        wrong = check is reject or (check is _doubt_integer and not is_json_integer(value))
        if wrong:
            result.add(invalid_type(name, expected, actual))
        result.match_count += matches + (not wrong)

    return Constraint(check, report)


def _type_check(spec: Node, kind: type) -> Check:
    types = spec.types
    if kind is NoneType:
        return accept if not types or "null" in types or spec.nullable else reject
    if _NAMES[kind][0] in types or (kind is int and "number" in types):
        return accept
    if kind is float and "integer" in types:
        return _doubt_integer
    # The reference leaves the type of formatted strings, and of lists with them, to the check of the format.
    if spec.format and kind in (str, list) and "number" not in types and "integer" not in types:
        return _doubt if types and kind is list else accept
    return reject


def _doubt(_: Any) -> bool:
    raise DoubtError


def _doubt_integer(value: float) -> bool:
    if is_json_integer(value):
        raise DoubtError
    return False


def format_(spec: Node, kind: type) -> Constraint | None:
    """Require a string of the format, or a number that the type and format can represent."""
    if kind is str:
        return _string(spec)
    if kind is float or kind is int:
        return number_range(spec, kind)
    return None


def _string(spec: Node) -> Constraint | None:
    check = format_checker(spec.format)
    if check is None:
        return None

    def report(value: str, name: DottedPath, result: Result, _: Correlated | None) -> None:
        if not check(value):
            result.add(invalid_type(name, spec.format, value))
        result.match_count += 1

    return Constraint(check, report)


def is_supported_format(types: tuple[str, ...], name: str) -> bool:
    """Return whether a format means something for the types; other formats are accepted in a CRD and ignored."""
    kind = types[0] if len(types) == 1 else ""
    if kind in ("", "string"):
        return is_known_format(name)
    return name in _NUMERIC_FORMATS.get(kind, ())


def enum(spec: Node, kind: type) -> Constraint | None:
    """Require one of some values, after Go's conversion to the type of each; null equals nothing, not even null."""
    if not spec.raw.get("enum"):
        return None
    allowed = spec.enumeration

    def violation(value: Any, name: DottedPath) -> Violation:
        digest, supported = allowed.description
        return Violation(ErrorType.NOT_SUPPORTED, name, f"{name} in body should be one of {digest}", value, detail=supported)

    return constraint(_enum_check(allowed, kind), violation, typed=kind is str)


def _enum_check(allowed: Enumeration, kind: type) -> Check:
    if kind is NoneType:
        return reject
    if kind is str:
        texts = allowed.texts
        return lambda value: type(value) is str and value in texts
    identities = allowed.identities
    return lambda value: not identities.isdisjoint(map(identity, _converted(value)))


def _converted(value: Any) -> tuple[Any, ...]:
    """Return a value and what Go converts it to before it compares it with an allowed value of another type."""
    if type(value) is float:
        return value, truncate(value)
    if type(value) is int:
        # An integer becomes the text of that code point.
        text = chr(value) if 0 <= value <= 0x10FFFF and not 0xD800 <= value <= 0xDFFF else "\ufffd"
        return value, float(value), text
    return (value,)


TYPE: Final[Functions] = dict.fromkeys(("type", "nullable", "x-kubernetes-int-or-string"), type_)
FORMAT: Final[Functions] = {"format": format_}
ENUM: Final[Functions] = {"enum": enum}

"""The method `format` of strings (cel-go ext/formatting.go, locale en_US)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Final

from apiext.base.meta.golang.formatting import quote
from apiext.schema.cel.ast import Uint
from apiext.schema.cel.errors import CelError
from apiext.schema.cel.libraries.format_clauses import CLAUSE, RULES, parse_clause
from apiext.schema.cel.standard.conversions import to_text
from apiext.schema.cel.standard.kinds import type_of
from apiext.schema.cel.standard.result_size import check_result_size
from apiext.schema.cel.types import CelType
from apiext.schema.cel.values.run_time_values import Duration, Timestamp

_DEFAULT_PRECISION: Final = 6
_MAX_PRECISION: Final = 10_000
_DOUBLES: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""Texts that may stand for doubles."""
_SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_STRINGS: Final = (int, float, str, bytes, Timestamp, Duration, CelType)

Clause = Callable[[object, int | None], str]
"""Returns the text for a value and a precision. Raises CelError."""


def format_string(text: str, arguments: list[object]) -> str:
    """Replace each clause, such as `%d`, by its argument.

    Raises:
        CelError: a clause is malformed or does not fit its argument.
        BudgetError: the result would be too large.
    """
    parts: list[str] = []
    length = position = used = 0
    for found in CLAUSE.finditer(text):
        part = text[position : found.start()]
        position = found.end()
        if found[1]:
            part += "%"
        else:
            if used >= len(arguments):
                raise CelError(f"index {used} out of range")
            part += _formatted(found, arguments[used])
            used += 1
        parts.append(part)
        length += len(part)
        check_result_size(length)
    return "".join(parts) + text[position:]


def _formatted(found: re.Match[str], argument: object) -> str:
    try:
        verb, precision = parse_clause(found[2], found[3])
    except ValueError as error:
        raise CelError(str(error)) from None
    try:
        return _CLAUSES[verb](argument, precision)
    except CelError as error:
        raise CelError(f"error during formatting: {error}") from None


def _mismatch(verb: str, value: object) -> CelError:
    return CelError(f"{RULES[verb]}, was given {type_of(value).name}")


def _string(value: object, _precision: int | None = None) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, dict):
        entries = sorted(((_key(key), _literal(member)) for key, member in value.items()), key=lambda entry: entry[0])
        return "{" + ", ".join(f"{key}:{member}" for key, member in entries) + "}"
    if value is None:
        return "null"
    if not isinstance(value, _STRINGS):
        raise _mismatch("s", value)
    try:
        return to_text(value)
    except CelError as error:
        raise CelError(f"could not convert argument {quote(str(error))} to string") from None


def _literal(value: object) -> str:
    """Return a list's or map's member as a CEL literal."""
    if isinstance(value, float):
        return f"{value:.6f}" if math.isfinite(value) else quote({math.inf: "+Inf", -math.inf: "-Inf"}.get(value, "NaN"))
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bytes):
        return f"b{quote(_string(value))}"
    if isinstance(value, Timestamp | Duration):
        return f"{'timestamp' if isinstance(value, Timestamp) else 'duration'}({quote(to_text(value))})"
    if value is not None and not isinstance(value, int | list | dict | CelType):
        raise CelError(f"no formatting function for {type_of(value).name}")
    return _string(value)


def _key(key: object) -> str:
    if not isinstance(key, str | int):
        raise CelError(f"no formatting function for map key of type {type_of(key).name}")
    return quote(key) if isinstance(key, str) else to_text(key)


def _decimal(value: object, _precision: int | None) -> str:
    if type(value) not in (int, Uint):
        raise _mismatch("d", value)
    return str(value)


def _double(value: object, verb: str) -> float:
    number = _DOUBLES.get(value) if isinstance(value, str) else value
    if not isinstance(number, float):
        raise _mismatch(verb, value)
    return number


def _infinite(number: float) -> str:
    return "NaN" if math.isnan(number) else ("-∞" if number < 0 else "∞")


def _fixed(value: object, precision: int | None) -> str:
    """Print a double with thousands separators."""
    number = _double(value, "f")
    precision = _checked(precision)
    return f"{number:,.{precision}f}" if math.isfinite(number) else _infinite(number)


def _checked(precision: int | None) -> int:
    if precision is not None and precision > _MAX_PRECISION:
        raise CelError(f"precision {precision} is greater than {_MAX_PRECISION}")
    return _DEFAULT_PRECISION if precision is None else precision


def _scientific(value: object, width: int | None) -> str:
    """Print a double with seven digits. The reference treats the precision as the width of the text."""
    number = _double(value, "e")
    width = _checked(width)
    text = _infinite(number)
    if math.isfinite(number):
        digits, _, exponent = f"{abs(number):.6e}".partition("e")
        sign = "-" if number < 0 else ""
        text = f"{sign}{digits}×10{exponent.removeprefix('+').translate(_SUPERSCRIPTS)}"  # noqa: RUF001
    return text.rjust(width)


def _binary(value: object, _precision: int | None) -> str:
    if not isinstance(value, int):
        raise _mismatch("b", value)
    return f"{value:b}"


def _octal(value: object, _precision: int | None) -> str:
    if type(value) not in (int, Uint):
        raise _mismatch("o", value)
    return f"{value:o}"


def _hex(value: object, _precision: int | None) -> str:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").hex()
    if isinstance(value, bytes):
        return value.hex()
    if type(value) not in (int, Uint):
        raise _mismatch("x", value)
    return f"{value:x}"


def _upper_hex(value: object, precision: int | None) -> str:
    return _hex(value, precision).upper()


_CLAUSES: Final[dict[str, Clause]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hex,
    "X": _upper_hex,
    "o": _octal,
}

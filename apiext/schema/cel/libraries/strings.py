"""Functions of strings (cel-go ext/strings.go, version 2).

String format: cel-go ext/formatting.go, locale en_US.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Final

from apiext.base.meta.golang import formatting
from apiext.base.meta.golang.formatting import quote
from apiext.schema.cel.ast import Uint
from apiext.schema.cel.errors import CelError
from apiext.schema.cel.libraries.costs import actual_size, read_once, read_twice, string_cost, traversal
from apiext.schema.cel.libraries.library import Cost, Implementation, Library, Overload
from apiext.schema.cel.standard.conversions import to_text
from apiext.schema.cel.standard.kinds import type_of
from apiext.schema.cel.standard.operators import check_result_size
from apiext.schema.cel.types import DYN, INT, STRING, CelType, list_of
from apiext.schema.cel.values.run_time_values import INT_MAX, Duration, Timestamp

_SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
"""White space of Unicode; Python's includes more control characters."""
_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER: Final = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_ESCAPES: Final = str.maketrans(
    {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"'}
)


_DEFAULT_PRECISION: Final = 6
_MAX_PRECISION: Final = 10_000
_DOUBLES: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""Texts that may stand for doubles."""
_SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_STRINGS: Final = (int, float, str, bytes, Timestamp, Duration, CelType)

Clause = Callable[[object, int | None], str]
"""Returns the text for a value and a precision. Raises CelError."""


CLAUSE: Final = re.compile(r"%(?:(%)|(?:\.([0-9]*))?(.)?)", re.DOTALL)
"""Groups: a second percent sign, for a literal one; the digits of the precision; the verb."""
RULES: Final = {
    "s": ("string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"),
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
}
"""Arguments of each verb in the words of errors; `X` as `x`."""


def parse_clause(digits: str | None, verb: str | None) -> tuple[str, int | None]:
    """Return the verb of a clause, and its precision.

    Raises:
        ValueError: the clause is malformed; the text is the reference's.
    """
    problem = "could not parse formatting clause: "
    if verb is None:
        if digits is None:
            raise ValueError("unexpected end of string")
        raise ValueError(f"{problem}error while parsing precision: could not find end of precision specifier")
    precision = None
    if digits is not None:
        precision = int(digits.lstrip("0")[: len(str(INT_MAX)) + 1] or "0")
        if not digits or precision > INT_MAX:
            reason = "value out of range" if digits else "invalid syntax"
            conversion = f"error while converting precision to integer: strconv.Atoi: parsing {quote(digits)}: {reason}"
            raise ValueError(f"{problem}error while parsing precision: {conversion}")
    if verb != "X" and verb not in RULES:
        raise ValueError(f'{problem}unrecognized formatting clause "{chr(verb.encode()[0])}"')
    return verb, precision


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


def _check_index(text: str, index: int) -> None:
    if not 0 <= index <= len(text):
        raise CelError(f"index out of range: {index}")


def _check_offset(offset: int) -> None:
    if offset < 0:
        raise CelError(f"index out of range: {offset}")


def _char_at(text: str, index: int) -> str:
    _check_index(text, index)
    return text[index : index + 1]


def _index_of(text: str, part: str, offset: int = 0) -> int:
    _check_offset(offset)
    return text.find(part, offset) if part else min(offset, len(text))


def _last_index_of(text: str, part: str) -> int:
    return _last_index_before(text, part, max(len(text) - 1, 0)) if part else len(text)


def _last_index_before(text: str, part: str, offset: int) -> int:
    _check_offset(offset)
    if not part:
        return min(offset, len(text))
    if offset >= len(text):
        return -1
    # Searching backwards takes quadratic time on hostile texts, forwards it does not.
    found = text[: offset + len(part)][::-1].find(part[::-1])
    return found if found < 0 else min(len(text), offset + len(part)) - found - len(part)


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    if len(new) > len(old):
        found = text.count(old)
        check_result_size(len(text) + (found if count < 0 else min(found, count)) * (len(new) - len(old)))
    return text.replace(old, new, max(count, -1))


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if separator:
        return text.split(separator, max(limit, 0) - 1)
    if limit < 0 or limit >= len(text):
        return list(text)
    return [*text[: limit - 1], text[limit - 1 :]]


def _substring(text: str, start: int) -> str:
    _check_index(text, start)
    return text[start:]


def _substring_range(text: str, start: int, end: int) -> str:
    if start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    _check_index(text, start)
    _check_index(text, end)
    return text[start:end]


def _join(texts: list[str], separator: str = "") -> str:
    check_result_size(len(separator) * len(texts))
    for text in texts:
        if not isinstance(text, str):
            raise CelError(f"join: invalid input: {0 if text is None else formatting.value(text)}")
    return separator.join(texts)


def _member(overload: str, parameters: tuple[CelType, ...], result: CelType, implementation: Implementation, cost: Cost | None) -> Overload:
    return Overload(
        id=overload, parameters=parameters, result=result, implementation=implementation, member=True, cost=cost, undetermined_cost=cost
    )


_TEXTS: Final = list_of(STRING)

STRINGS: Final = Library(
    name="cel.lib.ext.strings",
    functions={
        "charAt": (_member("string_char_at_int", (STRING, INT), STRING, _char_at, None),),
        "indexOf": (
            _member("string_index_of_string", (STRING, STRING), INT, _index_of, traversal),
            _member("string_index_of_string_int", (STRING, STRING, INT), INT, _index_of, traversal),
        ),
        "lastIndexOf": (
            _member("string_last_index_of_string", (STRING, STRING), INT, _last_index_of, traversal),
            _member("string_last_index_of_string_int", (STRING, STRING, INT), INT, _last_index_before, traversal),
        ),
        "lowerAscii": (_member("string_lower_ascii", (STRING,), STRING, lambda text: text.translate(_LOWER), read_once),),
        "replace": (
            _member("string_replace_string_string", (STRING, STRING, STRING), STRING, _replace, read_twice),
            _member("string_replace_string_string_int", (STRING, STRING, STRING, INT), STRING, _replace, read_twice),
        ),
        "split": (
            _member("string_split_string", (STRING, STRING), _TEXTS, _split, read_twice),
            _member("string_split_string_int", (STRING, STRING, INT), _TEXTS, _split, read_twice),
        ),
        "substring": (
            _member("string_substring_int", (STRING, INT), STRING, _substring, read_once),
            _member("string_substring_int_int", (STRING, INT, INT), STRING, _substring_range, read_once),
        ),
        "trim": (_member("string_trim", (STRING,), STRING, lambda text: text.strip(_SPACE), read_once),),
        "upperAscii": (_member("string_upper_ascii", (STRING,), STRING, lambda text: text.translate(_UPPER), read_once),),
        "format": (_member("string_format", (STRING, list_of(DYN)), STRING, format_string, read_once),),
        "strings.quote": (
            Overload(
                id="strings_quote",
                parameters=(STRING,),
                result=STRING,
                implementation=lambda text: f'"{text.translate(_ESCAPES)}"',
                cost=read_once,
            ),
        ),
        "join": tuple(
            _member(overload, parameters, STRING, _join, lambda _arguments, result: string_cost(actual_size(result), 0.2))
            for overload, parameters in (("list_join", (_TEXTS,)), ("list_join_string", (_TEXTS, STRING)))
        ),
    },
)

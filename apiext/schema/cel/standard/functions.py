"""Implementations of the standard functions, by overload and by the type of the first argument."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from apiext.schema.cel.errors import NO_SUCH_OVERLOAD, CelError
from apiext.schema.cel.standard import conversions as convert
from apiext.schema.cel.standard import operators
from apiext.schema.cel.standard.kinds import type_of, undefined
from apiext.schema.cel.types import BOOL, BYTES, DOUBLE, DURATION, INT, STRING, TIMESTAMP, UINT, CelType
from apiext.schema.cel.values.run_time_values import Duration, Timestamp
from apiext.schema.cel.values.times import civil, zone_offset
from apiext.schema.pattern import Pattern, PatternError, compile_pattern

Function = Callable[..., Any]


def _itself(value: Any) -> Any:
    return value


def truncated(nanoseconds: int, unit: int) -> int:
    """Return whole units of a duration, towards zero."""
    return nanoseconds // unit if nanoseconds >= 0 else -(-nanoseconds // unit)


CONVERSIONS: Final[dict[str, dict[CelType, tuple[str, Function]]]] = {
    "bool": {BOOL: ("bool_to_bool", _itself), STRING: ("string_to_bool", convert.text_to_bool)},
    "bytes": {BYTES: ("bytes_to_bytes", _itself), STRING: ("string_to_bytes", str.encode)},
    "double": {
        DOUBLE: ("double_to_double", _itself),
        INT: ("int64_to_double", float),
        STRING: ("string_to_double", convert.text_to_double),
        UINT: ("uint64_to_double", float),
    },
    "duration": {DURATION: ("duration_to_duration", _itself), STRING: ("string_to_duration", convert.text_to_duration)},
    "int": {
        INT: ("int64_to_int64", _itself),
        DOUBLE: ("double_to_int64", convert.double_to_int),
        DURATION: ("duration_to_int64", lambda length: length.nanoseconds),
        STRING: ("string_to_int64", convert.text_to_int),
        TIMESTAMP: ("timestamp_to_int64", convert.timestamp_to_int),
        UINT: ("uint64_to_int64", convert.uint_to_int),
    },
    "string": {
        STRING: ("string_to_string", _itself),
        BOOL: ("bool_to_string", convert.to_text),
        BYTES: ("bytes_to_string", convert.bytes_to_text),
        DOUBLE: ("double_to_string", convert.to_text),
        DURATION: ("duration_to_string", convert.to_text),
        INT: ("int64_to_string", str),
        TIMESTAMP: ("timestamp_to_string", convert.to_text),
        UINT: ("uint64_to_string", convert.to_text),
    },
    "timestamp": {
        TIMESTAMP: ("timestamp_to_timestamp", _itself),
        INT: ("int64_to_timestamp", convert.int_to_timestamp),
        STRING: ("string_to_timestamp", convert.text_to_timestamp),
    },
    "uint": {
        UINT: ("uint64_to_uint64", _itself),
        DOUBLE: ("double_to_uint64", convert.double_to_uint),
        INT: ("int64_to_uint64", convert.int_to_uint),
        STRING: ("string_to_uint64", convert.text_to_uint),
    },
}
"""Conversions by name and by the type of the argument: overload and implementation."""


def _member_of_time(read: Callable[[datetime], int]) -> Function:
    def member(moment: Timestamp, zone: str = "UTC") -> int:
        return read(civil(moment, zone_offset(moment, zone)))

    return member


_TIMES: Final[dict[str, tuple[str, Function]]] = {
    "getFullYear": ("timestamp_to_year", _member_of_time(lambda time: time.year)),
    "getMonth": ("timestamp_to_month", _member_of_time(lambda time: time.month - 1)),
    "getDayOfYear": ("timestamp_to_day_of_year", _member_of_time(lambda time: time.timetuple().tm_yday - 1)),
    "getDayOfMonth": ("timestamp_to_day_of_month", _member_of_time(lambda time: time.day - 1)),
    "getDate": ("timestamp_to_day_of_month_1_based", _member_of_time(lambda time: time.day)),
    "getDayOfWeek": ("timestamp_to_day_of_week", _member_of_time(lambda time: time.isoweekday() % 7)),
    "getHours": ("timestamp_to_hours", _member_of_time(lambda time: time.hour)),
    "getMinutes": ("timestamp_to_minutes", _member_of_time(lambda time: time.minute)),
    "getSeconds": ("timestamp_to_seconds", _member_of_time(lambda time: time.second)),
    "getMilliseconds": ("timestamp_to_milliseconds", lambda moment, _zone="UTC": moment.nanoseconds // 1_000_000 % 1000),
}

_DURATIONS: Final[dict[str, tuple[str, Function]]] = {
    name: (f"duration_to_{name[3:].lower()}", lambda length, unit=unit: truncated(length.nanoseconds, unit))
    for name, unit in {
        "getHours": 3_600_000_000_000,
        "getMinutes": 60_000_000_000,
        "getSeconds": 1_000_000_000,
        "getMilliseconds": 1_000_000,
    }.items()
}


@lru_cache(maxsize=256)
def compiled_pattern(expression: str) -> Pattern:
    """Return the compiled form of a regular expression, from a cache. Raises CelError."""
    try:
        return compile_pattern(expression)
    except PatternError as error:
        raise CelError(str(error)) from None


def matches(text: Any, expression: Any) -> bool:
    """Evaluate `matches`. Raises CelError."""
    if not isinstance(text, str):
        raise undefined("matches", text)
    if not isinstance(expression, str):
        raise CelError(NO_SUCH_OVERLOAD)
    return compiled_pattern(expression).matches(text)


class ConstantPattern:
    """The function `matches` with a constant expression, compiled at first use."""

    __slots__ = ("_compiled", "_expression")

    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._compiled: Pattern | None = None

    def __call__(self, text: Any) -> bool:
        """Return whether the expression matches anywhere in a text. Raises CelError."""
        if not isinstance(text, str):
            raise CelError(NO_SUCH_OVERLOAD)
        if self._compiled is None:
            self._compiled = compiled_pattern(self._expression)
        return self._compiled.matches(text)


def _text_test(test: Callable[[str, str], bool]) -> Function:
    def function(text: Any, part: Any) -> bool:
        if isinstance(text, str) and isinstance(part, str):
            return test(text, part)
        raise CelError(NO_SUCH_OVERLOAD)

    return function


def _converter(name: str) -> Function:
    by_type = CONVERSIONS[name]

    def function(value: Any) -> Any:
        kind = type_of(value)
        if kind not in by_type:
            raise CelError(f"{NO_SUCH_OVERLOAD}: {name}({kind})")
        return by_type[kind][1](value)

    return function


def _time_function(name: str) -> Function:
    def function(value: Any, *zone: Any) -> Any:
        if isinstance(value, Timestamp) and all(isinstance(each, str) for each in zone):
            return _TIMES[name][1](value, *zone)
        if isinstance(value, Duration) and name in _DURATIONS and not zone:
            return _DURATIONS[name][1](value)
        raise CelError(f"{NO_SUCH_OVERLOAD}: {name}({', '.join(str(type_of(each)) for each in (value, *zone))})")

    return function


def _zoned(overload: str) -> str:
    return "timestamp_to_seconds_tz" if overload == "timestamp_to_seconds" else f"{overload}_with_tz"


DYNAMIC: Final[dict[str, Function]] = {
    "_+_": operators.add,
    "_-_": operators.subtract,
    "_*_": operators.multiply,
    "_/_": operators.divide,
    "_%_": operators.modulo,
    "-_": operators.negate,
    "!_": operators.logical_not,
    "_<_": operators.less,
    "_<=_": operators.less_equals,
    "_>_": operators.greater,
    "_>=_": operators.greater_equals,
    "@in": operators.is_in,
    "size": operators.size,
    "type": lambda value: CelType(type_of(value).name),
    "dyn": _itself,
    "matches": matches,
    "contains": _text_test(lambda text, part: part in text),
    "startsWith": _text_test(str.startswith),
    "endsWith": _text_test(str.endswith),
    **{name: _converter(name) for name in CONVERSIONS},
    **{name: _time_function(name) for name in _TIMES},
}
"""Functions that decide by the types of their arguments."""

OVERLOADS: Final[dict[str, Function]] = {
    **{overload: function for by_type in CONVERSIONS.values() for overload, function in by_type.values()},
    **dict(_TIMES.values()),
    **{_zoned(overload): function for overload, function in _TIMES.values()},
    **dict(_DURATIONS.values()),
    "divide_int64": operators.divide_ints,
    "divide_uint64": operators.divide_uints,
    "divide_double": operators.divide_doubles,
    "modulo_int64": operators.modulo_ints,
    "modulo_uint64": operators.modulo_uints,
}
"""Functions whose arguments have the types of the overload."""

TEMPLATES: Final[dict[str, str]] = {
    **{
        f"{name}_{kind}": f"{{0}} {sign} {{1}}"
        for name, sign in {
            "less": "<",
            "less_equals": "<=",
            "greater": ">",
            "greater_equals": ">=",
        }.items()
        for kind in ("bool", "int64", "uint64", "int64_uint64", "uint64_int64", "string", "bytes", "timestamp", "duration")
    },
    "logical_not": "not {0}",
    "add_string": "{0} + {1}",
    "add_bytes": "{0} + {1}",
    "add_double": "{0} + {1}",
    "subtract_double": "{0} - {1}",
    "multiply_double": "{0} * {1}",
    "negate_double": "-{0}",
    "size_string": "len({0})",
    "size_bytes": "len({0})",
    "size_list": "len({0})",
    "size_map": "len({0})",
    "string_size": "len({0})",
    "bytes_size": "len({0})",
    "list_size": "len({0})",
    "map_size": "len({0})",
    "contains_string": "{1} in {0}",
    "starts_with_string": "{0}.startswith({1})",
    "ends_with_string": "{0}.endswith({1})",
    "int64_to_double": "float({0})",
    "to_dyn": "{0}",
}
"""Python expressions of overloads that cannot fail."""

CHECKED_TEMPLATES: Final[dict[str, str]] = {
    "add_int64": "{0} + {1}",
    "subtract_int64": "{0} - {1}",
    "multiply_int64": "{0} * {1}",
    "negate_int64": "-{0}",
}
"""Python expressions of overloads whose result must be an int of 64 bits."""

"""Conversions between types: int(), string(), timestamp() and their like."""

from __future__ import annotations

import math
import re
from typing import Final

from apiext.base.meta.golang import formatting
from apiext.base.meta.time import duration_nanoseconds
from apiext.schema.cel.ast import Uint
from apiext.schema.cel.errors import INT_OVERFLOW, UINT_OVERFLOW, CelError
from apiext.schema.cel.types import CelType
from apiext.schema.cel.values.run_time_values import (
    INT_MAX,
    INT_MIN,
    NANOSECONDS,
    UINT_MAX,
    Duration,
    Timestamp,
    checked_int,
    checked_timestamp,
    checked_uint,
)
from apiext.schema.cel.values.times import format_duration, format_timestamp, parse_timestamp

_INTEGER: Final = re.compile("[+-]?[0-9]+")
_UNSIGNED: Final = re.compile("[0-9]+")
_NO_FLOAT: Final = re.compile(r"[\s_]|[^\x00-\x7f]")
"""What Python allows in numbers, and Go does not."""
_BOOLS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def _failed(target: str) -> CelError:
    return CelError(f"type conversion error from 'string' to '{target}'")


def text_to_int(text: str) -> int:
    """Convert a decimal text. Raises CelError."""
    if _INTEGER.fullmatch(text) and len(text.lstrip("+-0")) <= 19 and INT_MIN <= (number := int(text)) <= INT_MAX:
        return number
    raise _failed("int")


def text_to_uint(text: str) -> Uint:
    """Convert a decimal text. Raises CelError."""
    if _UNSIGNED.fullmatch(text) and len(text.lstrip("0")) <= 20 and (number := int(text)) <= UINT_MAX:
        return Uint(number)
    raise _failed("uint")


def text_to_double(text: str) -> float:
    """Convert a text; one that is too large for a double is an error. Raises CelError."""
    try:
        number = float(text)
    except ValueError:
        raise _failed("double") from None
    if _NO_FLOAT.search(text) or (math.isinf(number) and "inf" not in text.lower()):
        raise _failed("double")
    return number


def text_to_bool(text: str) -> bool:
    """Convert a text such as true, T or 1. Raises CelError."""
    if text in _BOOLS:
        return _BOOLS[text]
    raise _failed("bool")


def text_to_duration(text: str) -> Duration:
    """Convert a text such as 1h30m. Raises CelError."""
    if (nanoseconds := duration_nanoseconds(text)) is not None:
        return Duration(nanoseconds)
    raise _failed("google.protobuf.Duration")


def text_to_timestamp(text: str) -> Timestamp:
    """Convert a text such as 2006-01-02T15:04:05Z. Raises CelError."""
    if (moment := parse_timestamp(text)) is not None:
        return checked_timestamp(moment.nanoseconds, moment.offset)
    raise _failed("google.protobuf.Timestamp")


def int_to_timestamp(seconds: int) -> Timestamp:
    """Convert seconds since 1970. Raises CelError."""
    return checked_timestamp(seconds * NANOSECONDS)


def timestamp_to_int(moment: Timestamp) -> int:
    """Return seconds since 1970."""
    return moment.nanoseconds // NANOSECONDS


def double_to_int(number: float) -> int:
    """Convert towards zero. Raises CelError."""
    if math.isfinite(number) and INT_MIN < number < float(INT_MAX):
        return int(number)
    raise CelError(INT_OVERFLOW)


def double_to_uint(number: float) -> Uint:
    """Convert towards zero. Raises CelError."""
    if math.isfinite(number) and 0 <= number < float(UINT_MAX):
        return Uint(int(number))
    raise CelError(UINT_OVERFLOW)


def uint_to_int(number: Uint) -> int:
    """Convert a uint. Raises CelError."""
    return checked_int(int(number))


def int_to_uint(number: int) -> Uint:
    """Convert an int. Raises CelError."""
    return checked_uint(number)


def bytes_to_text(data: bytes) -> str:
    """Decode UTF-8. Raises CelError."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None


def to_text(value: object) -> str:
    """Return a scalar as string() does. Raises CelError."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return formatting.value(value)
    if isinstance(value, bytes):
        return bytes_to_text(value)
    if isinstance(value, Timestamp):
        return format_timestamp(value)
    if isinstance(value, Duration):
        return format_duration(value)
    return value.name if isinstance(value, CelType) else str(value)

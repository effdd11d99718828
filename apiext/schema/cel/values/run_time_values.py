"""Run-time values (cel-go common/types).

null is None; bool, float, str, bytes, list and dict are themselves; int is Python's within 64 bits; uint is `Uint`; a type is a `CelType`
without parameters. Lists and maps are never changed once an expression can see them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Final

from apiext.schema.cel.ast import Uint
from apiext.schema.cel.errors import INT_OVERFLOW, TIMESTAMP_OVERFLOW, UINT_OVERFLOW, CelError
from apiext.schema.cel.types import CelType

NANOSECONDS: Final = 1_000_000_000
INT_MIN: Final = -(1 << 63)
INT_MAX: Final = (1 << 63) - 1
UINT_MAX: Final = (1 << 64) - 1
TIMESTAMP_MIN: Final = -62_135_596_800
"""Seconds of 0001-01-01T00:00:00Z."""
TIMESTAMP_MAX: Final = 253_402_300_799
"""Seconds of 9999-12-31T23:59:59Z."""


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A point in time in nanoseconds since 1970, and the offset from UTC (seconds) in which it is printed."""

    nanoseconds: int
    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A length of time in nanoseconds, within 64 bits."""

    nanoseconds: int


@dataclass(frozen=True, slots=True, eq=False)
class OptionalValue:
    """A value of optional_type; `value` is None if there is none. Compare it with `apiext.schema.cel.values.equality`."""

    value: object
    present: bool = True


OPTIONAL_NONE: Final = OptionalValue(None, present=False)


class OpaqueValue:
    """Base of the libraries' values. `==` is CEL's equality, and false for other types."""

    __slots__ = ()
    cel_type: ClassVar[CelType]
    has_equality: ClassVar[bool] = True
    """Whether `==` with a value of this type on the left has a result."""

    def size(self) -> int:
        """Return the size for run-time costs."""
        return 1


def checked_int(number: int) -> int:
    """Return a number if it is an int of CEL.

    Raises:
        CelError: It needs more than 64 bits.
    """
    if INT_MIN <= number <= INT_MAX:
        return number
    raise CelError(INT_OVERFLOW)


def checked_uint(number: int) -> Uint:
    """Return a number as uint.

    Raises:
        CelError: It is negative or needs more than 64 bits.
    """
    if 0 <= number <= UINT_MAX:
        return Uint(number)
    raise CelError(UINT_OVERFLOW)


def checked_duration(nanoseconds: int) -> Duration:
    """Return a duration.

    Raises:
        CelError: It needs more than 64 bits.
    """
    return Duration(checked_int(nanoseconds))


def checked_timestamp(nanoseconds: int, offset: int = 0) -> Timestamp:
    """Return a timestamp.

    Raises:
        CelError: It is not in the years 1 to 9999.
    """
    if TIMESTAMP_MIN <= nanoseconds // NANOSECONDS <= TIMESTAMP_MAX:
        return Timestamp(nanoseconds, offset)
    raise CelError(TIMESTAMP_OVERFLOW)

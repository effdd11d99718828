"""Errors of evaluation, with the texts of cel-go (common/types/err.go, interpreter)."""

from __future__ import annotations

from typing import Final

NO_SUCH_OVERLOAD: Final = "no such overload"
INT_OVERFLOW: Final = "integer overflow"
UINT_OVERFLOW: Final = "unsigned integer overflow"
TIMESTAMP_OVERFLOW: Final = "timestamp overflow"
DIVISION_BY_ZERO: Final = "division by zero"
MODULUS_BY_ZERO: Final = "modulus by zero"
NAN_UNORDERED: Final = "NaN values cannot be ordered"
CALL_COST_EXCEEDED: Final = "operation cancelled: actual cost limit exceeded"


class CelError(Exception):
    """The error as an expression's result. `&&` and `||` may absorb it. Its text is cel-go's."""


class NoSuchKeyError(CelError):
    """A key or field is absent."""


class BudgetError(Exception):
    """A run-time cost limit was exceeded. No operator absorbs it: no further rule of the object runs."""


def no_such_key(key: object) -> NoSuchKeyError:
    """Return the error of an absent key or field; `key` is its text."""
    return NoSuchKeyError(f"no such key: {key}")


def no_such_attribute(name: str) -> CelError:
    """Return the error of a variable without a value."""
    return CelError(f"no such attribute(s): {name}")

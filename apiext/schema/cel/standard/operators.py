"""Operators over values whose type only the evaluation knows, and operators with a check of the result."""

from __future__ import annotations

import math
from typing import Any, Final

from apiext.base.meta.limits import MAX_CEL_RESULT
from apiext.schema.cel.ast import Uint
from apiext.schema.cel.errors import (
    CALL_COST_EXCEEDED,
    DIVISION_BY_ZERO,
    INT_OVERFLOW,
    MODULUS_BY_ZERO,
    NO_SUCH_OVERLOAD,
    BudgetError,
    CelError,
    no_such_key,
)
from apiext.schema.cel.standard.kinds import type_of, undefined
from apiext.schema.cel.values.equality import MISSING, compare, contains, find
from apiext.schema.cel.values.json_values import AssociativeList, MistypedJson, ObjectValue
from apiext.schema.cel.values.run_time_values import (
    INT_MAX,
    INT_MIN,
    Duration,
    OptionalValue,
    Timestamp,
    checked_duration,
    checked_int,
    checked_timestamp,
    checked_uint,
)
from apiext.schema.cel.values.structs import StructValue

ORDERED: Final = (bool, int, float, str, bytes, Timestamp, Duration)
"""Types of values that have an order."""


def check_result_size(length: int) -> None:
    """Refuse a call whose result would be too large. Its arguments do not limit the result.

    Raises:
        BudgetError: the result would be longer than `MAX_CEL_RESULT`.
    """
    if length > MAX_CEL_RESULT:
        raise BudgetError(CALL_COST_EXCEEDED)


def add(left: Any, right: Any) -> object:
    """Evaluate `left + right`. Raises CelError, and BudgetError if the result would be too long."""
    kind = type(left)
    if kind is type(right):
        if kind is int:
            return checked_int(left + right)
        if kind is Uint:
            return checked_uint(int(left) + int(right))
        if kind is float:
            return left + right
        if kind in (str, bytes):
            # such an addition costs 1, whatever its length
            check_result_size(len(left) + len(right))
            return left + right
        if kind is Duration:
            return checked_duration(left.nanoseconds + right.nanoseconds)
    if isinstance(left, AssociativeList) and isinstance(right, list):
        return left.merged(right)
    if isinstance(left, list) and isinstance(right, list):
        check_result_size(len(left) + len(right))
        return [*left, *right]
    if kind is Timestamp and isinstance(right, Duration):
        return checked_timestamp(left.nanoseconds + right.nanoseconds, left.offset)
    if kind is Duration and isinstance(right, Timestamp):
        return checked_timestamp(right.nanoseconds + left.nanoseconds, right.offset)
    if isinstance(left, int | float | str | bytes | list | Timestamp | Duration) and kind is not bool:
        raise CelError(NO_SUCH_OVERLOAD)
    raise undefined("_+_", left)


def subtract(left: Any, right: Any) -> object:
    """Evaluate `left - right`. Raises CelError."""
    kind = type(left)
    if kind is type(right):
        if kind is int:
            return checked_int(left - right)
        if kind is Uint:
            return checked_uint(int(left) - int(right))
        if kind is float:
            return left - right
        if kind in (Duration, Timestamp):
            return checked_duration(left.nanoseconds - right.nanoseconds)
    if kind is Timestamp and isinstance(right, Duration):
        if right.nanoseconds == INT_MIN:
            raise CelError(INT_OVERFLOW)
        return checked_timestamp(left.nanoseconds - right.nanoseconds, left.offset)
    if isinstance(left, int | float | Timestamp | Duration) and kind is not bool:
        raise CelError(NO_SUCH_OVERLOAD)
    raise undefined("_-_", left)


def multiply(left: Any, right: Any) -> object:
    """Evaluate `left * right`. Raises CelError."""
    kind = _number_kind("_*_", left, right)
    if kind is int:
        return checked_int(left * right)
    return checked_uint(int(left) * int(right)) if kind is Uint else left * right


def divide(left: Any, right: Any) -> object:
    """Evaluate `left / right`. Raises CelError."""
    kind = _number_kind("_/_", left, right)
    if kind is float:
        return divide_doubles(left, right)
    return divide_ints(left, right) if kind is int else divide_uints(left, right)


def modulo(left: Any, right: Any) -> object:
    """Evaluate `left % right`. Raises CelError."""
    if isinstance(left, float):
        raise undefined("_%_", left)
    return modulo_ints(left, right) if _number_kind("_%_", left, right) is int else modulo_uints(left, right)


def negate(value: Any) -> object:
    """Evaluate `-value`. Raises CelError."""
    kind = type(value)
    if kind is int:
        return checked_int(-value)
    if kind is float:
        return -value
    if kind is Duration:
        return checked_duration(-value.nanoseconds)
    if kind is bool:
        raise CelError(NO_SUCH_OVERLOAD)
    raise undefined("-_", value)


def logical_not(value: Any) -> bool:
    """Evaluate `!value`. Raises CelError."""
    if isinstance(value, bool):
        return not value
    raise CelError(NO_SUCH_OVERLOAD)


def _number_kind(operator: str, left: object, right: object) -> type:
    """Return the common type of two numbers. Raises CelError."""
    kind = type(left)
    if kind not in (int, Uint, float):
        raise undefined(operator, left)
    if kind is not type(right):
        raise CelError(NO_SUCH_OVERLOAD)
    return kind


def divide_ints(left: int, right: int) -> int:
    """Divide towards zero. Raises CelError."""
    if right == 0:
        raise CelError(DIVISION_BY_ZERO)
    quotient = abs(left) // abs(right)
    return checked_int(quotient if (left < 0) is (right < 0) else -quotient)


def divide_uints(left: Uint, right: Uint) -> Uint:
    """Divide two uints. Raises CelError."""
    if right == 0:
        raise CelError(DIVISION_BY_ZERO)
    return Uint(int(left) // int(right))


def divide_doubles(left: float, right: float) -> float:
    """Divide by IEEE 754. Never fails."""
    if right:
        return left / right
    if math.isnan(left) or left == 0 or math.isnan(right):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def modulo_ints(left: int, right: int) -> int:
    """Return the remainder, which has the sign of the dividend. Raises CelError."""
    if right == 0:
        raise CelError(MODULUS_BY_ZERO)
    if right == -1 and left == INT_MIN:
        raise CelError(INT_OVERFLOW)
    remainder = abs(left) % abs(right)
    return -remainder if left < 0 else remainder


def modulo_uints(left: Uint, right: Uint) -> Uint:
    """Return the remainder of two uints. Raises CelError."""
    if right == 0:
        raise CelError(MODULUS_BY_ZERO)
    return Uint(int(left) % int(right))


def less(left: Any, right: Any) -> bool:
    """Evaluate `left < right`. Raises CelError."""
    return _order("_<_", left, right) < 0


def less_equals(left: Any, right: Any) -> bool:
    """Evaluate `left <= right`. Raises CelError."""
    return _order("_<=_", left, right) <= 0


def greater(left: Any, right: Any) -> bool:
    """Evaluate `left > right`. Raises CelError."""
    return _order("_>_", left, right) > 0


def greater_equals(left: Any, right: Any) -> bool:
    """Evaluate `left >= right`. Raises CelError."""
    return _order("_>=_", left, right) >= 0


def _order(operator: str, left: object, right: object) -> int:
    if not isinstance(left, ORDERED):
        raise undefined(operator, left)
    return compare(left, right)


def is_in(value: Any, container: Any) -> bool:
    """Evaluate `value in container`. Raises CelError."""
    if isinstance(container, list):
        return contains(container, value)
    if isinstance(container, dict):
        found = find(container, value)
        if isinstance(found, MistypedJson):
            raise found.error
        return found is not MISSING
    raise CelError(NO_SUCH_OVERLOAD)


def size(value: Any) -> int:
    """Evaluate `size(value)`. Raises CelError."""
    if isinstance(value, ObjectValue):
        return value.size
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    raise undefined("size", value)


def index(container: Any, key: Any) -> Any:
    """Evaluate `container[key]`, and fields of values of unknown type. Raises CelError."""
    found = lookup(container, key)
    if found is MISSING:
        if isinstance(container, StructValue):
            return container[key]
        text = key if isinstance(key, str) else str(key).lower() if isinstance(key, bool) else str(key)
        raise CelError(f"index out of bounds: {text}") if isinstance(container, list) else no_such_key(text)
    return found


def lookup(container: Any, key: Any) -> Any:
    """Return a member of a list or map, or MISSING. Raises CelError."""
    if isinstance(container, dict):
        return find(container, key)
    if isinstance(container, list):
        place = _place(key)
        return container[place] if 0 <= place < len(container) else MISSING
    if isinstance(container, StructValue) and container.has(key):
        return container[key]
    return MISSING


def _place(key: object) -> int:
    """Return the list index for a number. Raises CelError."""
    if isinstance(key, int) and not isinstance(key, bool) and key <= INT_MAX:
        return int(key)
    if isinstance(key, float) and key.is_integer() and INT_MIN < key < float(INT_MAX):
        return int(key)
    if isinstance(key, float | Uint):
        raise CelError(f"unsupported index value {key:g} in list")
    raise CelError(f"unsupported index type '{type_of(key)}' in list")


def qualify(container: Any, key: Any, *, through: bool) -> Any:
    """Return a member of a value that may be optional.

    A member of an optional value is optional and may be absent. `through` makes the member of any value optional (`a.?b`, `a[?b]`).

    Raises:
        CelError: The member is absent and must not be.
    """
    optional = isinstance(container, OptionalValue)
    if optional and not container.present:
        return container
    operand = container.value if optional else container
    if not optional and not through:
        return index(operand, key)
    found = lookup(operand, key)
    return OptionalValue(None, present=False) if found is MISSING else OptionalValue(found)

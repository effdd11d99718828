"""Equality and order of run-time values (cel-go common/types: Equal, Compare).

Numbers of all types are equal by their value, but a bool is never equal to a number. Lists and maps compare by their elements, to any
depth of nesting. An int and a double are compared as doubles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apiext.schema.cel.ast import Uint
from apiext.schema.cel.errors import NAN_UNORDERED, NO_SUCH_OVERLOAD, CelError
from apiext.schema.cel.types import CelType
from apiext.schema.cel.values.json_values import AssociativeList, MistypedJson, ObjectValue, UnknownJson
from apiext.schema.cel.values.mixed_map import MixedMap
from apiext.schema.cel.values.run_time_values import Duration, OpaqueValue, OptionalValue, Timestamp
from apiext.schema.cel.values.structs import StructValue

_NUMBERS: Final = frozenset({int, Uint, float})
_PLAIN: Final = frozenset({str, bytes, bool, Timestamp, Duration})

MISSING: Final = object()
"""Result of `find` for an absent key."""


def equal(left: object, right: object) -> bool:
    """Return whether two values are equal. A set or map on the left ignores the order. Raises CelError."""
    pending: list[tuple[object, object]] = []
    while True:
        if not _equal(left, right, pending):
            return False
        if not pending:
            return True
        left, right = pending.pop()


def unequal(left: object, right: object) -> bool:
    """Return whether two values differ, or cannot be compared."""
    try:
        return not equal(left, right)
    except CelError:
        return True


def _equal(left: object, right: object, pending: list[tuple[object, object]]) -> bool:
    """Compare two values. Add the parts of containers that still need a comparison to `pending`."""
    kind, other = type(left), type(right)
    if kind in _NUMBERS:
        return other in _NUMBERS and _equal_numbers(left, right)
    if kind is other and kind in _PLAIN:
        return left == right
    if isinstance(left, list):
        if not isinstance(right, list) or len(left) != len(right):
            return False
        if isinstance(left, AssociativeList):
            return _equal_by_key(left, right, pending)
        # the first elements are compared first
        pending.extend(zip(reversed(left), reversed(right), strict=True))
        return True
    if isinstance(left, dict):
        return isinstance(right, dict) and _equal_maps(left, right, pending)
    if isinstance(left, OptionalValue):
        if not isinstance(right, OptionalValue) or left.present != right.present:
            return False
        pending.append((left.value, right.value))
        return True
    if isinstance(left, CelType):
        return isinstance(right, CelType) and left.name == right.name
    if isinstance(left, MistypedJson):
        raise left.error
    if isinstance(left, StructValue):
        if not isinstance(right, StructValue) or left.cel_type != right.cel_type or left.fields.keys() != right.fields.keys():
            return False
        pending.extend((value, right.fields[name]) for name, value in left.fields.items())
        return True
    if isinstance(left, OpaqueValue) and (not left.has_equality or _is_foreign(left, right)):
        raise CelError(NO_SUCH_OVERLOAD)
    return left is right or (kind is other and left == right)


def _is_foreign(left: OpaqueValue, right: object) -> bool:
    """Return whether a value of a library is compared with one of another type."""
    return type(left) is not type(right) and right is not None and not isinstance(left, UnknownJson)


def _equal_numbers(left: object, right: object) -> bool:
    """Compare two numbers, as doubles if one is a double."""
    if isinstance(left, float) is isinstance(right, float):
        return left == right
    return float(left) == float(right)  # type: ignore[arg-type]


def _equal_maps(left: dict[object, object], right: dict[object, object], pending: list[tuple[object, object]]) -> bool:
    if isinstance(left, ObjectValue) and isinstance(right, ObjectValue):
        if left.size != right.size:
            return False
        # A field that only one of them has is not compared.
        pending.extend((left.unknown[name], right.unknown[name]) for name in left.unknown.keys() & right.unknown.keys())
    elif len(left) != len(right):
        return False
    for key, value in left.items():
        found = find(right, key)
        if found is MISSING:
            return False
        pending.append((value, found))
    return True


def _equal_by_key(left: AssociativeList, right: list[object], pending: list[tuple[object, object]]) -> bool:
    elements = left.by_key()
    seen = set()
    for element in right:
        key = left.key(element)
        if key not in elements:
            return False
        seen.add(key)
        pending.append((elements[key], element))
    return len(seen) == len(elements)


def find(entries: Mapping[object, object], key: object) -> object:
    """Return the value of a key in a map, or MISSING. Equal numbers are one key; a bool is no number."""
    try:
        found = entries.get(key, MISSING)
    except TypeError:  # a list or a map cannot be a key
        return MISSING
    if (
        found is MISSING
        or type(key) is str
        or isinstance(entries, MixedMap)
        or isinstance(next(iter(entries)), bool) is isinstance(key, bool)
    ):
        return found
    return MISSING


def contains(elements: Sequence[object], value: object) -> bool:
    """Return whether an element of a list equals a value. Raises CelError."""
    if type(value) is str:
        return value in elements
    if not all(unequal(value, element) for element in elements):
        return True
    for element in elements if MistypedJson in map(type, elements) else ():
        if isinstance(element, MistypedJson):
            raise element.error
    return False


def compare(left: Any, right: Any) -> int:
    """Return a number below, at or above zero for two values that have an order.

    Raises:
        CelError: The types have no common order, or a number is NaN.
    """
    kind, other = type(left), type(right)
    if kind in _NUMBERS and other in _NUMBERS:
        if left != left or right != right:  # noqa: PLR0124 - only NaN differs from itself
            raise CelError(NAN_UNORDERED)
        if (kind is float) is not (other is float):
            left, right = float(left), float(right)
    elif kind is not other or kind not in _PLAIN:
        raise CelError(NO_SUCH_OVERLOAD)
    return int(left > right) - int(left < right)

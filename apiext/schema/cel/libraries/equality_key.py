"""Hashable keys of values, for comparisons of many values in linear time."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from apiext.schema.cel.values import OptionalValue


def equality_key(value: object) -> Hashable:
    """Return a key, equal for values that CEL calls equal. NaN equals nothing."""
    if type(value) is str:
        return value
    if isinstance(value, bool):
        return bool, value
    if isinstance(value, list):
        return list, tuple(map(equality_key, value))
    if isinstance(value, dict):
        return dict, frozenset((equality_key(key), equality_key(member)) for key, member in value.items())
    if isinstance(value, OptionalValue):
        return OptionalValue, value.present, equality_key(value.value)
    if isinstance(value, float) and value != value:  # noqa: PLR0124 - only NaN differs from itself
        return object()
    return value


def equality_keys(values: Iterable[object]) -> set[Hashable]:
    """Return the keys of values."""
    return set(map(equality_key, values))

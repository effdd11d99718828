"""Lists as sets (cel-go ext/sets.go), and hashable keys of values for comparisons in linear time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final

from apiext.schema.cel.libraries.costs import actual_size
from apiext.schema.cel.libraries.library import Library, Overload
from apiext.schema.cel.types import BOOL, CelType, list_of
from apiext.schema.cel.values.run_time_values import OptionalValue


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


def _contains(elements: list[object], part: list[object]) -> bool:
    return equality_keys(elements) >= equality_keys(part)


def _equivalent(left: list[object], right: list[object]) -> bool:
    return equality_keys(left) == equality_keys(right)


def _intersects(left: list[object], right: list[object]) -> bool:
    return not equality_keys(left).isdisjoint(equality_keys(right))


def _overload(name: str, implementation: Callable[[list[object], list[object]], bool], factor: int) -> Overload:
    def cost(arguments: Sequence[object], _result: object) -> int:
        return 1 + actual_size(arguments[0]) * actual_size(arguments[1]) * factor

    elements = list_of(CelType("T"))
    return Overload(
        id=f"list_sets_{name}_list",
        parameters=(elements, elements),
        result=BOOL,
        implementation=implementation,
        type_parameters=("T",),
        cost=cost,
    )


SETS: Final = Library(
    name="cel.lib.ext.sets",
    functions={
        "sets.contains": (_overload("contains", _contains, 1),),
        "sets.equivalent": (_overload("equivalent", _equivalent, 2),),
        "sets.intersects": (_overload("intersects", _intersects, 1),),
    },
)

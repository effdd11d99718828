"""Kubernetes' functions of lists (apiserver pkg/cel/library/lists.go)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Final, cast

from apiext.schema.cel.ast import Uint
from apiext.schema.cel.errors import NO_SUCH_OVERLOAD, CelError
from apiext.schema.cel.libraries.costs import traversal
from apiext.schema.cel.libraries.library import Implementation, Library, Overload
from apiext.schema.cel.standard.operators import ORDERED
from apiext.schema.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, UINT, CelType, list_of
from apiext.schema.cel.values.equality import compare, equal
from apiext.schema.cel.values.run_time_values import Duration, checked_duration, checked_int, checked_uint

COMPARABLE: Final = {
    "int": INT,
    "uint": UINT,
    "double": DOUBLE,
    "bool": BOOL,
    "duration": DURATION,
    "timestamp": TIMESTAMP,
    "string": STRING,
    "bytes": BYTES,
}
"""Ordered types, by their names in the identifiers of overloads."""


def order(left: object, right: object) -> int:
    """Return the order of two values. Values without a common order count as equal."""
    try:
        return compare(left, right)
    except CelError:
        return 0


def _is_sorted(elements: list[object]) -> bool:
    if elements:
        _require_ordered(elements[0])
    for left, right in pairwise(elements):
        _require_ordered(right)
        if order(left, right) > 0:
            return False
    return True


def _require_ordered(element: object) -> None:
    """Raise CelError for a value of a type without order."""
    if not isinstance(element, ORDERED):
        raise CelError(NO_SUCH_OVERLOAD)


def _min(elements: list[object]) -> object:
    return _extreme(elements, "min", 1)


def _max(elements: list[object]) -> object:
    return _extreme(elements, "max", -1)


def _extreme(elements: list[object], name: str, worse: int) -> object:
    """Return the first element that no other one beats. Raises CelError if there is none."""
    if not elements:
        raise CelError(f"{name} called on empty list")
    best = elements[0]
    for element in elements:
        _require_ordered(element)
        if order(best, element) == worse:
            best = element
    return best


def _sum_int(elements: list[object]) -> int:
    total = 0
    for element in elements:
        if type(element) is not int:
            raise CelError(NO_SUCH_OVERLOAD)
        total = checked_int(total + element)
    return total


def _sum_uint(elements: list[object]) -> Uint:
    total = Uint(0)
    for element in elements:
        if type(element) is not Uint:
            raise CelError(NO_SUCH_OVERLOAD)
        total = checked_uint(total + element)
    return total


def _sum_double(elements: list[object]) -> float:
    total = 0.0
    for element in elements:
        total += cast("float", element)
    return total


def _sum_duration(elements: list[object]) -> Duration:
    total = Duration(0)
    for element in elements:
        total = checked_duration(total.nanoseconds + cast("Duration", element).nanoseconds)
    return total


def _index_of(elements: list[object], value: object) -> int:
    return next((index for index, element in enumerate(elements) if equal(element, value)), -1)


def _last_index_of(elements: list[object], value: object) -> int:
    return next((index for index in range(len(elements) - 1, -1, -1) if equal(elements[index], value)), -1)


def _includes(elements: object, value: object) -> bool:
    return any(equal(element, value) for element in elements) if isinstance(elements, list) else equal(elements, value)


def _member(overload: str, parameters: tuple[CelType, ...], result: CelType, implementation: Implementation) -> Overload:
    return Overload(
        id=overload,
        parameters=parameters,
        result=result,
        implementation=implementation,
        member=True,
        type_parameters=("A",) if CelType("A") in parameters else (),
        cost=traversal,
        undetermined_cost=traversal,
    )


def _for_comparable(overload: str, implementation: Implementation, result: CelType | None = None) -> tuple[Overload, ...]:
    """Return an overload for each ordered type. By default the result has the element's type."""
    return tuple(
        _member(overload.format(name), (list_of(element),), result or element, implementation) for name, element in COMPARABLE.items()
    )


_SUMS: Final[tuple[tuple[str, Callable[[list[object]], object]], ...]] = (
    ("int", _sum_int),
    ("uint", _sum_uint),
    ("double", _sum_double),
    ("duration", _sum_duration),
)
_A: Final = CelType("A")

LISTS: Final = Library(
    name="kubernetes.lists",
    functions={
        "isSorted": _for_comparable("list_{0}_is_sorted_bool", _is_sorted, BOOL),
        "sum": tuple(
            _member(f"list_{name}_sum_{name}", (list_of(COMPARABLE[name]),), COMPARABLE[name], implementation)
            for name, implementation in _SUMS
        ),
        "max": _for_comparable("list_{0}_max_{0}", _max),
        "min": _for_comparable("list_{0}_min_{0}", _min),
        "indexOf": (_member("list_a_index_of_int", (list_of(_A), _A), INT, _index_of),),
        "lastIndexOf": (_member("list_a_last_index_of_int", (list_of(_A), _A), INT, _last_index_of),),
    },
)
LISTS_1: Final = Library(
    name=LISTS.name,
    functions={**LISTS.functions, "includes": (_member("list_includes_dyn_dyn", (DYN, DYN), BOOL, _includes),)},
)
"""Version 1 of the library, which environments have since Kubernetes 1.37."""

"""cel-go's functions of lists (ext/lists.go, version 3)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cmp_to_key
from typing import Final, cast

from apiext.schema.cel.cost.standard import STRING_FACTOR
from apiext.schema.cel.errors import NO_SUCH_OVERLOAD, CelError
from apiext.schema.cel.libraries.costs import actual_size, allocation
from apiext.schema.cel.libraries.library import Cost, Implementation, Library, Overload
from apiext.schema.cel.libraries.lists import COMPARABLE, order
from apiext.schema.cel.libraries.sets import equality_key
from apiext.schema.cel.standard.kinds import type_of, undefined
from apiext.schema.cel.types import DYN, INT, CelType, list_of
from apiext.schema.cel.values.run_time_values import Duration, Timestamp

_MAX_RANGE: Final = 1_000_000
"""Elements that `lists.range` makes at most."""
_COMPARABLE_KINDS: Final = (int, float, str, bytes, Duration, Timestamp)


def _slice(elements: list[object], start: int, end: int) -> list[object]:
    call = f"cannot slice({start}, {end})"
    if start < 0 or end < 0:
        raise CelError(f"{call}, negative indexes not supported")
    if start > end:
        raise CelError(f"{call}, start index must be less than or equal to end index")
    if len(elements) < end:
        raise CelError(f"{call}, list is length {len(elements)}")
    return elements[start:end]


def _flatten(elements: object, *depths: object) -> list[object]:
    depth = depths[0] if depths else 1
    if not isinstance(elements, list) or not isinstance(depth, int):
        names = ", ".join(type_of(each).name for each in depths)
        raise CelError(f"{NO_SUCH_OVERLOAD}: {type_of(elements).name}.flatten({names})")
    if depth < 0:
        raise CelError("level must be non-negative")
    flat: list[object] = []
    open_lists: list[Iterator[object]] = [iter(elements)]
    while open_lists:
        for element in open_lists[-1]:
            if isinstance(element, list) and len(open_lists) <= depth:
                open_lists.append(iter(element))
                break
            flat.append(element)
        else:
            open_lists.pop()
    return flat


def _sort(elements: object) -> list[object]:
    if not isinstance(elements, list):
        raise undefined("sort", elements)
    return _sort_by(elements, elements)


def _sort_by(elements: list[object], keys: list[object]) -> list[object]:
    if len(elements) != len(keys):
        raise CelError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, "
            f"but got {len(elements)} and {len(keys)} elements respectively"
        )
    if not elements:
        return elements
    if not isinstance(keys[0], _COMPARABLE_KINDS):
        raise CelError("list elements must be comparable")
    if any(type(key) is not type(keys[0]) for key in keys):
        raise CelError("list elements must have the same type")
    key_of = cmp_to_key(order)
    return [elements[index] for index in sorted(range(len(keys)), key=lambda index: key_of(keys[index]))]


def _range(length: int) -> list[int]:
    if length < 0:
        raise CelError(f"lists.range: size must be non-negative, got {length}")
    if length > _MAX_RANGE:
        raise CelError(f"lists.range: size {length} exceeds maximum allowed ({_MAX_RANGE})")
    return list(range(length))


def _distinct(elements: list[object]) -> list[object]:
    found: dict[Hashable, object] = {}
    for element in elements:
        found.setdefault(equality_key(element), element)
    return list(found.values())


def _result_cost(_arguments: Sequence[object], result: object) -> int:
    return allocation(actual_size(result), 1)


def _flatten_cost(arguments: Sequence[object], _result: object) -> int:
    return allocation(actual_size(arguments[0]), cast("int", arguments[1]) if len(arguments) > 1 else 1)


def _comparison_cost(compared: int) -> Cost:
    """Return the cost of comparing all pairs of an argument's elements."""

    def cost(arguments: Sequence[object], _result: object) -> int:
        elements = cast("list[object]", arguments[compared])
        texts = bool(elements) and isinstance(elements[0], str | bytes)
        return allocation(len(elements) ** 2, 2.0 + STRING_FACTOR if texts else 2.0)

    return cost


_T: Final = CelType("T")
_LIST: Final = list_of(_T)


def _overload(
    overload: str, parameters: tuple[CelType, ...], result: CelType, implementation: Implementation, cost: Cost, **options: bool
) -> Overload:
    return Overload(
        id=overload,
        parameters=parameters,
        result=result,
        implementation=implementation,
        member=options.get("member", True),
        guarded=options.get("guarded", True),
        type_parameters=("T",) if _LIST in parameters or result == _LIST else (),
        cost=cost,
    )


LIST_EXTENSION: Final = Library(
    name="cel.lib.ext.lists",
    functions={
        "slice": (_overload("list_slice", (_LIST, INT, INT), _LIST, _slice, _result_cost),),
        "flatten": (
            _overload("list_flatten", (list_of(_LIST),), _LIST, _flatten, _flatten_cost, guarded=False),
            _overload("list_flatten_int", (list_of(DYN), INT), list_of(DYN), _flatten, _flatten_cost, guarded=False),
        ),
        "sort": tuple(
            _overload(f"list_{element.name}_sort", (list_of(element),), list_of(element), _sort, _comparison_cost(0), guarded=False)
            for element in COMPARABLE.values()
        ),
        "@sortByAssociatedKeys": tuple(
            _overload(f"list_{key.name}_sortByAssociatedKeys", (_LIST, list_of(key)), _LIST, _sort_by, _comparison_cost(1), guarded=False)
            for key in COMPARABLE.values()
        ),
        "lists.range": (_overload("lists_range", (INT,), list_of(INT), _range, _result_cost, member=False),),
        "reverse": (_overload("list_reverse", (_LIST,), _LIST, lambda elements: elements[::-1], _result_cost),),
        "distinct": (_overload("list_distinct", (_LIST,), _LIST, _distinct, _comparison_cost(0)),),
    },
)

"""Optional values (cel-go cel/library.go, optionalLib)."""

from __future__ import annotations

from typing import Final, cast

from apiext.base.meta.golang import formatting
from apiext.schema.cel.errors import CelError
from apiext.schema.cel.libraries.library import Implementation, Library, Overload
from apiext.schema.cel.types import BOOL, DYN, INT, STRING, CelType, list_of, map_of, optional_of
from apiext.schema.cel.values.run_time_values import OPTIONAL_NONE, Duration, OptionalValue, Timestamp

_ZERO_TIME: Final = -62_135_596_800_000_000_000
"""Nanoseconds of Go's zero time, the year 1."""


def _of_non_zero(value: object) -> OptionalValue:
    return OPTIONAL_NONE if _is_zero(value) else OptionalValue(value)


def _is_zero(value: object) -> bool:
    if isinstance(value, Duration):
        return value.nanoseconds == 0
    if isinstance(value, Timestamp):
        return value.nanoseconds == _ZERO_TIME
    return value is None or (isinstance(value, bool | int | float | str | bytes | list | dict) and not value)


def _value(optional: OptionalValue) -> object:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


def _first(elements: list[object]) -> OptionalValue:
    return OptionalValue(elements[0]) if elements else OPTIONAL_NONE


def _last(elements: list[object]) -> OptionalValue:
    return OptionalValue(elements[-1]) if elements else OPTIONAL_NONE


def _unwrap(elements: list[object]) -> list[object]:
    for element in elements:
        if not isinstance(element, OptionalValue):
            raise CelError(f"value {formatting.value(element)} is not optional")
    return [optional.value for optional in cast("list[OptionalValue]", elements) if optional.present]


def _overload(
    overload: str, parameters: tuple[CelType, ...], result: CelType, implementation: Implementation | None = None, *, member: bool = False
) -> Overload:
    names = ("K", "V") if {_MAP, optional_of(_MAP)}.intersection(parameters) else ("V",)
    return Overload(id=overload, parameters=parameters, result=result, implementation=implementation, member=member, type_parameters=names)


def _method(
    overload: str, parameters: tuple[CelType, ...], result: CelType, implementation: Implementation | None = None
) -> tuple[Overload, ...]:
    return (_overload(overload, parameters, result, implementation, member=True),)


_K: Final = CelType("K")
_V: Final = CelType("V")
_OPTIONAL: Final = optional_of(_V)
_LIST: Final = list_of(_V)
_MAP: Final = map_of(_K, _V)
_OPTIONALS: Final = list_of(_OPTIONAL)

OPTIONAL_TYPES: Final = Library(
    name="cel.lib.optional",
    functions={
        "optional.of": (_overload("optional_of", (_V,), _OPTIONAL, OptionalValue),),
        "optional.ofNonZeroValue": (_overload("optional_ofNonZeroValue", (_V,), _OPTIONAL, _of_non_zero),),
        "optional.none": (_overload("optional_none", (), _OPTIONAL, lambda: OPTIONAL_NONE),),
        "value": _method("optional_value", (_OPTIONAL,), _V, _value),
        "hasValue": _method("optional_hasValue", (_OPTIONAL,), BOOL, lambda optional: optional.present),
        "or": _method("optional_or_optional", (_OPTIONAL, _OPTIONAL), _OPTIONAL),
        "orValue": _method("optional_orValue_value", (_OPTIONAL, _V), _V),
        "_?._": (_overload("select_optional_field", (DYN, STRING), _OPTIONAL),),
        "_[?_]": (
            _overload("list_optindex_optional_int", (_LIST, INT), _OPTIONAL),
            _overload("optional_list_optindex_optional_int", (optional_of(_LIST), INT), _OPTIONAL),
            _overload("map_optindex_optional_value", (_MAP, _K), _OPTIONAL),
            _overload("optional_map_optindex_optional_value", (optional_of(_MAP), _K), _OPTIONAL),
        ),
        "_[_]": (
            _overload("optional_list_index_int", (optional_of(_LIST), INT), _OPTIONAL),
            _overload("optional_map_index_value", (optional_of(_MAP), _K), _OPTIONAL),
        ),
        "first": _method("list_first", (_LIST,), _OPTIONAL, _first),
        "last": _method("list_last", (_LIST,), _OPTIONAL, _last),
        "optional.unwrap": (_overload("optional_unwrap", (_OPTIONALS,), _LIST, _unwrap),),
        "unwrapOpt": _method("optional_unwrapOpt", (_OPTIONALS,), _LIST, _unwrap),
    },
    types=(CelType("optional_type"),),
)

"""Inputs of the comparison of definitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from apiext.resources.comparison.schema_comparison import compare_schemas
from tests.support.growth.measure import Case

_LEVELS: Final = 100
_Pair = tuple[dict[str, Any], dict[str, Any]]


def _case(name: str, make: Callable[[int], _Pair], *, start: int = 64) -> Case:
    return Case(f"comparison {name}", make, lambda pair: compare_schemas(*pair), start)


def _properties(count: int, schema: Callable[[int], dict[str, Any]]) -> dict[str, Any]:
    return {"type": "object", "properties": {f"a{index}": schema(index) for index in range(count)}}


def _fields(count: int) -> _Pair:
    return _properties(count, lambda _: {"type": "string"}), _properties(count, lambda index: {"type": "string", "maxLength": index})


def _other_fields(count: int) -> _Pair:
    return _properties(count, lambda _: {"type": "string"}), {"type": "object", "properties": {"b": {"type": "string"}}}


def _values_of_a_map(count: int) -> _Pair:
    values = _properties(count, lambda _: {"type": "string"})
    return _properties(1, lambda _: _properties(count, lambda _: values)), _properties(
        1, lambda _: {"type": "object", "additionalProperties": values}
    )


def _nested(count: int) -> _Pair:
    def maps(limit: int) -> dict[str, Any]:
        schema: dict[str, Any] = _properties(count // _LEVELS + 1, lambda _: {"type": "string", "maxLength": limit})
        for _ in range(_LEVELS):
            schema = {"type": "object", "additionalProperties": _properties(count // _LEVELS + 1, lambda _: {"type": "string"}) | schema}
        return _properties(1, lambda _: schema)

    return maps(1), maps(2)


def _clauses(count: int) -> _Pair:
    def any_of(first: int) -> dict[str, Any]:
        clauses = [{"properties": {"a": {"minLength": index}}} for index in range(first, first + count)]
        return _properties(1, lambda _: {"anyOf": clauses})

    return any_of(0), any_of(count // 2)


def _rules(count: int) -> _Pair:
    def rules(first: int) -> dict[str, Any]:
        return {"x-kubernetes-validations": [{"rule": f"self.a == {index}"} for index in range(first, first + count)]}

    return rules(0), rules(count)


def _conditions(count: int) -> _Pair:
    def rule(first: int) -> dict[str, Any]:
        return {"x-kubernetes-validations": [{"rule": " && ".join(f"a{index}" for index in range(first, first + count)), "message": "a"}]}

    return rule(0), rule(1)


CASES: Final = (
    _case("changed fields", _fields),
    _case("removed fields", _other_fields),
    _case("nested maps", _nested),
    _case("fields that become values of a map", _values_of_a_map, start=1024),
    _case("required", lambda n: ({"required": list(map(str, range(n)))}, {"required": list(map(str, range(n, 2 * n)))})),
    _case("enum", lambda n: ({"enum": list(range(n))}, {"enum": list(range(n, 2 * n))})),
    _case("clauses", _clauses),
    _case("rules", _rules),
    _case("conditions of a rule", _conditions),
)

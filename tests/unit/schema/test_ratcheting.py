"""Ratcheting: unchanged values of the old object are tolerated."""

from typing import Any

import pytest

from apiext.schema.compiled import CompiledSchema

SHORT = {"type": "string", "maxLength": 1}
BOUND = {"properties": {"x": {"maxLength": 1}}}
ITEM = {"type": "object", "properties": {"k": {"type": "string"}, "v": SHORT}}
KEYED = {"type": "array", "items": ITEM, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}


def errors(schema: dict[str, Any], new: Any, old: Any) -> list[str]:
    """Return the fields that a change of the member `a` is rejected for."""
    compiled = CompiledSchema({"type": "object", "properties": {"a": schema}})
    return sorted(error.field for error in compiled.validate_values({"a": new}, {"a": old}))


@pytest.mark.parametrize(
    "schema, new, old, fields",
    [
        (SHORT, "long", "long", []),
        (SHORT, "long", "other", ["a"]),
        (SHORT, "long", None, ["a"]),
        ({"type": "string"}, 1, 1, []),
        ({"type": "string"}, 1, 1.0, ["a"]),
        ({"type": "object", "required": ["b"]}, {}, {}, []),
        ({"type": "object", "additionalProperties": SHORT}, {"x": "long", "y": "z"}, {"x": "long"}, []),
        ({"type": "object", "additionalProperties": SHORT}, {"x": "long", "y": "long"}, {"x": "long"}, ["a.y"]),
        ({"type": "object", "maxProperties": 1, "properties": {"x": {}}}, {"x": 1, "y": 1}, {"x": 1, "y": 1}, ["a"]),
        (KEYED, [{"k": "2", "v": "long"}, {"k": "1", "v": "b"}], [{"k": "1", "v": "a"}, {"k": "2", "v": "long"}], []),
        (KEYED, [{"k": "1", "v": "long"}], [{"k": "1", "v": "longer"}], ["a[0].v"]),
        (KEYED, [{"k": "1", "v": "long", "x": 1}], [{"k": "1", "v": "long"}], []),
        (KEYED, [{"k": "1", "v": "long"}], [{"k": "2", "v": "long"}], ["a[0].v"]),
        (KEYED, [{"v": "long"}], [{"v": "long"}], ["a[0].v"]),
        ({"type": "array", "items": SHORT}, ["long", "x"], ["long", "x"], []),
        ({"type": "array", "items": SHORT}, ["long", "y"], ["long", "x"], ["a[0]"]),
    ],
)
def test_tolerates_unchanged_values(schema: dict[str, Any], new: Any, old: Any, fields: list[str]) -> None:
    """Compare members by name, items of maps by key, other lists as a whole; report changed values."""
    assert errors(schema, new, old) == fields


@pytest.mark.parametrize(
    "clauses", [{name: [BOUND]} for name in ("allOf", "anyOf", "oneOf")] + [{"not": {"properties": {"x": {"maxLength": 4}}}}]
)
def test_does_not_ratchet_clauses(clauses: dict[str, Any]) -> None:
    """Validate every member in clauses of allOf, anyOf, oneOf and not; tolerate only a value that is unchanged as a whole."""
    schema = {"type": "object", "properties": {"x": {"type": "string"}, "y": {}}} | clauses

    assert errors(schema, {"x": "long", "y": 1}, {"x": "long", "y": 2}) != []
    assert errors(schema, {"x": "long", "y": 1}, {"x": "long", "y": 1}) == []


def test_not_clause_ignores_ratcheting() -> None:
    """Keep a `not` clause unmatched next to an unchanged invalid member."""
    schema = {"type": "object", "properties": {"x": {"type": "string"}, "y": {}}, "not": BOUND}

    assert errors(schema, {"x": "long", "y": 1}, {"x": "long", "y": 2}) == []


def test_always_validates_kind_and_version() -> None:
    """Validate kind and apiVersion even if they are unchanged."""
    compiled = CompiledSchema({"type": "object", "properties": {"kind": {"type": "string", "maxLength": 1}}})
    [error] = compiled.validate_values({"kind": "Long", "x": 1}, {"kind": "Long"})

    assert error.field == "kind"


def test_ratchets_the_status() -> None:
    """Tolerate the old status, and validate a new one."""
    compiled = CompiledSchema({"type": "object", "properties": {"status": {"type": "object", "properties": {"a": SHORT, "b": SHORT}}}})
    new = {"status": {"a": "long", "b": "x"}}

    assert compiled.validate_status(new, {"status": {"a": "long"}}) == []
    assert [error.field for error in compiled.validate_status(new, {})] == ["status.a"]

"""Rules of what the server keeps of an object."""

from __future__ import annotations

from typing import Any, Final

import pytest

from apiext.resources.comparison.schema_comparison import compare_schemas

Props = dict[str, Any]
CLOSED: Final[Props] = {"type": "object"}
MAP: Final[Props] = {"type": "object", "additionalProperties": {"type": "string"}}
ANY: Final[Props] = {"x-kubernetes-preserve-unknown-fields": True}
OPEN: Final[Props] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def changes(old: Props, new: Props) -> list[tuple[str, str]]:
    """Return the rules and paths of the changes of a field `a`."""
    found = compare_schemas({"properties": {"a": old}}, {"properties": {"a": new}})
    return sorted((change.rule, change.path) for change in found)


@pytest.mark.parametrize(
    "old, new, there, back",
    [
        (CLOSED, MAP, "mapValuesAdded", "mapValuesRemoved"),
        (CLOSED, OPEN, "unknownFieldsPreserved", "unknownFieldsPruned"),
        (OPEN, CLOSED | {"additionalProperties": ANY | {"nullable": True}}, "unknownFieldsSpecified", "unknownFieldsUnspecified"),
        (MAP, MAP | OPEN, None, None),
        (CLOSED, CLOSED | {"additionalProperties": False}, None, None),
        (CLOSED | {"additionalProperties": True}, CLOSED | {"additionalProperties": {}}, None, None),
        ({"type": "array", "items": CLOSED}, {"type": "array", "items": OPEN}, "unknownFieldsPreserved", "unknownFieldsPruned"),
    ],
)
def test_other_fields(old: Props, new: Props, there: str | None, back: str | None) -> None:
    """Find what happens to fields that properties do not name."""
    path = "a[]" if "items" in old else "a"

    assert changes(old, new) == ([(there, path)] if there else [])
    assert changes(new, old) == ([(back, path)] if back else [])


def test_values_of_any_type_that_become_scalars() -> None:
    """Report that stored objects lose their fields if a value of any type becomes a scalar, but nothing about scalars alone."""
    anything = {"x-kubernetes-preserve-unknown-fields": True}

    assert changes(anything, {"type": "string"}) == [("typeNarrowed", "a"), ("unknownFieldsPruned", "a")]
    assert changes({"type": "string"}, anything | {"type": "string"}) == []


@pytest.mark.parametrize(
    "other, added, removed",
    [(CLOSED, "fieldAdded", "fieldRemoved"), (MAP, "fieldSpecified", "fieldUnspecified"), (OPEN, "fieldSpecified", "fieldUnspecified")],
)
def test_fields_beside_others(other: Props, added: str, removed: str) -> None:
    """Tell a field that was dropped before from one that was kept as a map's value or unchecked."""
    kept = {"type": "string"} if other is MAP else ANY | {"nullable": True}
    with_field = other | {"properties": {"b": kept}}

    assert changes(other, with_field) == [(added, "a.b")]
    assert changes(with_field, other) == [(removed, "a.b")]


@pytest.mark.parametrize(
    "named, values, there, back",
    [
        ({"type": "integer"}, {"type": "string"}, "typeChanged", "typeChanged"),
        ({"type": "string"}, {"type": "string", "enum": ["x"]}, "enumAdded", "enumRemoved"),
        ({"type": "string", "default": "x"}, {"type": "string"}, "defaultRemoved", "defaultAdded"),
        ({"type": "string", "default": "x"}, {"type": "string", "default": "x"}, "defaultRemoved", "defaultAdded"),
        ({"type": "string", "nullable": True}, {"type": "string"}, "nullableRemoved", "nullableAdded"),
        ({"x-kubernetes-int-or-string": True}, {"type": "string"}, "typeNarrowed", "typeWidened"),
        (ANY, {"type": "string"}, "typeNarrowed", "typeWidened"),
        ({"type": "integer"}, {"type": "object"}, "typeChanged", "typeChanged"),
    ],
)
def test_a_field_that_becomes_a_value_of_a_map(named: Props, values: Props, there: str, back: str) -> None:
    """Compare a field that one schema names with the values of the map that it is, or was, one of."""
    old, new = CLOSED | {"properties": {"b": named}}, CLOSED | {"additionalProperties": values}

    assert (there, "a.b") in changes(old, new)
    assert (back, "a.b") in changes(new, old)


def test_a_value_that_gets_a_schema() -> None:
    """Report the type of a field that was unknown, and defaults, but nothing that the type excludes."""
    full = {"type": "object", "maxProperties": 3, "properties": {"c": {"type": "string", "default": "x", "maxLength": 3}}}
    old, new = OPEN, OPEN | {"properties": {"b": full}}

    assert changes(old, new) == [("defaultAdded", "a.b.c"), ("fieldSpecified", "a.b"), ("typeNarrowed", "a.b")]
    assert changes(new, old) == [("defaultRemoved", "a.b.c"), ("fieldUnspecified", "a.b"), ("typeWidened", "a.b")]
    assert changes(OPEN, CLOSED | {"additionalProperties": full}) == [
        ("defaultAdded", "a[*].c"),
        ("typeNarrowed", "a[*]"),
        ("unknownFieldsSpecified", "a"),
    ]


def test_a_null_that_gets_a_schema() -> None:
    """Report that nulls of unknown fields are dropped, once the field has a schema of any type."""
    assert changes(OPEN, OPEN | {"properties": {"b": ANY}}) == [("fieldSpecified", "a.b"), ("nullableRemoved", "a.b")]
    assert changes(OPEN, OPEN | {"properties": {"b": ANY | {"nullable": True}}}) == [("fieldSpecified", "a.b")]


def test_fields_below_a_value_of_any_type() -> None:
    """Say for each field of a value that gets a type that it was unknown, but not that its values are restricted: the type says so."""
    typed = CLOSED | {"properties": {"b": {"type": "string", "default": "x"}, "c": {"type": "integer"}}}

    assert changes(ANY, typed) == [
        ("defaultAdded", "a.b"),
        ("fieldSpecified", "a.b"),
        ("fieldSpecified", "a.c"),
        ("typeNarrowed", "a"),
        ("unknownFieldsPruned", "a"),
    ]
    assert ("typeChanged", "a.b") in changes(typed, ANY | {"properties": {"b": {"type": "integer"}}})


def test_items_of_a_list_that_preserves_unknown_fields() -> None:
    """Regard fields that items do not name as kept if the list preserves unknown fields."""
    closed = {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "string"}}}}
    more = {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "integer"}}}}

    assert changes(closed, closed | ANY) == [("unknownFieldsPreserved", "a[]")]
    assert changes(closed | ANY, more | ANY) == [("fieldSpecified", "a[].c"), ("typeNarrowed", "a[].c")]
    assert changes(more | ANY, closed) == [("fieldRemoved", "a[].c"), ("unknownFieldsPruned", "a[]")]


def test_too_many_fields_that_become_values_of_a_map() -> None:
    """Report an undecided change of type where comparing each field with the values of the map would take too long."""
    values = {"type": "object", "properties": {f"b{number}": {"type": "string"} for number in range(400)}}
    old, new = CLOSED | {"properties": {f"c{number}": values for number in range(400)}}, CLOSED | {"additionalProperties": values}

    assert [path for rule, path in changes(old, new) if rule == "typeChanged"] == ["a"]
    assert [path for rule, path in changes(new, old) if rule == "typeChanged"] == ["a"]
    assert {rule for rule, _ in changes(old, new)} == {"fieldUnspecified", "mapValuesAdded", "typeChanged"}

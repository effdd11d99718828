"""Points of schemas, and what touches them."""

from typing import Any

import pytest

from apiext.tools.suites.coverage.coverage import points_of, touched_by_object, touched_by_refusal

SCHEMA: dict[str, Any] = {
    "properties": {
        "kind": {"type": "string"},
        "spec": {
            "required": ["a"],
            "x-kubernetes-validations": [{"rule": "self.a > 1"}, {"rule": "true", "message": "never"}],
            "properties": {
                "a": {"type": "integer", "maximum": 9},
                "list": {"maxItems": 2, "items": {"properties": {"b": {"enum": ["x", "y"]}}}},
                "map": {"additionalProperties": {"type": "string", "maxLength": 3}},
            },
        },
    }
}


def test_points() -> None:
    """A schema has points for properties, values, rules, required members and limits; not for kind and metadata."""
    assert list(map(str, points_of(SCHEMA))) == [
        "property spec",
        "rule spec self.a > 1",
        "rule spec true",
        "required spec a",
        "property spec.a",
        "limit spec.a maximum",
        "property spec.list",
        "limit spec.list maxItems",
        "property spec.list[].b",
        'enum value spec.list[].b "x"',
        'enum value spec.list[].b "y"',
        "property spec.map",
        "limit spec.map[] maxLength",
    ]


def test_objects_touch_properties_and_values() -> None:
    """An object touches what it has."""
    touched = set(map(str, touched_by_object(SCHEMA, {"spec": {"list": [{"b": "x"}, {"b": "z"}], "map": {"k": "v"}, "unknown": 1}})))

    assert touched & set(map(str, points_of(SCHEMA))) == {
        "property spec",
        "property spec.list",
        "property spec.list[].b",
        'enum value spec.list[].b "x"',
        "property spec.map",
    }


@pytest.mark.parametrize(
    "field,message,expected",
    [
        ("spec.a", "Required value", ["required spec a"]),
        ("spec", "Invalid value: failed rule: self.a > 1", ["rule spec self.a > 1"]),
        ("spec.a", "Invalid value: 10: spec.a in body should be less than or equal to 9", ["limit spec.a maximum"]),
        ("spec.list", "Too many: 3: must have at most 2 items", ["limit spec.list maxItems"]),
        ("spec.map[a.b]", "Too long: may not be more than 3 bytes", ["limit spec.map[] maxLength"]),
        ("spec.map.k", "Too long: may not be more than 3 bytes", ["limit spec.map[] maxLength"]),
        ("spec.list[0].b", 'Unsupported value: "z"', []),
        ("<nil>", "Invalid value: null", []),
    ],
)
def test_refusals_touch_rules_and_limits(field: str, message: str, expected: list[str]) -> None:
    """A refusal touches the rule, the limit or the required member that it names."""
    assert list(map(str, touched_by_refusal(SCHEMA, field, message))) == expected

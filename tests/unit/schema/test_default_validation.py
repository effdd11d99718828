"""Validation of defaults in a schema."""

from typing import Any

import pytest

from apiext.base.meta.field import Path
from apiext.schema.defaulting.validation import default_errors

RESOURCE = {"type": "object", "x-kubernetes-embedded-resource": True}


def errors(schema: dict[str, Any], *, pruned: bool = True) -> list[str]:
    """Return the errors as text."""
    return [str(error) for error in default_errors(schema, Path("schema"), require_pruned=pruned)]


def at_a(**props: Any) -> dict[str, Any]:
    """Return a schema with one property."""
    return {"type": "object", "properties": {"a": props}}


@pytest.mark.parametrize(
    "schema, expected",
    [
        pytest.param(at_a(type="string", default="x"), [], id="good"),
        pytest.param(
            at_a(type="string", default=1),
            ['schema.properties[a].default: Invalid value: "integer":  in body must be of type string: "integer"'],
            id="wrong type",
        ),
        pytest.param(
            at_a(type="object", default={"b": 1}, properties={}),
            ['schema.properties[a].default: Invalid value: {"b":1}: must not have unknown fields'],
            id="unknown field",
        ),
        pytest.param(
            at_a(type="object", default={"b": "xy"}, properties={"b": {"type": "string", "maxLength": 1}}, required=["c"]),
            [
                "schema.properties[a].default.b: Too long: may not be more than 1 byte",
                "schema.properties[a].default.c: Required value",
            ],
            id="deep violations",
        ),
        pytest.param(
            at_a(type="array", items={"type": "integer", "default": "x"}),
            ['schema.properties[a].items.default: Invalid value: "string":  in body must be of type integer: "string"'],
            id="default of items",
        ),
        pytest.param(at_a(default=True, **{"x-kubernetes-int-or-string": True}), [], id="int-or-string says nothing without anyOf"),
        pytest.param(
            {
                "type": "object",
                "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "default": "Bad!/"}}}},
            },
            [
                (
                    'schema.properties[metadata].properties[name].default: Invalid value: "Bad!/": must result in valid metadata:'
                    " metadata.name: Invalid value: \"Bad!/\": may not contain '/'"
                )
            ],
            id="metadata of the root",
        ),
        pytest.param(
            at_a(**RESOURCE, properties={"metadata": {"type": "object", "default": {"labels": {"a": 1}}}}),
            [
                (
                    'schema.properties[a].properties[metadata].default: Invalid value: {"labels":{"a":1}}: must result in valid metadata:'
                    ' metadata: Invalid value: {"labels":{"a":1}}: json: cannot unmarshal number'
                    " into Go struct field ObjectMeta.labels of type string"
                )
            ],
            id="metadata of a wrong type",
        ),
        pytest.param(
            at_a(**RESOURCE, properties={"kind": {"type": "string"}}, default={"kind": "X"}),
            ["schema.properties[a].default.apiVersion: Required value"],
            id="an embedded resource as default",
        ),
    ],
)
def test_validates_defaults(schema: dict[str, Any], expected: list[str]) -> None:
    """Return the errors of defaults that are invalid in their place or unknown to the schema."""
    assert expected == errors(schema)


def test_tolerates_unpruned_defaults() -> None:
    """Accept unknown fields in defaults of definitions that had them."""
    schema = at_a(type="object", default={"b": 1}, properties={})

    assert errors(schema, pruned=False) == []

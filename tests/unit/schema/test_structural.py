"""Structural invariants, besides those that recorded definitions violate (tests/unit/resources/definitions)."""

from typing import Any

import pytest

from apiext.base.meta.field import Path
from apiext.schema.model import unsupported_field
from apiext.schema.structural import stored_structural_errors, structural_errors

INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INTSTR = "x-kubernetes-int-or-string"


def errors(schema: dict[str, Any]) -> list[str]:
    """Return the errors as text."""
    return [str(error) for error in structural_errors(schema, Path())]


def at_a(**props: Any) -> dict[str, Any]:
    """Return a schema with one property."""
    return {"type": "object", "properties": {"a": props}}


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "object"}, id="least"),
        pytest.param({PRESERVE: True}, id="any type"),
        pytest.param(at_a(**{INTSTR: True}), id="int-or-string without type"),
        pytest.param(at_a(**{INTSTR: True, "anyOf": INT_OR_STRING}), id="int-or-string by anyOf"),
        pytest.param(at_a(**{INTSTR: True, "allOf": [{"anyOf": INT_OR_STRING}, {"pattern": "x"}]}), id="int-or-string by allOf"),
        pytest.param(at_a(type="object", **{EMBEDDED: True, PRESERVE: True}), id="embedded resource"),
        pytest.param(at_a(type="object", **{EMBEDDED: True, "properties": {"kind": {"type": "string"}}}), id="embedded with properties"),
        pytest.param({"type": "object", "properties": {"metadata": {"type": "object"}}}, id="metadata"),
        pytest.param(
            {"type": "object", "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string"}}}}}, id="its name"
        ),
        pytest.param({**at_a(type="string"), "anyOf": [{"required": ["b"]}, {"properties": {"a": {"minLength": 1}}}]}, id="validations"),
        pytest.param(at_a(type="object", properties={}, anyOf=[{"properties": {"x": {}}}]), id="completeness concerns the root alone"),
    ],
)
def test_accepts_structural_schemas(schema: dict[str, Any]) -> None:
    """Return no error for a structural schema."""
    assert errors(schema) == []


@pytest.mark.parametrize(
    "schema, expected",
    [
        pytest.param(
            at_a(type="array", items={}),
            ["properties[a].items.type: Required value: must not be empty for specified array items"],
            id="item type",
        ),
        pytest.param(
            at_a(type="object", additionalProperties={}),
            ["properties[a].additionalProperties.type: Required value: must not be empty for specified object fields"],
            id="type of the values of a map",
        ),
        pytest.param(
            at_a(type="object", additionalProperties={"type": "string"}, **{EMBEDDED: True, PRESERVE: True}),
            ["properties[a].additionalProperties: Forbidden: must not be used if x-kubernetes-embedded-resource is set"],
            id="embedded map",
        ),
        pytest.param(
            {"type": "object", "properties": {"kind": {"type": "integer"}, "metadata": {"type": "string"}}},
            [
                'properties[kind].type: Invalid value: "integer": must be string',
                'properties[metadata].type: Invalid value: "string": must be object',
            ],
            id="types of type and metadata",
        ),
    ],
)
def test_reports_violated_invariants(schema: dict[str, Any], expected: list[str]) -> None:
    """Return the error of the one rule that a schema violates."""
    assert expected == errors(schema)


NESTED = {
    "type": ("string", "must be empty to be structural"),
    "description": ("x", "must be empty to be structural"),
    "title": ("x", "must be empty to be structural"),
    "default": (0, "must be undefined to be structural"),
    "nullable": (True, "must be false to be structural"),
    "additionalProperties": (True, "must be undefined to be structural"),
    PRESERVE: (True, "must be false to be structural"),
    EMBEDDED: (True, "must be false to be structural"),
    INTSTR: (True, "must be false to be structural"),
    "x-kubernetes-list-map-keys": (["a"], "must be empty to be structural"),
    "x-kubernetes-list-type": ("set", "must be undefined to be structural"),
    "x-kubernetes-map-type": ("atomic", "must be undefined to be structural"),
    "x-kubernetes-validations": ([{"rule": "true"}], "must be empty to be structural"),
}


@pytest.mark.parametrize("keyword", NESTED)
@pytest.mark.parametrize("junctor", ["allOf", "anyOf", "oneOf", "not"])
def test_rejects_structure_in_validations(keyword: str, junctor: str) -> None:
    """Reject keywords of the structure under a junctor."""
    value, reason = NESTED[keyword]
    clause = {keyword: value}
    schema = at_a(type="string", **{junctor: clause if junctor == "not" else [clause]})
    place = junctor if junctor == "not" else f"{junctor}[0]"

    assert [f"properties[a].{place}.{keyword}: Forbidden: {reason}"] == errors(schema)


def test_rejects_metadata_in_validations() -> None:
    """Reject restrictions of metadata under every junctor."""
    schema = {"type": "object", "properties": {"metadata": {"type": "object"}}, "not": {"properties": {"metadata": {}}}}

    assert errors(schema) == ["not.properties[metadata]: Forbidden: must not be specified in a nested context"]


def test_requires_complete_validations() -> None:
    """Require that a validated field is specified."""
    schema = {**at_a(type="string"), "allOf": [{"properties": {"b": {}, "a": {"items": {}}}}]}

    assert errors(schema) == [
        "properties[a].items: Required value: because it is defined in allOf[0].properties[a].items",
        "properties[b]: Required value: because it is defined in allOf[0].properties[b]",
    ]


@pytest.mark.parametrize(
    "schema, reason",
    [
        ({"type": "object"}, ""),
        ({"properties": {"a": {"$ref": "#/x"}}}, "OpenAPIV3Schema '$ref' is not supported"),
        ({"$schema": "x"}, "OpenAPIV3Schema 'schema' is not supported"),
        ({"items": [{}]}, "OpenAPIV3Schema 'items' must be a schema, but is an array"),
        ({"anyOf": [{"definitions": {"a": {}}}]}, "OpenAPIV3Schema 'definitions' is not supported"),
        ({"additionalItems": False}, "OpenAPIV3Schema 'additionalItems' is not supported"),
        ({"patternProperties": {}}, ""),
        ({PRESERVE: False}, "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"),
    ],
)
def test_names_unsupported_keywords(schema: dict[str, Any], reason: str) -> None:
    """Name the keyword that no structural schema can have."""
    assert reason == unsupported_field(schema)


def test_rejects_deeper_schemas() -> None:
    """Report one error on the root of a schema that is nested deeper than MAX_DEPTH."""
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(3000):
        schema = at_a(**schema)

    assert errors(schema) == ["<nil>: Forbidden: must not be nested deeper than 200 levels"]


def test_patterns_of_stored_schemas() -> None:
    """Report a malformed pattern that was stored, but leave out what takes long; in a new schema check that too."""
    malformed, large = at_a(type="string", pattern="("), at_a(type="string", pattern="(a{1000}){2}")

    assert [len(stored_structural_errors(schema, Path())) for schema in (malformed, large)] == [1, 0]
    assert [len(structural_errors(schema, Path())) for schema in (malformed, large)] == [1, 1]

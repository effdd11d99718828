"""Schemas of custom resources as OpenAPI publishes them."""

from typing import Any

import pytest

from apiext.api.openapi.schemas import add_object_fields, v2_schema, v3_schema

EITHER = [{"type": "integer"}, {"type": "string"}]
META: dict[str, Any] = {"$ref": "meta"}


@pytest.mark.parametrize(
    "props, published",
    [
        pytest.param({"type": "string", "title": "", "nullable": False}, {"type": "string"}, id="empty fields"),
        pytest.param({"maxLength": 0, "minimum": 0}, {"maxLength": 0, "minimum": 0}, id="zero is a limit"),
        pytest.param({"default": None, "enum": []}, {}, id="no default, no values"),
        pytest.param({"default": False}, {"default": False}, id="false default"),
        pytest.param({"type": "object", "properties": {}}, {"type": "object"}, id="no properties"),
        pytest.param({"additionalProperties": True}, {"additionalProperties": True}, id="any properties"),
        pytest.param({"additionalProperties": False}, {"additionalProperties": False}, id="no other properties"),
        pytest.param({"additionalProperties": {}}, {"additionalProperties": {}}, id="properties of any type"),
        pytest.param({"nullable": True, "type": "object"}, {"nullable": True, "type": "object"}, id="nullable"),
        pytest.param({"not": {"required": ["a"]}}, {"not": {"required": ["a"]}}, id="not"),
        pytest.param(
            {"anyOf": [{"additionalProperties": {"minLength": 1}, "required": ["a"]}]},
            {"anyOf": [{"required": ["a"]}]},
            id="additionalProperties inside anyOf is lost",
        ),
        pytest.param(
            {"x-kubernetes-int-or-string": True},
            {"x-kubernetes-int-or-string": True, "anyOf": EITHER},
            id="integer or string is spelled out",
        ),
        pytest.param(
            {"x-kubernetes-int-or-string": True, "anyOf": EITHER},
            {"x-kubernetes-int-or-string": True, "anyOf": EITHER},
            id="integer or string was spelled out",
        ),
        pytest.param(
            {"x-kubernetes-int-or-string": True, "anyOf": [{"minimum": 1}], "allOf": [{"maximum": 5}]},
            {"x-kubernetes-int-or-string": True, "anyOf": [{"minimum": 1}], "allOf": [{"anyOf": EITHER}, {"maximum": 5}]},
            id="integer or string beside another anyOf",
        ),
        pytest.param(
            {"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": EITHER}]},
            {"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": EITHER}]},
            id="integer or string inside allOf",
        ),
    ],
)
def test_v3(props: dict[str, Any], published: dict[str, Any]) -> None:
    """Keep all non-empty fields in v3, with int-or-string as anyOf."""
    assert v3_schema(props) == published


def test_v3_converts_nodes_below() -> None:
    """Convert properties, items and additionalProperties like the root."""
    below = {"x-kubernetes-int-or-string": True}
    props = {"properties": {"a": {"type": "array", "items": below}, "b": {"additionalProperties": below}}}

    published = v3_schema(props)

    expected = {**below, "anyOf": EITHER}
    assert published["properties"]["a"]["items"] == expected
    assert published["properties"]["b"]["additionalProperties"] == expected


@pytest.mark.parametrize(
    "props, published",
    [
        pytest.param({"type": "string", "anyOf": [{}], "not": {}, "default": "x"}, {"type": "string"}, id="logic and defaults"),
        pytest.param({"type": "object", "nullable": True, "properties": {"a": {}}}, {}, id="nullable loses its type"),
        pytest.param({"type": "array", "nullable": True, "items": {}}, {}, id="nullable list"),
        pytest.param(
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {}}, "description": "d"},
            {"x-kubernetes-preserve-unknown-fields": True, "description": "d"},
            id="unknown fields",
        ),
        pytest.param({"type": "array"}, {}, id="list of anything"),
        pytest.param({"x-kubernetes-int-or-string": True}, {"x-kubernetes-int-or-string": True}, id="integer or string"),
        pytest.param(
            {"type": "object", "required": ["a", "b"], "properties": {"a": {"nullable": True}, "b": {"type": "string"}}},
            {"type": "object", "required": ["b"], "properties": {"a": {}, "b": {"type": "string"}}},
            id="nullable fields are not required",
        ),
        pytest.param(
            {"type": "object", "required": ["a"], "additionalProperties": {"nullable": True, "type": "string"}},
            {"type": "object", "additionalProperties": {}},
            id="nullable members",
        ),
    ],
)
def test_v2(props: dict[str, Any], published: dict[str, Any]) -> None:
    """Keep only what kubectl supports in v2."""
    assert v2_schema(props) == published


def test_the_schema_is_not_changed() -> None:
    """Leave the schema of the definition unchanged."""
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "required": ["spec"]}
    props: dict[str, Any] = {"type": "object", "properties": {"a": embedded}}

    for convert, v2 in ((v3_schema, False), (v2_schema, True)):
        add_object_fields(convert(props), META, v2=v2)

    assert props == {"type": "object", "properties": {"a": embedded}}
    assert embedded == {"type": "object", "x-kubernetes-embedded-resource": True, "required": ["spec"]}


def test_objects_have_api_version_kind_and_metadata() -> None:
    """Replace apiVersion, kind and metadata of the definition."""
    schema = v3_schema({"type": "object", "properties": {"metadata": {"type": "object"}, "spec": {"type": "string"}}})

    add_object_fields(schema, META, v2=False)

    assert sorted(schema["properties"]) == ["apiVersion", "kind", "metadata", "spec"]
    assert schema["properties"]["metadata"] == META


@pytest.mark.parametrize("v2", [False, True])
def test_embedded_resources_have_them_too(*, v2: bool) -> None:
    """Require kind and apiVersion of embedded resources, in v2 unless they preserve unknown fields."""
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "required": ["kind"]}
    open_one = {**embedded, "x-kubernetes-preserve-unknown-fields": True}
    schema = v3_schema({"type": "array", "items": {"properties": {"a": embedded, "b": {"additionalProperties": open_one}}}})

    add_object_fields(schema, META, v2=v2)

    closed, opened = schema["items"]["properties"]["a"], schema["items"]["properties"]["b"]["additionalProperties"]
    assert closed["required"] == ["kind", "apiVersion"]
    assert sorted(closed["properties"]) == ["apiVersion", "kind", "metadata"]
    assert ("properties" in opened) is not v2

"""Declarations of schemas: types, names of fields and limits of sizes, as kube-apiserver derives them."""

from typing import Any

import pytest

from apiext.schema.cel.declarations import Declaration, DeclaredTypes, declare
from apiext.schema.model import Structural

_REQUEST = 3 * 1024 * 1024


def _declare(schema: dict[str, Any], *, resource: bool = False) -> Declaration:
    declaration = declare(Structural(schema), resource=resource)
    assert declaration is not None
    return declaration


@pytest.mark.parametrize(
    "schema, kind, max_elements, min_size",
    [
        ({"type": "boolean"}, "bool", 0, 4),
        ({"type": "integer"}, "int", 0, 1),
        ({"type": "number"}, "double", 0, 1),
        ({"type": "string"}, "string", _REQUEST - 2, 2),
        ({"type": "string", "maxLength": 10}, "string", 40, 2),
        ({"type": "string", "maxLength": -1}, "string", 0, 2),
        ({"type": "string", "enum": ["a", "bcé"]}, "string", 4, 2),
        ({"type": "string", "format": "byte"}, "bytes", _REQUEST - 2, 2),
        ({"type": "string", "format": "byte", "maxLength": 10}, "bytes", 10, 2),
        ({"type": "string", "format": "date"}, "google.protobuf.Timestamp", 12, 12),
        ({"type": "string", "format": "date-time", "maxLength": 5}, "google.protobuf.Timestamp", 32, 21),
        ({"type": "string", "format": "duration"}, "google.protobuf.Duration", 32, 3),
        ({"type": "string", "format": "uuid"}, "string", _REQUEST - 2, 2),
        ({"x-kubernetes-int-or-string": True}, "dyn", _REQUEST - 2, 1),
        ({"x-kubernetes-int-or-string": True, "maxLength": 3}, "dyn", 12, 1),
        ({"type": "array", "items": {"type": "integer"}}, "list", (_REQUEST - 2) // 2, 2),
        ({"type": "array", "items": {"type": "integer"}, "maxItems": 5}, "list", 5, 2),
        ({"type": "object", "additionalProperties": {"type": "boolean"}}, "map", (_REQUEST - 2) // 10, 2),
        ({"type": "object", "additionalProperties": {"type": "boolean"}, "maxProperties": 7}, "map", 7, 2),
        ({"type": "object", "additionalProperties": True}, "object", 0, 2),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, "object", 0, 2),
    ],
)
def test_sizes(schema: dict[str, Any], kind: str, max_elements: int, min_size: int) -> None:
    """Sizes follow from the schema's limits, or from the size of the largest request."""
    declaration = _declare(schema)

    assert (str(declaration.kind), declaration.max_elements, declaration.min_size) == (kind, max_elements, min_size)


@pytest.mark.parametrize(
    "schema",
    [
        {"x-kubernetes-preserve-unknown-fields": True},
        {"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": True}},
        {"type": "array"},
        {"type": "object", "additionalProperties": {"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": True}}},
    ],
)
def test_values_without_type_are_invisible(schema: dict[str, Any]) -> None:
    """Values without a type, and lists and maps of them, are not exposed."""
    assert declare(Structural(schema)) is None
    assert _declare({"type": "object", "properties": {"a": schema}}).fields == {}


def test_required_properties_without_default_count() -> None:
    """The least size of an object includes its required properties, except those with a default and those without type."""
    properties = {"ab": {"type": "boolean"}, "c": {"type": "string", "default": ""}, "d": {"x-kubernetes-preserve-unknown-fields": True}}
    schema = {"type": "object", "required": ["ab", "c", "d", "e"], "properties": {**properties, "1": {"type": "integer"}}}

    assert _declare(schema).min_size == 2 + 2 + 4 + 4


def test_names_are_escaped() -> None:
    """Names that are no identifiers are escaped or left out."""
    names = ["a-b", "a.b/c", "a__b", "namespace", "1a", "a b", "é", "if", "self", "__x"]
    declaration = _declare({"type": "object", "properties": {name: {"type": "integer"} for name in names}})

    assert set(declaration.fields) == {
        *("a__dash__b", "a__dot__b__slash__c", "a__underscores__b", "__namespace__", "__if__", "self", "__underscores__x"),
    }


@pytest.mark.parametrize("properties", [{}, {"metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}}}])
def test_resources_have_type_and_names(properties: dict[str, Any]) -> None:
    """The root always has apiVersion, kind and the names of the metadata, which have a greatest length."""
    schema = {"type": "object", "properties": properties}
    fields = _declare(schema, resource=True).fields
    metadata = fields["metadata"].declaration

    assert set(fields) == {"apiVersion", "kind", "metadata"}
    assert set(metadata.fields) == {"name", "generateName"}
    assert metadata.fields["name"].declaration.max_elements == (20 if properties else 1012)
    assert metadata.fields["generateName"].declaration.max_elements == 1008
    assert set(_declare(schema).fields) == set(properties)


def test_embedded_resources_are_resources() -> None:
    """The names of an embedded resource are visible too."""
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    fields = _declare({"type": "object", "properties": {"o": embedded, "l": {"type": "array", "items": embedded}}}).fields
    element = fields["l"].declaration.element

    assert element is not None
    assert set(fields["o"].declaration.fields) == set(element.fields) == {"apiVersion", "kind", "metadata"}


def test_types_are_named_after_their_places() -> None:
    """Objects get names that lead to their fields; lists and maps of them may be nested."""
    item = {"type": "object", "properties": {"if": {"type": "integer"}}}
    lists = {"type": "array", "items": {"type": "object", "additionalProperties": item}}
    types = DeclaredTypes(_declare({"type": "object", "properties": {"a-b": lists}}))

    assert str(types.kind) == "selfType0"
    assert str(types.field("selfType0", "a__dash__b")) == "list(map(string, selfType0.a__dash__b.@idx.@elem))"
    assert str(types.field("selfType0.a__dash__b.@idx.@elem", "if")) == "int"
    assert str(types.field("selfType0.a__dash__b.@idx.@elem", "__if__")) == "int"
    assert types.field("selfType0", "a-b") is None
    assert "selfType0.x" not in types

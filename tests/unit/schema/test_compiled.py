"""The compiled schema: what its one door promises."""

from typing import Any

import pytest

from apiext.meta.errors import StatusError
from apiext.schema.compiled import CompiledSchema
from apiext.schema.objectmeta.algorithm import CoercionError

RESOURCE = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "replicas": {"type": "integer", "default": 1},
                "note": {"type": "string"},
                "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "template": RESOURCE,
            },
        },
        "status": {"type": "object", "properties": {"ready": {"type": "integer", "minimum": 0}}, "required": ["ready"]},
    },
}


def resource(**more: Any) -> dict[str, Any]:
    """An object of the kind."""
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, **more}


def deep(levels: int) -> dict[str, Any]:
    """A schema of nested objects."""
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def test_coerce_does_all_that_decoding_does() -> None:
    """Metadata takes its form, unknown fields and idle nulls go; their paths come in the reference's order."""
    template = {"apiVersion": "v1", "kind": "Pod", "metadata": {"odd": 1}}
    obj = resource(metadata={"name": "a", "odd": 1}, spec={"note": None, "replicas": None, "odd": 1, "template": template}, odd=1)
    unknown = CompiledSchema(SCHEMA).coerce(obj, report=True)

    assert unknown == ["metadata.odd", "odd", "spec.odd", "spec.template.metadata.odd"]
    assert resource(spec={"replicas": None, "template": {"apiVersion": "v1", "kind": "Pod", "metadata": {}}}) == obj


def test_coerce_reports_only_when_asked() -> None:
    """Without reporting nothing is told, and everything done."""
    obj = resource(odd=1)

    assert CompiledSchema(SCHEMA).coerce(obj) == []
    assert resource() == obj


def test_preserved_objects_keep_everything() -> None:
    """Where the definition preserves unknown fields nothing is pruned, nulls included."""
    obj = resource(spec={"odd": None})

    assert CompiledSchema(None, preserve_unknown_fields=True).prune(obj) == []
    assert resource(spec={"odd": None}) == obj


def test_no_schema_knows_no_field() -> None:
    """Without a schema, and nothing preserved, only type and metadata stay."""
    obj = resource(spec={})

    assert CompiledSchema(None).prune(obj) == ["spec"]
    assert resource() == obj


def test_default_fills_in() -> None:
    """Absent fields get their defaults."""
    obj = resource(spec={})
    CompiledSchema(SCHEMA).default(obj)

    assert resource(spec={"replicas": 1}) == obj


def test_wrong_embedded_metadata_is_refused() -> None:
    """The refusal names the field, and what it holds."""
    obj = resource(spec={"template": {"metadata": 1}})
    message = "spec.template.metadata: Invalid value: 1: json: cannot unmarshal number into Go value of type v1.ObjectMeta"
    with pytest.raises(CoercionError) as refused:
        CompiledSchema(SCHEMA).coerce(obj)

    assert str(refused.value.error) == message


def test_validate_looks_at_everything() -> None:
    """Values come first, then embedded resources, then lists."""
    obj = resource(spec={"replicas": "x", "template": {"kind": "Pod"}, "tags": ["a", "a"]})

    assert [str(error) for error in CompiledSchema(SCHEMA).validate(obj)] == [
        'spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string"',
        "spec.template.apiVersion: Required value",
        'spec.tags[1]: Duplicate value: "a"',
    ]


def test_update_tolerates_old_repetitions() -> None:
    """An object whose lists had repetitions before may keep and change them."""
    schema = CompiledSchema(SCHEMA)
    old, new = resource(spec={"tags": ["a", "a"]}), resource(spec={"tags": ["b", "b"]})

    assert schema.validate_update(new, old) == []
    assert [str(error) for error in schema.validate_update(new, resource())] == ['spec.tags[1]: Duplicate value: "b"']


def test_status_is_validated_alone() -> None:
    """The status subresource looks at nothing but the status."""
    schema = CompiledSchema(SCHEMA)

    assert schema.validate_status(resource(spec={"replicas": "x"})) == []
    assert [str(error) for error in schema.validate_status(resource(status={}))] == ["status.ready: Required value"]
    assert [str(error) for error in schema.validate_status(resource(status={"ready": -1}))] == [
        "status.ready: Invalid value: -1: ready in body should be greater than or equal to 0"
    ]
    assert [str(error) for error in schema.validate_status(resource(status=1))] == [
        'status: Invalid value: "integer":  in body must be of type object: "integer"'
    ]
    assert CompiledSchema({"type": "object"}).validate_status(resource(status=1)) == []


def test_unvisited_parts_are_not_compiled() -> None:
    """A schema of thousands of properties costs what an object uses of it."""
    wide = {"type": "object", "properties": {f"p{index}": deep(3) for index in range(3000)}}
    schema = CompiledSchema(wide)
    obj: dict[str, Any] = {"p7": {"a": {"a": {"a": {"a": "x"}}}}}
    schema.coerce(obj)
    schema.default(obj)
    errors = schema.validate(obj)
    touched = [name for name, child in schema.structural.properties.items() if _is_built(child)]

    assert errors == []
    assert touched == ["p7"]


def _is_built(node: Any) -> bool:
    try:
        object.__getattribute__(node, "properties")
    except AttributeError:
        return False
    return True


@pytest.mark.parametrize("method", ["prune", "default", "validate", "validate_status", "coerce"])
def test_what_is_too_deep_is_refused(method: str) -> None:
    """Nesting beyond what can be walked is a client's error, by every method."""
    levels = 3000
    value: Any = "x"
    for _ in range(levels):
        value = {"a": value}
    schema = CompiledSchema({"type": "object", "properties": {"status": deep(levels)}})
    with pytest.raises(StatusError) as raised:
        getattr(schema, method)({"status": value})

    assert raised.value.code == 400
    assert raised.value.message == "exceeded max depth"


def test_ordinary_depth_is_no_problem() -> None:
    """A hundred levels are walked."""
    value: Any = "x"
    for _ in range(101):
        value = {"a": value}
    schema = CompiledSchema(deep(100))

    assert schema.prune(value) == []
    assert schema.validate(value) == []

"""The interface of the compiled schema."""

from itertools import combinations, product
from typing import Any

import pytest

from apiext.base.meta.field import FieldError
from apiext.base.meta.limits import MAX_DEPTH
from apiext.schema.compiled import CompiledSchema
from apiext.schema.embedded_metadata import CoercionError

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
    """Return an object of the kind."""
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, **more}


def deep(levels: int) -> dict[str, Any]:
    """Return a schema of nested objects."""
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def errors(schema: CompiledSchema, obj: dict[str, Any], old: dict[str, Any] | None = None) -> list[FieldError]:
    """Return all errors of an object."""
    return [*schema.validate_values(obj, old), *schema.validate_resources(obj), *schema.validate_lists(obj, old)]


def test_coerce_does_all_of_decoding() -> None:
    """Coerce metadata, drop unknown fields and idle nulls, and report paths in the reference's order."""
    template = {"apiVersion": "v1", "kind": "Pod", "metadata": {"odd": 1}}
    obj = resource(metadata={"name": "a", "odd": 1}, spec={"note": None, "replicas": None, "odd": 1, "template": template}, odd=1)
    unknown = CompiledSchema(SCHEMA).coerce(obj, report=True)

    assert unknown == ["metadata.odd", "odd", "spec.odd", "spec.template.metadata.odd"]
    assert resource(spec={"replicas": None, "template": {"apiVersion": "v1", "kind": "Pod", "metadata": {}}}) == obj


def test_coerce_reports_on_request() -> None:
    """Drop fields without a report unless one is requested."""
    obj = resource(odd=1)

    assert CompiledSchema(SCHEMA).coerce(obj) == []
    assert resource() == obj


def test_preserves_unknown_fields() -> None:
    """Prune nothing, nulls included, where the definition preserves unknown fields."""
    obj = resource(spec={"odd": None})

    assert CompiledSchema(None, preserve_unknown_fields=True).coerce(obj, report=True) == []
    assert resource(spec={"odd": None}) == obj


def test_prunes_everything_without_schema() -> None:
    """Keep only type and metadata without a schema."""
    obj = resource(spec={})

    assert CompiledSchema(None).coerce(obj, report=True) == ["spec"]
    assert resource() == obj


def test_sets_defaults() -> None:
    """Set the defaults of absent fields."""
    obj = resource(spec={})
    CompiledSchema(SCHEMA).default(obj)

    assert resource(spec={"replicas": 1}) == obj


def test_checks_replaced_members_again() -> None:
    """Find an object canonical only as long as all its members are, whatever was found before about some of them."""
    schema = CompiledSchema({"type": "object", "properties": {"spec": {"type": "object"}, "status": {"type": "object", "default": {}}}})
    obj = resource(spec={})
    schema.coerce(obj, defaults=True)

    assert schema.is_canonical(obj)
    assert not schema.is_canonical(obj | {"spec": {"odd": 1}})
    assert not schema.is_canonical(obj | {"odd": 1})
    assert not schema.is_canonical(obj | {"odd": None})
    assert not schema.is_canonical({name: member for name, member in obj.items() if name != "status"})


@pytest.mark.parametrize(
    "items, expected",
    [
        ([{"name": "a"}, {"name": "b", "port": 1}], [{"name": "a", "port": 80, "at": {"x": 1}}, {"name": "b", "port": 1, "at": {"x": 1}}]),
        ([{"name": "a", "odd": 1}, {}], [{"name": "a", "port": 80, "at": {"x": 1}}, {"port": 80, "at": {"x": 1}}]),
        ([{"at": {"x": 2}, "port": 1}, 3, None], [{"at": {"x": 2}, "port": 1}, 3, {"port": 80, "at": {"x": 1}}]),
    ],
)
def test_sets_defaults_in_items(items: list[Any], expected: list[Any]) -> None:
    """Set defaults in all objects of a list."""
    properties = {
        "name": {"type": "string"},
        "port": {"type": "integer", "default": 80},
        "at": {"type": "object", "default": {}, "properties": {"x": {"type": "integer", "default": 1}}},
    }
    listed = {"type": "array", "items": {"type": "object", "default": {}, "properties": properties}}
    obj = {"list": items}
    CompiledSchema({"type": "object", "properties": {"list": listed}}).coerce(obj, defaults=True)

    assert expected == obj["list"]


def test_items_share_no_default() -> None:
    """Give each item of a list its own copy of a default."""
    items = {"type": "object", "properties": {"at": {"type": "object", "default": {"x": 1}, "x-kubernetes-preserve-unknown-fields": True}}}
    obj: dict[str, Any] = {"list": [{}, {}]}
    schema = CompiledSchema({"type": "object", "properties": {"list": {"type": "array", "items": items}}})
    schema.coerce(obj, defaults=True)

    assert obj["list"] == [{"at": {"x": 1}}] * 2
    assert obj["list"][0]["at"] is not obj["list"][1]["at"]


@pytest.mark.parametrize(
    "items, expected",
    [
        ([], True),
        ([{"name": "a"}, {"name": "b", "port": 1}], True),
        ([{"name": "a"}, {"port": 1}], False),
        ([{"name": "a"}, {"name": 1}], False),
        ([{"name": "a"}, {"name": "b", "port": True}], False),
        ([{"name": "a"}, 1], False),
        ([{"name": "a"}, None], False),
        ([{"name": "a"}, [{"name": "a"}]], False),
        ([[{"name": "a"}]], False),
    ],
)
def test_validates_items(items: list[Any], expected: bool) -> None:  # noqa: FBT001
    """Find a list of objects valid if each item is an object, has the required members, and only valid ones."""
    properties = {"name": {"type": "string", "pattern": "^[a-z]$"}, "port": {"type": "integer"}}
    listed = {"type": "array", "items": {"type": "object", "required": ["name"], "properties": properties}}
    schema = CompiledSchema({"type": "object", "properties": {"list": listed}})

    assert expected == schema.is_valid({"list": items})
    assert expected == (not schema.validate_values({"list": items}))


@pytest.mark.parametrize(
    "schema, valid, invalid",
    [
        ({"type": "string", "pattern": "^a"}, ["a", "ab"], ["b", "", 1, True, None, ["a"], {"a": 1}]),
        ({"type": "string", "pattern": "^a", "nullable": True}, ["a", None], ["b", 1]),
        ({"type": "string", "pattern": "^a", "maxLength": 2}, ["a"], ["abc", "b", 1]),
        ({"type": "boolean", "pattern": "^a"}, [True], ["a", 1, None]),
        ({"pattern": "^a"}, ["a", 1, None, {}], ["b"]),
    ],
)
def test_checks_patterns_of_strings(schema: dict[str, Any], valid: list[Any], invalid: list[Any]) -> None:
    """Match strings only, at first and again, and leave other types to the type."""
    compiled = CompiledSchema({"type": "object", "properties": {"x": schema}})

    for _ in range(2):
        assert all(compiled.is_valid({"x": value}) for value in valid)
        assert not any(compiled.is_valid({"x": value}) for value in invalid)


def test_validates_replaced_members_again() -> None:
    """Validate an object anew if a member was replaced, added or removed, and always where the schema has rules for the metadata."""
    spec = {"type": "object", "properties": {"size": {"type": "integer"}}}
    schema = CompiledSchema({"type": "object", "required": ["spec"], "properties": {"spec": spec}})
    obj = resource(spec={"size": 1})
    named = {"type": "object", "properties": {"name": {"type": "string", "pattern": "^a$"}}}
    strict = CompiledSchema({"type": "object", "properties": {"metadata": named}})

    assert not schema.is_valid({})
    assert schema.is_valid(obj)
    assert schema.is_valid(obj | {"metadata": {}})
    assert not schema.is_valid(obj | {"spec": {"size": "x"}})
    assert not schema.is_valid({name: member for name, member in obj.items() if name != "spec"})
    assert strict.is_valid(obj | {"metadata": {"name": "a"}})
    assert not strict.is_valid(obj | {"metadata": {"name": "b"}})


_PARTS: list[dict[str, Any]] = [
    {"spec": {"size": 1}},
    {"spec": {"size": "x"}},
    {"status": {"ready": True}},
    {"status": {"ready": 1}},
    {"status": None},
    {"other": 1},
    {"other": "x"},
    {"kind": 1},
]


@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"required": ["status"]},
        {"maxProperties": 4},
        {"minProperties": 5},
        {"not": {"required": ["spec", "status"]}},
        {"anyOf": [{"required": ["status"]}, {"required": ["other"]}]},
        {"additionalProperties": {"type": "integer"}, "properties": None},
        {"enum": [1]},
    ],
    ids=lambda keywords: next(iter(keywords), "none"),
)
def test_valid_members_do_not_hide_others(keywords: dict[str, Any]) -> None:
    """Judge an object alike whatever object was valid before it, also one with which it shares members."""
    properties = {
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
        "other": {"type": "integer"},
    }
    raw = {"type": "object", "properties": properties} | keywords
    objects = [resource() | {name: member for part in chosen for name, member in part.items()} for chosen in combinations(_PARTS, 2)]
    alone = [CompiledSchema(raw).is_valid(obj) for obj in objects]
    for before, (after, valid) in product(objects, zip(objects, alone, strict=True)):
        schema = CompiledSchema(raw)
        schema.is_valid(before)
        assert schema.is_valid(after) == valid, (before, after)


def test_lists_with_keys_are_checked_for_merging() -> None:
    """Leave lists of type set and map to the check of the merge type, and objects that are not valid."""
    tags = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
    plain, keyed = (CompiledSchema({"type": "object", "properties": {"spec": one}}) for one in ({"type": "object"}, tags))

    assert plain.is_surely_typed(resource(spec={}))
    assert not plain.is_surely_typed(resource(spec=1))
    assert not keyed.is_surely_typed(resource(spec=["a"]))


def test_knows_what_was_found_typed() -> None:
    """Know the types of the last valid object only, whatever its metadata is, and not where they need another check."""
    tags = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
    plain, keyed = (CompiledSchema({"type": "object", "properties": {"spec": one}}) for one in ({"type": "object"}, tags))
    obj, listed = resource(spec={}), resource(spec=["a"])

    assert not plain.is_known_typed(obj)
    assert plain.is_valid(obj)
    assert keyed.is_valid(listed)
    assert plain.is_known_typed(obj | {"metadata": {}})
    assert not keyed.is_known_typed(listed)
    assert not plain.is_known_typed(obj | {"spec": {"a": 1}})
    assert not plain.is_known_typed(obj | {"status": {}})


def test_rejects_wrong_embedded_metadata() -> None:
    """Name the field and its value."""
    obj = resource(spec={"template": {"metadata": 1}})
    message = "spec.template.metadata: Invalid value: 1: json: cannot unmarshal number into Go value of type v1.ObjectMeta"
    with pytest.raises(CoercionError) as refused:
        CompiledSchema(SCHEMA).coerce(obj)

    assert str(refused.value.error) == message


def test_validates_in_order() -> None:
    """Return the errors of values, then of embedded resources, then of lists."""
    obj = resource(spec={"replicas": "x", "template": {"kind": "Pod"}, "tags": ["a", "a"]})

    assert [str(error) for error in errors(CompiledSchema(SCHEMA), obj)] == [
        'spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string"',
        "spec.template.apiVersion: Required value",
        'spec.tags[1]: Duplicate value: "a"',
    ]


def test_tolerates_old_repetitions() -> None:
    """Tolerate repeated list items if the old object had some."""
    schema = CompiledSchema(SCHEMA)
    old, new = resource(spec={"tags": ["a", "a"]}), resource(spec={"tags": ["b", "b"]})

    assert errors(schema, new, old) == []
    assert [str(error) for error in errors(schema, new, resource())] == ['spec.tags[1]: Duplicate value: "b"']


def test_validates_the_status_alone() -> None:
    """Validate only the status for the status subresource."""
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


def test_compiles_visited_parts_only() -> None:
    """Compile only the nodes that an object uses."""
    wide = {"type": "object", "properties": {f"p{index}": deep(3) for index in range(3000)}}
    schema = CompiledSchema(wide)
    obj: dict[str, Any] = {"p7": {"a": {"a": {"a": {"a": "x"}}}}}
    schema.coerce(obj)
    schema.default(obj)
    found = errors(schema, obj)
    touched = [name for name, child in schema.structural.properties.items() if "properties" in vars(child)]

    assert found == []
    assert touched == ["p7"]


_LIMITS: dict[str, Any] = {"minItems": 0, "maxItems": 9, "minProperties": 0, "maxProperties": 9, "nullable": True}


@pytest.mark.parametrize("keyword", ["items", "additionalProperties"])
@pytest.mark.parametrize("leaf", ["x", 5])
def test_handles_the_greatest_depth(keyword: str, leaf: Any) -> None:
    """Prune, default and validate an object of MAX_DEPTH levels within Python's default recursion limit, valid or not."""
    schema: dict[str, Any] = {"type": "string"}
    value: Any = leaf
    for _ in range(MAX_DEPTH - 1):
        schema = {"type": "array" if keyword == "items" else "object", keyword: schema, **_LIMITS}
        value = [value] if keyword == "items" else {"a": value}
    obj: dict[str, Any] = {"spec": value}
    compiled = CompiledSchema({"type": "object", "properties": {"spec": schema}})

    assert compiled.coerce(obj, report=True) == []
    compiled.default(obj)
    assert len(errors(compiled, obj)) == (leaf == 5)
    assert len(errors(compiled, obj, {"spec": None})) == (leaf == 5)

"""The walk through two schemas."""

from __future__ import annotations

from typing import Any, Final

import pytest

from apiext.resources.comparison.schema_comparison import compare_schemas

Props = dict[str, Any]
TEXT: Final[Props] = {"type": "string"}
SHORT: Final[Props] = {"type": "string", "maxLength": 3}


def obj(**properties: Props) -> Props:
    """Return the schema of an object."""
    return {"type": "object", "properties": properties}


def items(schema: Props) -> Props:
    """Return the schema of a list."""
    return {"type": "array", "items": schema}


def values(schema: Props) -> Props:
    """Return the schema of a map."""
    return {"type": "object", "additionalProperties": schema}


def changes(old: Props | None, new: Props | None) -> list[tuple[str, str]]:
    """Return the rules and paths of the changes."""
    return sorted((change.rule, change.path) for change in compare_schemas(old, new))


@pytest.mark.parametrize(
    "wrap, path",
    [
        (lambda schema: obj(a=schema), "a"),
        (lambda schema: obj(spec=obj(a=obj(b=schema))), "spec.a.b"),
        (lambda schema: obj(a=items(schema)), "a[]"),
        (lambda schema: obj(a=items(obj(b=schema))), "a[].b"),
        (lambda schema: obj(a=items(items(schema))), "a[][]"),
        (lambda schema: obj(a=values(schema)), "a[*]"),
        (lambda schema: obj(a=values(items(obj(b=schema)))), "a[*][].b"),
        (lambda schema: obj(**{"x.y/z": schema}), "x.y/z"),
    ],
)
def test_paths(wrap: Any, path: str) -> None:
    """Name fields as errors about objects do, with [] for items and [*] for values of maps."""
    assert changes(wrap(TEXT), wrap(SHORT)) == [("maxLengthNarrowed", path)]


def test_a_removed_field_is_one_change() -> None:
    """Report an added or removed field without the fields below it."""
    full = obj(spec=obj(a=obj(b=TEXT, c=items(SHORT))))

    assert changes(full, obj(spec=obj())) == [("fieldRemoved", "spec.a")]
    assert changes(obj(spec=obj()), full) == [("fieldAdded", "spec.a")]


def test_a_required_field_that_is_new() -> None:
    """Report both that a field is new and that it is required."""
    assert changes(obj(), obj(a=TEXT) | {"required": ["a"]}) == [("fieldAdded", "a"), ("requiredAdded", "a")]


def test_a_default_of_a_required_field() -> None:
    """Tell a default for a field that all objects have from one that appears in objects."""
    old, new = obj(a=TEXT), obj(a=TEXT | {"default": "x"})
    required = {"required": ["a"]}

    assert changes(old | required, new | required) == [("requiredDefaultAdded", "a")]
    assert changes(old, new | required) == [("defaultAdded", "a"), ("requiredWithDefaultAdded", "a")]
    assert changes(old | required, new) == [("defaultAdded", "a"), ("requiredRemoved", "a")]


def test_the_root_has_no_path() -> None:
    """Report changes of the root with an empty path."""
    rule = [{"rule": "self.metadata.name == 'a'"}]

    assert changes(obj(), obj() | {"x-kubernetes-validations": rule}) == [("ruleAdded", "")]


def test_missing_schemas() -> None:
    """Compare a missing schema as an empty one."""
    assert changes(None, None) == []
    assert changes(None, obj(a=TEXT)) == [("fieldAdded", "a"), ("typeNarrowed", "")]


@pytest.mark.parametrize("wrap", [lambda schema: schema, lambda schema: obj(a=schema | {"x-kubernetes-embedded-resource": True})])
def test_fields_that_every_resource_has(wrap: Any) -> None:
    """Do not report apiVersion, kind and metadata of resources as added or removed: the server knows them without a schema."""
    named = obj(apiVersion=TEXT, kind=TEXT, metadata=obj(name=TEXT), spec=TEXT)

    assert changes(wrap(named), wrap(obj(spec=TEXT))) == []
    assert changes(wrap(obj(spec=TEXT)), wrap(named)) == []


def test_metadata_of_other_objects() -> None:
    """Report metadata of an object that is no resource as any field."""
    assert changes(obj(a=obj(metadata=obj(name=TEXT))), obj(a=obj())) == [("fieldRemoved", "a.metadata")]
    assert changes(obj(a=obj(metadata=obj(name=TEXT))), obj(a=obj(metadata=obj()))) == [("fieldRemoved", "a.metadata.name")]


def test_metadata_of_resources_keeps_its_fields() -> None:
    """Report a schema for the values of metadata of an embedded resource as one for fields that were kept before."""

    def resource(metadata: Props) -> Props:
        return obj(a=obj(metadata=metadata) | {"x-kubernetes-embedded-resource": True})

    old, new = resource(obj()), resource(values(TEXT))

    assert changes(old, new) == [("typeNarrowed", "a.metadata[*]"), ("unknownFieldsSpecified", "a.metadata")]
    assert changes(new, old) == [("typeWidened", "a.metadata[*]"), ("unknownFieldsUnspecified", "a.metadata")]


def test_metadata_that_becomes_a_map() -> None:
    """Compare fields of metadata that a schema names with the values of the map that they become, as any field."""
    old = obj(a=obj(metadata=obj(generation={"type": "integer"})) | {"x-kubernetes-embedded-resource": True})
    new = obj(a=obj(metadata=values(TEXT)) | {"x-kubernetes-embedded-resource": True})

    assert ("typeChanged", "a.metadata.generation") in changes(old, new)
    assert ("typeChanged", "a.metadata.generation") in changes(new, old)


def test_limits_of_the_name() -> None:
    """Report a restriction of metadata.name, which is the only one that a schema may have for metadata."""
    assert changes(obj(), obj(metadata=obj(name=SHORT))) == [("maxLengthNarrowed", "metadata.name")]
    assert changes(obj(metadata=obj(name=SHORT)), obj()) == [("maxLengthWidened", "metadata.name")]


def test_an_object_that_becomes_a_map() -> None:
    """Report the fields that become unnamed values of a map."""
    old, new = obj(a=obj(b=TEXT)), obj(a=values(TEXT))

    assert changes(old, new) == [("fieldUnspecified", "a.b"), ("mapValuesAdded", "a")]
    assert changes(new, old) == [("fieldSpecified", "a.b"), ("mapValuesRemoved", "a")]


def test_items_beside_unknown_ones() -> None:
    """Compare items of a list with values of any type if the other schema does not specify its items."""
    unknown = {"type": "array", "x-kubernetes-preserve-unknown-fields": True}

    assert changes(obj(a=unknown), obj(a=unknown | {"items": TEXT})) == [("typeNarrowed", "a[]")]
    assert changes(obj(a=unknown), obj(a=items(TEXT))) == [("typeNarrowed", "a[]"), ("unknownFieldsPruned", "a[]")]


def test_empty_schemas_of_properties() -> None:
    """Compare null as an empty schema, as Go reads it."""
    assert changes(obj(a={}), {"type": "object", "properties": {"a": None}}) == []


@pytest.mark.parametrize("outer", ["atomic", "set", "map"])
def test_types_of_lists_and_maps_in_others(outer: str) -> None:
    """Call it harmless that a part merges in another way if a list or map around it is replaced as a whole."""
    of_list = {"type": "array", "x-kubernetes-list-type": outer, "x-kubernetes-list-map-keys": ["k"]}
    of_map = {"type": "object", "x-kubernetes-map-type": "atomic" if outer == "atomic" else "granular"}
    changed = [
        {"x-kubernetes-list-type": kind, "x-kubernetes-map-type": other} for kind, other in (("set", "granular"), ("atomic", "atomic"))
    ]
    old, new = (
        {
            "properties": {
                "l": of_list | {"items": {"properties": {"a": one}}},
                "m": of_map | {"properties": {"a": {"properties": {"b": one}}}},
            }
        }
        for one in changed
    )

    there, back = ({(change.path, change.rule) for change in compare_schemas(*pair)} for pair in ((old, new), (new, old)))

    paths = ("l[].a", "m.a.b")
    whole = {(path, rule) for path in paths for rule in ("listTypeChanged", "mapTypeChanged")}
    parts = {(path, "mergedPartChanged") for path in paths}
    assert there == (parts if outer == "atomic" else whole)
    # items of a set must not repeat
    assert back == (parts | {(path, "listTypeChanged") for path in paths} if outer == "atomic" else whole)

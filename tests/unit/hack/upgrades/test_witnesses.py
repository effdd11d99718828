"""Objects that show what a change does."""

from typing import Any

import pytest

from apiext.resources.comparison.definition_comparison import compare_definitions
from apiext.resources.comparison.grades import Grades
from hack.lib.upgrades.witnesses import with_required, witnesses
from tests.support.builders.crds import crd, definition, version
from tests.support.builders.seeds import seeded

Json = dict[str, Any]
STRING: Json = {"type": "string"}
FEW: Json = {"type": "array", "maxItems": 5, "items": STRING | {"maxLength": 9}}
MANY: Json = {"type": "array", "maxItems": 300, "items": {"type": "object", "properties": {"few": FEW}}}


def test_a_path_is_required_through_lists_and_maps() -> None:
    """Require each property on the way, an item of a list and a value of a map; leave the given schema as it is."""
    item = {"type": "object", "properties": {"name": STRING, "other": STRING}}
    of_map = {"type": "object", "additionalProperties": {"type": "array", "items": item}}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "required": ["a"], "properties": {"a": STRING, "m": of_map}}}}

    found = with_required(schema, "spec.m[*][].name")

    spec = found["properties"]["spec"]
    lists = spec["properties"]["m"]["additionalProperties"]
    assert (found["required"], spec["required"]) == (["spec"], ["a", "m"])
    assert (spec["properties"]["m"]["minProperties"], lists["minItems"], lists["items"]["required"]) == (1, 1, ["name"])
    assert "required" not in item
    assert "required" not in schema


def test_a_path_that_the_schema_lacks_is_required_as_far_as_it_goes() -> None:
    """End at the first step without a schema."""
    schema = {"type": "object", "properties": {"spec": {"type": "object"}}}

    assert with_required(schema, "spec.a.b")["required"] == ["spec"]


@pytest.mark.parametrize(
    "old, new",
    [
        ({"type": "string", "enum": ["x", "y"]}, {"type": "string", "enum": ["x"]}),
        ({"type": "string"}, None),
        ({"type": "string"}, {"type": "string", "maxLength": 3}),
        ({"type": "string", "default": "x"}, {"type": "string", "default": "y"}),
        (MANY, MANY | {"maxItems": 120}),
        (MANY, MANY | {"x-kubernetes-validations": [{"rule": "self.size() == 0 || self[0].few.size() < 5"}]}),
    ],
    ids=["enum", "field", "length", "default", "items", "items-of-items"],
)
def test_an_object_shows_a_change(old: Json, new: Json | None) -> None:
    """Find an object that the old definition accepts, and the new one refuses, cuts or alters."""
    before, after = (
        definition(crd("widgets", version("v1", storage=True, schema=_with_spec({"a": field} if field else {})))) for field in (old, new)
    )

    (found,) = witnesses(before, after, compare_definitions(before, after, Grades()), seeded(1))

    assert found.version == "v1"
    assert "spec" in found.bodies[0]


def _with_spec(properties: Json) -> Json:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": {"b": {"type": "integer"}} | properties}}}

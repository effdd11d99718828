"""The places of schemas at which objects have values."""

from typing import Any

from hack.lib.foretell.schema_places import places

Json = dict[str, Any]
STRING: Json = {"type": "string"}


def test_places_have_the_values_of_objects() -> None:
    """Find values below objects, lists and maps, and none of the metadata."""
    resource = {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"kind": STRING, "a": STRING}}
    spec = {
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": {"type": "object", "properties": {"a": STRING}}},
            "map": {"type": "object", "additionalProperties": STRING},
            "resource": resource,
        },
    }
    schema = {"type": "object", "properties": {"kind": STRING, "metadata": {"type": "object"}, "spec": spec}}
    objects: list[Json] = [{"kind": "A", "spec": {"list": [{"a": "x"}, {}], "map": {"k": "y"}}}, {"spec": None}, {}]

    assert {place.path: place.values for place in places(schema, objects)} == {
        "root": objects,
        "spec": [objects[0]["spec"], None],
        "spec.list": [[{"a": "x"}, {}]],
        "spec.list[]": [{"a": "x"}, {}],
        "spec.list[].a": ["x"],
        "spec.map": [{"k": "y"}],
        "spec.map[]": ["y"],
        "spec.resource": [],
        "spec.resource.a": [],
    }

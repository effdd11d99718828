"""Pruning of unspecified fields."""

from typing import Any

import pytest

from apiext.schema.model import Structural
from apiext.schema.pruning import prune

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
STRING = {"type": "string"}


def pruned(schema: Any, obj: Any, *, root: bool = False) -> tuple[Any, list[str]]:
    """Return the object after pruning, and the paths."""
    structural = Structural(schema)
    return obj, prune(obj, structural.as_resource() if root else structural)


@pytest.mark.parametrize(
    "schema, obj, expected, paths",
    [
        pytest.param(None, {"a": 1, "b": {}}, {}, ["a", "b"], id="no schema knows no field"),
        pytest.param({}, {"a": 1}, {}, ["a"], id="nor does an empty one"),
        pytest.param({"properties": {"a": STRING}}, {"a": "x", "b": 1}, {"a": "x"}, ["b"], id="unknown property"),
        pytest.param(
            {"properties": {"a": {"properties": {"b": STRING}}}},
            {"a": {"b": "x", "c": 1}, "d": {}},
            {"a": {"b": "x"}},
            ["a.c", "d"],
            id="nested property",
        ),
        pytest.param(
            {"properties": {"l": {"items": {"properties": {"a": STRING}}}}},
            {"l": [{"a": "x"}, {"a": "y", "b": 1}, "z"]},
            {"l": [{"a": "x"}, {"a": "y"}, "z"]},
            ["l[1].b"],
            id="items",
        ),
        pytest.param({"properties": {"l": {}}}, {"l": [[{"a": 1}], 1]}, {"l": [[{}], 1]}, ["l[0][0].a"], id="items without schema"),
        pytest.param({"properties": {"s": STRING}}, {"s": {"a": 1}}, {"s": {}}, ["s.a"], id="an object where a scalar belongs"),
        pytest.param(
            {"additionalProperties": {"properties": {"a": STRING}}},
            {"k": {"a": "x", "b": 1}},
            {"k": {"a": "x"}},
            ["k.b"],
            id="additionalProperties",
        ),
        pytest.param({"additionalProperties": True}, {"k": {"a": 1}, "s": 1}, {"k": {}, "s": 1}, ["k.a"], id="additionalProperties: true"),
        pytest.param({PRESERVE: True}, {"a": {"b": 1}}, {"a": {"b": 1}}, [], id="preserve"),
        pytest.param(
            {PRESERVE: True, "properties": {"a": {"properties": {}}}},
            {"a": {"b": 1}, "c": {"d": 1}},
            {"a": {}, "c": {"d": 1}},
            ["a.b"],
            id="preserve, but prune below what is specified",
        ),
        pytest.param(
            {"properties": {"p": {PRESERVE: True, "items": {"properties": {"a": {"properties": {}}}}}}},
            {"p": [{"a": {"x": 1}, "b": {"y": 1}}]},
            {"p": [{"a": {}, "b": {"y": 1}}]},
            ["p[0].a.x"],
            id="preserve reaches the items of a list",
        ),
    ],
)
def test_drops_and_reports_unknown_fields(schema: Any, obj: Any, expected: Any, paths: list[str]) -> None:
    """Drop what the schema does not specify and report its path."""
    assert (expected, paths) == pruned(schema, obj)


def test_keeps_type_and_metadata_of_a_resource() -> None:
    """Keep apiVersion, kind and metadata of the root, whatever the schema specifies."""
    obj = {"apiVersion": "v1", "kind": "X", "metadata": {"whatever": 1}, "spec": 1}

    assert pruned({}, obj, root=True) == ({"apiVersion": "v1", "kind": "X", "metadata": {"whatever": 1}}, ["spec"])


def test_drops_type_and_metadata_of_a_plain_object() -> None:
    """Drop the same names elsewhere; at the root they are not reported."""
    schema: dict[str, Any] = {"properties": {"a": {}}}
    obj = {"kind": "X", "a": {"kind": "X", "metadata": {}}}

    assert pruned(schema, obj) == ({"a": {}}, ["a.kind", "a.metadata"])


def test_keeps_type_and_metadata_of_embedded_resources() -> None:
    """Treat an embedded resource as a root, also in lists and in preserved fields."""
    schema = {"properties": {"l": {"items": {EMBEDDED: True}}, "p": {EMBEDDED: True, PRESERVE: True, "properties": {"metadata": {}}}}}
    obj = {"l": [{"apiVersion": "v1", "metadata": {"a": 1}, "x": 1}], "p": {"metadata": {"b": 1}, "y": 1}}
    expected = {"l": [{"apiVersion": "v1", "metadata": {"a": 1}}], "p": {"metadata": {"b": 1}, "y": 1}}

    assert (expected, ["l[0].x"]) == pruned(schema, obj)


def test_sorts_paths() -> None:
    """Return paths in the order of their text."""
    assert pruned({"properties": {"b": {"items": {}}}}, {"c": 1, "b": [{"z": 1}], "a": 1})[1] == ["a", "b[0].z", "c"]


def test_prunes_deep_lists_without_a_schema() -> None:
    """Prune lists of any depth that no schema specifies."""
    deep: Any = {"x": 1}
    for _ in range(5000):
        deep = [deep]
    paths = prune({"a": deep}, Structural({"properties": {"a": {}}}))

    assert paths == ["a" + "[0]" * 5000 + ".x"]

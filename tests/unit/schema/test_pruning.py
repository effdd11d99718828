"""Pruning: what goes, what stays, and which paths are reported."""

from typing import Any

import pytest

from apiext.schema.model import Structural
from apiext.schema.pruning import prune

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
STRING = {"type": "string"}


def pruned(schema: Any, obj: Any, *, root: bool = False) -> tuple[Any, list[str]]:
    """The object after pruning, and the paths."""
    paths = prune(obj, None if schema is None else Structural(schema), resource_root=root)
    return obj, paths


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
def test_unknown_fields_are_dropped_and_reported(schema: Any, obj: Any, expected: Any, paths: list[str]) -> None:
    """What the schema does not specify goes, and its path is told."""
    assert (expected, paths) == pruned(schema, obj)


def test_type_and_metadata_of_a_resource_stay() -> None:
    """apiVersion, kind and metadata of the root are not looked at, whatever the schema says."""
    obj = {"apiVersion": "v1", "kind": "X", "metadata": {"whatever": 1}, "spec": 1}

    assert pruned({}, obj, root=True) == ({"apiVersion": "v1", "kind": "X", "metadata": {"whatever": 1}}, ["spec"])


def test_type_and_metadata_of_a_plain_object_go() -> None:
    """The same names mean nothing elsewhere, and at the root their loss is not reported."""
    schema: dict[str, Any] = {"properties": {"a": {}}}
    obj = {"kind": "X", "a": {"kind": "X", "metadata": {}}}

    assert pruned(schema, obj) == ({"a": {}}, ["a.kind", "a.metadata"])


def test_embedded_resources_keep_type_and_metadata() -> None:
    """An embedded resource is treated as a root of its own, in lists and with preserved fields too."""
    schema = {"properties": {"l": {"items": {EMBEDDED: True}}, "p": {EMBEDDED: True, PRESERVE: True, "properties": {"metadata": {}}}}}
    obj = {"l": [{"apiVersion": "v1", "metadata": {"a": 1}, "x": 1}], "p": {"metadata": {"b": 1}, "y": 1}}
    expected = {"l": [{"apiVersion": "v1", "metadata": {"a": 1}}], "p": {"metadata": {"b": 1}, "y": 1}}

    assert (expected, ["l[0].x"]) == pruned(schema, obj)


def test_paths_are_sorted() -> None:
    """Paths come in the order of their text, not in that of the object."""
    assert pruned({"properties": {"b": {"items": {}}}}, {"c": 1, "b": [{"z": 1}], "a": 1})[1] == ["a", "b[0].z", "c"]


def test_lists_without_a_schema_may_be_deep() -> None:
    """Nesting that no schema bounds does not exhaust the stack."""
    deep: Any = {"x": 1}
    for _ in range(5000):
        deep = [deep]
    paths = prune({"a": deep}, Structural({"properties": {"a": {}}}), resource_root=False)

    assert paths == ["a" + "[0]" * 5000 + ".x"]

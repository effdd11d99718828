"""Differences between two states of an object."""

from typing import Any, Final

import pytest

from apiext.resources.evaluation.fields import What, differences, same_content, text_differences
from apiext.schema.model import Structural

KEYED: Final = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
ITEM: Final = {"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}
SCHEMA: Final = Structural(
    {
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": ITEM},
            "keyed": {"type": "array", "items": ITEM, **KEYED},
            "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
    }
)
A: Final = {"name": "a", "size": 1}
B: Final = {"name": "b", "size": 2}


@pytest.mark.parametrize(
    "before, after, found",
    [
        ({"list": [A]}, {"list": [A]}, set()),
        ({"list": [A]}, {"list": [{"name": "a"}]}, {(What.MISSING, "list[].size")}),
        ({"list": [A]}, {"list": [A, B]}, {(What.CHANGED, "list")}),
        ({"keyed": [A, B]}, {"keyed": [B]}, {(What.MISSING, "keyed[]")}),
        ({"keyed": [A]}, {"keyed": [B, {"name": "a", "size": 9}]}, {(What.ADDED, "keyed[]"), (What.CHANGED, "keyed[].size")}),
        ({"map": {"x": 1, "y": 2}}, {"map": {"x": 3}}, {(What.CHANGED, "map[]"), (What.MISSING, "map[]")}),
        ({"a": {"b": 1}}, {"c": 1}, {(What.MISSING, "a"), (What.ADDED, "c")}),
        ({"a": 1}, {"a": True}, {(What.CHANGED, "a")}),
        ({"a": 1, "metadata": {"x": 1}, "apiVersion": "v1"}, {"a": 1, "metadata": {}, "apiVersion": "v2"}, set()),
    ],
)
def test_differences_have_general_paths(before: dict[str, Any], after: dict[str, Any], found: set[tuple[What, str]]) -> None:
    """Compare the content of an object."""
    assert {(each.what, each.path) for each in differences(before, after, SCHEMA, typed=True)} == found


def test_equal_content_ignores_version_and_metadata() -> None:
    """Find objects equal that differ in apiVersion and metadata only."""
    one, other = {"apiVersion": "a", "metadata": {}, "spec": 1}, {"apiVersion": "b", "metadata": {"x": 1}, "spec": 1}

    assert same_content(one, other)
    assert not same_content(one, other | {"status": 1})
    assert not same_content(one, {"apiVersion": "b", "metadata": {}, "data": 1})


def test_labels_and_annotations_are_compared() -> None:
    """Find lost and changed labels, but no new annotations."""
    before = {"metadata": {"labels": {"a": "1", "b": "2"}}}
    after = {"metadata": {"labels": {"a": "3"}, "annotations": {"x": "y"}}}

    assert {(each.what, each.path) for each in text_differences(before, after)} == {
        (What.CHANGED, "metadata.labels[]"),
        (What.MISSING, "metadata.labels[]"),
    }

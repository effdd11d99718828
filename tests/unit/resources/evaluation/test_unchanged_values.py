"""Reasons why values count as changed or unchanged."""

from typing import Any, Final

import pytest

from apiext.resources.evaluation.fields import Step
from apiext.resources.evaluation.unchanged_values import ValueComparison

KEYED: Final = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
ITEM: Final = {"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}
PROPS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "a": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}},
        "list": {"type": "array", "items": ITEM},
        "keyed": {"type": "array", "items": ITEM, **KEYED},
        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
OLD: Final[dict[str, Any]] = {
    "kind": "X",
    "a": {"x": 1, "y": 2},
    "list": [{"name": "p", "size": 1}],
    "keyed": [{"name": "p", "size": 1}, {"name": "q", "size": 2}],
    "any": {"z": 1},
}


@pytest.mark.parametrize(
    "changes, steps, reason",
    [
        ({"a": {"x": 9, "y": 2}}, ["a", "x"], "a.x has changed from 1 to 9"),
        ({"a": {"x": 1, "y": 3}}, ["a"], "a.y has changed from 2 to 3"),
        ({"a": {"x": 1}}, ["a"], "a.y has been removed"),
        ({"a": {"x": 1}}, ["a", "y"], "a.y has been removed"),
        (
            {"list": [{"name": "p", "size": 1}, {}]},
            ["list", 0, "size"],
            "the list list has changed, and it is not of type map: its items have no counterparts",
        ),
        ({"keyed": [{"name": "n", "size": 9}]}, ["keyed", 0, "size"], "the old list has no item keyed[name=n]"),
        ({"keyed": [{"name": "n"}, {"name": "q"}]}, ["keyed"], "the old list has no item keyed[name=n]"),
        ({"keyed": [{"name": "q", "size": 2}, {"name": "p", "size": 5}]}, ["keyed"], "keyed[name=p].size has changed from 1 to 5"),
        ({"new": 1}, ["new"], "the old object has no new"),
        ({"any": {"z": 1}}, ["any"], "the schema does not specify any.z: any cannot be compared"),
        ({"any": {"z": 1}}, ["any", "z"], "the schema does not specify any.z: it cannot be compared"),
        ({"kind": "Y"}, ["kind"], "kind is never tolerated"),
        ({}, [], "the whole object must be unchanged, and its metadata never counts as unchanged"),
        ({}, ["a", "x"], ""),
        ({"a": {"x": 5, "y": 2}}, ["list"], ""),
    ],
)
def test_changed_values_have_a_reason(changes: dict[str, Any], steps: list[Step], reason: str) -> None:
    """Say why a value counts as changed."""
    assert ValueComparison(OLD | changes, OLD, PROPS).changed(steps) == reason


@pytest.mark.parametrize(
    "steps, reason",
    [
        (["a", "x"], "a is unchanged"),
        (["keyed", 0, "size"], "keyed is unchanged"),
        (["list", 0, "size"], "list is unchanged"),
    ],
)
def test_unchanged_values_are_named_by_the_outermost_one(steps: list[Step], reason: str) -> None:
    """Name the outermost unchanged value around a violation."""
    assert ValueComparison(dict(OLD), OLD, PROPS).unchanged(steps) == reason


def test_items_are_matched_by_their_keys() -> None:
    """Say how an item that has moved was found."""
    new = OLD | {"keyed": [{"name": "q", "size": 2}, {"name": "p", "size": 9}]}

    assert ValueComparison(new, OLD, PROPS).unchanged(["keyed", 0, "size"]) == "keyed[name=q] is unchanged; its items are matched by name"

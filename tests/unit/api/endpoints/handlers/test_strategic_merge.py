"""Strategic merge patches of built-in kinds."""

import copy
from typing import Any

import pytest

from apiext.api.endpoints.handlers.strategic_merge import OBJECT_META_KEYS, REPLACE, strategic_merge
from apiext.base.meta.errors import StatusError

KEYS = {**OBJECT_META_KEYS, "status.conditions": "type"}
OBJECT: dict[str, Any] = {
    "metadata": {"labels": {"a": "1", "b": "2"}, "finalizers": ["x", "y"]},
    "status": {"conditions": [{"type": "A", "status": "True"}, {"type": "B", "status": "True"}], "list": [1, 2]},
}


@pytest.mark.parametrize(
    "patch, path, result",
    [
        ({"metadata": {"labels": {"a": None, "c": "3"}}}, ("metadata", "labels"), {"b": "2", "c": "3"}),
        ({"metadata": {"labels": {"$patch": "replace", "c": "3"}}}, ("metadata", "labels"), {"c": "3"}),
        ({"metadata": {"labels": {"$patch": "delete"}}}, ("metadata", "labels"), {}),
        ({"metadata": {"labels": {"$retainKeys": ["a"], "a": "9"}}}, ("metadata", "labels"), {"a": "9"}),
        ({"metadata": {"finalizers": ["y", "z"]}}, ("metadata", "finalizers"), ["x", "y", "z"]),
        ({"metadata": {"$deleteFromPrimitiveList/finalizers": ["x"]}}, ("metadata", "finalizers"), ["y"]),
        ({"metadata": {"finalizers": ["z"]}}, ("metadata", "finalizers"), ["z", "x", "y"]),
        ({"metadata": {"$setElementOrder/finalizers": ["y", "x"]}}, ("metadata", "finalizers"), ["y", "x"]),
        (
            {"metadata": {"$setElementOrder/finalizers": ["x", "z", "y"], "finalizers": ["z"]}},
            ("metadata", "finalizers"),
            ["x", "z", "y"],
        ),
        ({"status": {"list": [3]}}, ("status", "list"), [3]),
        (
            {"status": {"conditions": [{"type": "B", "status": "False"}, {"type": "C"}]}},
            ("status", "conditions"),
            [{"type": "A", "status": "True"}, {"type": "B", "status": "False"}, {"type": "C"}],
        ),
        (
            {"status": {"conditions": [{"type": "A", "$patch": "delete"}]}},
            ("status", "conditions"),
            [{"type": "B", "status": "True"}],
        ),
        ({"status": {"conditions": [{"$patch": "replace"}, {"type": "Z"}]}}, ("status", "conditions"), [{"type": "Z"}]),
    ],
)
def test_merges(patch: dict[str, Any], path: tuple[str, str], result: Any) -> None:
    """Merge maps, merge lists by their key or replace them, and follow directives, without a change of the original."""
    before = copy.deepcopy(OBJECT)
    merged = strategic_merge(OBJECT, patch, KEYS)

    assert merged[path[0]][path[1]] == result
    assert before == OBJECT


@pytest.mark.parametrize(
    "patch",
    [
        {"metadata": {"$patch": "x"}},
        {"metadata": {"$patch": "merge"}},
        {"status": {"conditions": [{"type": "A", "$patch": "merge"}]}},
        {"status": {"conditions": [{"type": "A", "$patch": "x"}]}},
        {"status": {"conditions": ["A"]}},
        {"status": {"$setElementOrder/conditions": "x"}},
        {"status": {"$setElementOrder/conditions": [{"type": "B"}, {"type": "A"}], "conditions": [{"type": "A"}, {"type": "B"}]}},
    ],
)
def test_rejects_invalid_patches(patch: dict[str, Any]) -> None:
    """Return 500 for unknown directives, and for lists that do not fit."""
    with pytest.raises(StatusError) as caught:
        strategic_merge(OBJECT, patch, KEYS)

    assert caught.value.code == 500


@pytest.mark.parametrize("kept", ["x", ["finalizers"]])
def test_rejects_members_that_are_not_retained(kept: Any) -> None:
    """Return 400 for a directive that does not name the members of the patch, or is no list."""
    with pytest.raises(StatusError) as caught:
        strategic_merge(OBJECT, {"metadata": {"$retainKeys": kept, "labels": {}}}, KEYS)

    assert (caught.value.code, str(caught.value)) == (400, "invalid patch format of retainKeys")


def test_merges_lists_inside_list_items() -> None:
    """Find the merge key of a list in an item by the name of the item's list."""
    keys = {"spec.containers": "name", "containers.env": "name", "spec.selector": REPLACE}
    document = {"spec": {"containers": [{"name": "a", "env": [{"name": "x", "value": "1"}]}], "selector": {"a": "b"}}}
    patch = {"spec": {"containers": [{"name": "a", "env": [{"name": "y", "value": None}]}], "selector": {"c": "d"}}}

    assert strategic_merge(document, patch, keys)["spec"] == {
        "containers": [{"name": "a", "env": [{"name": "y", "value": None}, {"name": "x", "value": "1"}]}],
        "selector": {"c": "d"},
    }


def test_rejects_items_without_merge_key() -> None:
    """Return 500 for a list item without its merge key, with the item as Go prints it."""
    with pytest.raises(StatusError) as caught:
        strategic_merge(OBJECT, {"status": {"conditions": [{"status": "True"}]}}, KEYS)

    assert (caught.value.code, str(caught.value)) == (500, "map: map[status:True] does not contain declared merge key: type")

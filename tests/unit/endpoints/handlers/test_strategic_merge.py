"""Strategic merge patches of built-in kinds."""

import copy
from typing import Any

import pytest

from apiext.endpoints.handlers.strategic_merge import OBJECT_META_KEYS, strategic_merge
from apiext.meta.errors import StatusError

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
        {"metadata": {"$deleteFromPrimitiveList/finalizers": "x"}},
    ],
)
def test_rejects_invalid_directives(patch: dict[str, Any]) -> None:
    """Return 400 for invalid directives."""
    with pytest.raises(StatusError) as caught:
        strategic_merge(OBJECT, patch, KEYS)

    assert caught.value.code == 400


def test_rejects_items_without_merge_key() -> None:
    """Return 500 for a list item without its merge key, with the item as Go prints it."""
    with pytest.raises(StatusError) as caught:
        strategic_merge(OBJECT, {"status": {"conditions": [{"status": "True"}]}}, KEYS)

    assert (caught.value.code, str(caught.value)) == (500, "map: map[status:True] does not contain declared merge key: type")

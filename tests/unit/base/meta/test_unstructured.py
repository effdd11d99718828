"""Access to nested members of an object."""

import re
from typing import Any

import pytest

from apiext.base.meta import unstructured


@pytest.mark.parametrize("obj", [{}, {"spec": None}, {"spec": {}}])
def test_returns_none_for_absent_members(obj: dict[str, Any]) -> None:
    """Return None for an absent member."""
    assert unstructured.get_int(obj, ["spec", "replicas"]) is None


@pytest.mark.parametrize(
    "obj, why",
    [
        ({"spec": {"n": "x"}}, ".spec.n accessor error: x is of the type string, expected int64"),
        ({"spec": {"n": 1.5}}, ".spec.n accessor error: 1.5 is of the type float64, expected int64"),
        ({"spec": {"n": True}}, ".spec.n accessor error: true is of the type bool, expected int64"),
        ({"spec": {"n": None}}, ".spec.n accessor error: <nil> is of the type <nil>, expected int64"),
        ({"spec": "x"}, ".spec.n accessor error: x is of the type string, expected map[string]interface{}"),
        (
            {"spec": {"n": {"b": [1], "a": 2}}},
            ".spec.n accessor error: map[a:2 b:[1]] is of the type map[string]interface {}, expected int64",
        ),
    ],
)
def test_rejects_wrong_types(obj: dict[str, Any], why: str) -> None:
    """Name the value and its Go type."""
    with pytest.raises(ValueError, match=f"^{re.escape(why)}$"):
        unstructured.get_int(obj, ["spec", "n"])


def test_put_copies_objects_on_the_path() -> None:
    """Change only the outermost object."""
    spec = {"a": 1}
    obj: dict[str, Any] = {"spec": spec}

    unstructured.put(obj, ["spec", "replicas"], 3)
    unstructured.put(obj, ["other", "deep"], 4)

    assert obj == {"spec": {"a": 1, "replicas": 3}, "other": {"deep": 4}}
    assert spec == {"a": 1}
    with pytest.raises(ValueError, match=re.escape("value cannot be set because .spec.a is not a map[string]interface{}")):
        unstructured.put(obj, ["spec", "a", "b"], 1)

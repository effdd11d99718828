"""Members deep in an object are found, or missed in the reference's words."""

from __future__ import annotations

import re
from typing import Any

import pytest

from apiext.meta import unstructured


@pytest.mark.parametrize("obj", [{}, {"spec": None}, {"spec": {}}])
def test_absent(obj: dict[str, Any]) -> None:
    """What is not there is None."""
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
def test_wrong_type(obj: dict[str, Any], why: str) -> None:
    """The value and its Go type are named."""
    with pytest.raises(ValueError, match=f"^{re.escape(why)}$"):
        unstructured.get_int(obj, ["spec", "n"])


def test_put_copies_what_is_on_the_way() -> None:
    """Only the outermost object changes."""
    spec = {"a": 1}
    obj: dict[str, Any] = {"spec": spec}

    unstructured.put(obj, ["spec", "replicas"], 3)
    unstructured.put(obj, ["other", "deep"], 4)

    assert obj == {"spec": {"a": 1, "replicas": 3}, "other": {"deep": 4}}
    assert spec == {"a": 1}
    with pytest.raises(ValueError, match=re.escape("value cannot be set because .spec.a is not a map[string]interface{}")):
        unstructured.put(obj, ["spec", "a", "b"], 1)

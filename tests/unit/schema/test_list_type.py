"""Uniqueness in lists of type set and map."""

from typing import Any

import pytest

from apiext.schema.compiled import list_errors
from apiext.schema.model import Structural

SET = {"type": "array", "x-kubernetes-list-type": "set", "items": {}}


def by(*keys: str) -> dict[str, Any]:
    """Return a list of type map with these keys."""
    return {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [*keys], "items": {"type": "object"}}


@pytest.mark.parametrize(
    "schema, value, expected",
    [
        pytest.param(SET, ["a", "b"], [], id="all different"),
        pytest.param(SET, ["a", "b", "a", "a"], ['l[2]: Duplicate value: "a"'], id="second appearance only"),
        pytest.param(SET, [1, 1.0, True, "1", None], [], id="types tell values apart"),
        pytest.param(SET, [None, None], ["l[1]: Duplicate value: null"], id="nulls"),
        pytest.param(SET, [{"a": 1, "b": 2}, {"b": 2, "a": 1}], ['l[1]: Duplicate value: {"a":1,"b":2}'], id="objects by content"),
        pytest.param(SET, [[1], [1.0]], ["l[1]: Duplicate value: [1]"], id="numbers inside lists by their text"),
        pytest.param(by("a"), [{"a": 1}, {"a": 2}], [], id="one key"),
        pytest.param(by("a"), [{"a": 1, "b": 1}, {"a": 1, "b": 2}], ['l[1]: Duplicate value: {"a":1}'], id="one key twice"),
        pytest.param(by("a"), [{}, None, {"b": 1}], ["l[1]: Duplicate value: {}"], id="no key is a key"),
        pytest.param(by("a"), [{}, {"a": None}], [], id="a null key is another"),
        pytest.param(by("a", "b"), [{"a": 1}, {"a": 1, "b": 1}, {"a": 1}], ['l[2]: Duplicate value: {"a":1}'], id="two keys"),
        pytest.param(by("a", "b"), [{}, None], ["l[1]: Duplicate value: {}"], id="two keys missing"),
        pytest.param(
            by("a"), [{"a": 1}, 5, {"a": 1}], ["l[1]: Invalid value: 5: must be an object for an array of list-type map"], id="no object"
        ),
        pytest.param({"type": "array", "items": SET}, [["a"], ["a", "a"]], ['l[1][1]: Duplicate value: "a"'], id="list of sets"),
        pytest.param({"type": "object", "additionalProperties": SET}, {"k": [1, 1]}, ["l[k][1]: Duplicate value: 1"], id="map of sets"),
        pytest.param(SET, "no list", [], id="another type is no business of this rule"),
    ],
)
def test_reports_repetitions_once(schema: Any, value: Any, expected: list[str]) -> None:
    """Report each repeated item or key once, at its second place."""
    errors = list_errors({"l": value}, Structural({"type": "object", "properties": {"l": schema}}))

    assert expected == [str(error) for error in errors]

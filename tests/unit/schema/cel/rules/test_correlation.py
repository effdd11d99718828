"""Ratcheting of rules."""

from typing import Any

import pytest

from apiext.schema.cel.rules.evaluation import is_unchanged
from apiext.schema.field_path import Location, MapKey
from apiext.schema.validation.correlated import Correlated

NAMED = {"type": "object", "properties": {"name": {"type": "string"}, "n": {"type": "integer"}}}
SCHEMA = {
    "type": "object",
    "properties": {
        "kind": {"type": "string"},
        "a": {"type": "integer"},
        "keyed": {"type": "array", "items": NAMED, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        "list": {"type": "array", "items": NAMED},
        "map": {"type": "object", "additionalProperties": NAMED},
    },
}
OLD: dict[str, Any] = {
    "kind": "K",
    "a": 1,
    "keyed": [{"name": "x", "n": 1}, {"name": "y", "n": 2}],
    "list": [{"name": "x", "n": 1}],
    "map": {"x": {"name": "x"}, "y": {"name": "y"}},
}


def at(*steps: str | int) -> Location:
    """Return a location."""
    place: Location = None
    for step in steps:
        place = (place, step)
    return place


@pytest.mark.parametrize(
    "change, place, unchanged",
    [
        ({}, at(), True),
        ({}, at("a"), True),
        ({}, at("kind"), False),
        ({}, at("unknown"), True),
        ({"a": 2}, at(), False),
        ({"a": 2}, at("a"), False),
        ({"a": 2}, at("map", MapKey("x")), True),
        ({"a": 2}, at("unknown"), False),
        ({"a": True}, at("a"), False),
        ({"keyed": [{"name": "y", "n": 2}, {"name": "x", "n": 3}]}, at("keyed", 0), True),
        ({"keyed": [{"name": "y", "n": 2}, {"name": "x", "n": 3}]}, at("keyed", 1), False),
        ({"keyed": [{"name": "y", "n": 2}, {"name": "x", "n": 3}]}, at("keyed", 1, "name"), True),
        ({"keyed": [{"name": "z", "n": 2}]}, at("keyed", 0), False),
        ({"list": [{"name": "x", "n": 1}, {"name": "y"}]}, at("list", 0), False),
        ({}, at("list", 0, "n"), True),
        ({"map": {"x": {"name": "x"}}}, at("map", MapKey("x"), "name"), True),
        ({"map": {"x": {"name": "x"}}}, at("map"), False),
    ],
)
def test_finds_unchanged_values(change: dict[str, Any], place: Location, *, unchanged: bool) -> None:
    """Compare a value with its counterpart, or the nearest value around it that has one; never kind."""
    assert is_unchanged(Correlated(OLD | change, OLD, SCHEMA), place) is unchanged


def test_considers_the_surroundings_of_clauses() -> None:
    """Compare the value around one that a schema inside allOf describes."""
    known = Correlated(OLD | {"a": 2}, OLD, SCHEMA)

    assert not is_unchanged(known, at(), nested=True)
    assert not is_unchanged(known, at("map"), nested=True)
    assert is_unchanged(known, at("map", MapKey("x")), nested=True)

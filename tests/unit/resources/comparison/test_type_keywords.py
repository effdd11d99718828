"""Rules of keywords about the kind of a value."""

from __future__ import annotations

from typing import Any, Final

import pytest

from apiext.resources.comparison.schema_comparison import compare_schemas

Props = dict[str, Any]
EITHER: Final[Props] = {"x-kubernetes-int-or-string": True}
OBJECT: Final[Props] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
MAP_LIST: Final[Props] = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"]}


def changes(old: Props, new: Props) -> list[str]:
    """Return the rules of the changes of a field."""
    return sorted(change.rule for change in compare_schemas({"properties": {"a": old}}, {"properties": {"a": new}}))


@pytest.mark.parametrize(
    "old, new, there, back",
    [
        ({"type": "integer"}, {"type": "number"}, "typeWidened", "typeNarrowed"),
        ({"type": "integer"}, EITHER, "typeWidened", "typeNarrowed"),
        ({"type": "string"}, EITHER, "typeWidened", "typeNarrowed"),
        ({"type": "string"}, {}, "typeWidened", "typeNarrowed"),
        ({"type": "string"}, {"type": "integer"}, "typeChanged", "typeChanged"),
        ({"type": "number"}, EITHER, "typeChanged", "typeChanged"),
        ({"type": "boolean"}, {"type": "object"}, "typeChanged", "typeChanged"),
        ({"nullable": False}, {"nullable": True}, "nullableAdded", "nullableRemoved"),
        ({}, {"default": ""}, "defaultAdded", "defaultRemoved"),
        ({"default": None}, {"default": 0}, "defaultAdded", "defaultRemoved"),
        ({"default": 1}, {"default": 1.5}, "defaultChanged", "defaultChanged"),
        ({"default": True}, {"default": 1}, "defaultChanged", "defaultChanged"),
        ({"default": {"a": 1, "b": 2}}, {"default": {"b": 2, "a": 1}}, None, None),
        (OBJECT, OBJECT | {"x-kubernetes-embedded-resource": True}, "embeddedResourceAdded", "embeddedResourceRemoved"),
        ({}, {"description": "x"}, "descriptionChanged", "descriptionChanged"),
        ({"title": "x"}, {"title": "y"}, "documentationChanged", "documentationChanged"),
        ({}, {"$ref": "#/x"}, "unstructuralKeywordChanged", "unstructuralKeywordChanged"),
    ],
)
def test_both_directions(old: Props, new: Props, there: str | None, back: str | None) -> None:
    """Find the rule of a change, and that of the opposite change."""
    assert changes(old, new) == ([there] if there else [])
    assert changes(new, old) == ([back] if back else [])


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ({}, {"x-kubernetes-list-type": "atomic"}, []),
        ({}, {"x-kubernetes-list-type": "set"}, ["listTypeChanged"]),
        (MAP_LIST, {"type": "array", "x-kubernetes-list-type": "set"}, ["listTypeChanged"]),
        (MAP_LIST, MAP_LIST | {"x-kubernetes-list-map-keys": ["b", "a"]}, []),
        (MAP_LIST, MAP_LIST | {"x-kubernetes-list-map-keys": ["a"]}, ["listMapKeysChanged"]),
        ({}, {"x-kubernetes-map-type": "granular"}, []),
        ({}, {"x-kubernetes-map-type": "atomic"}, ["mapTypeChanged"]),
    ],
)
def test_what_appliers_merge(old: Props, new: Props, expected: list[str]) -> None:
    """Report another list or map type in both directions. Lists are atomic and maps granular unless the schema says so."""
    assert changes(old, new) == expected
    assert changes(new, old) == expected


def test_nothing_below_another_type() -> None:
    """Report a changed type alone: keywords of different types cannot be compared."""
    assert changes({"type": "string", "maxLength": 3, "default": "a"}, {"type": "integer", "minimum": 3}) == ["typeChanged"]


def test_keywords_beside_a_wider_type() -> None:
    """Compare the other keywords of types of which one includes the other."""
    assert changes({"type": "integer", "maximum": 5}, {"type": "number", "maximum": 3}) == ["maximumNarrowed", "typeWidened"]

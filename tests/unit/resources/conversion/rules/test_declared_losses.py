"""Fields that rules drop on purpose, as places in the version that has them."""

import copy
from typing import Any

import pytest

from apiext.resources.conversion.rules.declared_losses import DeclaredLosses, ignore_losses
from apiext.resources.conversion.rules.model import EACH, ConversionRules, Drop, ListToMap, MapToList, Move, Rule, Side, Spoke, Unwrap, Wrap


def _losses(*rules: Rule) -> DeclaredLosses:
    return DeclaredLosses(ConversionRules("widgets.example.com", "v2", (Spoke("v1", rules), Spoke("v0", ()))))


@pytest.mark.parametrize(
    "rules, place",
    [
        ([], ("a", "x")),
        ([Move(("b",), ("a",))], ("b", "x")),
        ([Move(("c",), ("b",)), Move(("b",), ("a",))], ("c", "x")),
        ([Move(("a",), ("b",))], ("a", "x")),
        ([Wrap(("a",), "x")], ("a",)),
        ([Unwrap(("a",), "in")], ("a", "in", "x")),
        ([Unwrap(("a",), None)], ("a", EACH, "x")),
    ],
)
def test_places_in_the_spoke(rules: list[Rule], place: tuple[str, ...]) -> None:
    """Follow a field back through the rules that come before its drop."""
    found = _losses(*rules, Drop(("a", "x"), "unused", Side.SPOKE))

    assert found.between("v1", "v2") == [place]
    assert found.between("v1", "v0") == [place]
    assert found.between("v2", "v1") == []
    assert found.between("v0", "v2") == []


@pytest.mark.parametrize(
    "rules, place",
    [
        ([], ("a", EACH, "x")),
        ([Move(("a",), ("b",))], ("b", EACH, "x")),
        ([ListToMap(("a",), "name", "x")], ("a", EACH)),
        ([ListToMap(("a",), "name", None)], ("a", EACH, "x")),
        ([MapToList(("a",), "name", "x")], ("a", EACH, "x", "x")),
        ([Wrap(("a",), "in")], ("a", "in", EACH, "x")),
        ([Unwrap(("b",), "in")], ("a", EACH, "x")),
    ],
)
def test_places_in_the_hub(rules: list[Rule], place: tuple[str, ...]) -> None:
    """Follow a field of the hub back through the rules that come after its drop."""
    found = _losses(Drop(("a", EACH, "x"), "unused", Side.HUB), *rules)

    assert found.between("v2", "v1") == [place]
    assert found.between("v1", "v2") == []


def test_places_through_the_hub() -> None:
    """Follow what another spoke lacks back to the source version."""
    rules = ConversionRules("w", "v2", (Spoke("v1", (Move(("old",), ("new",)),)), Spoke("v0", (Drop(("new",), "unused", Side.HUB),))))

    assert DeclaredLosses(rules).between("v1", "v0") == [("old",)]


@pytest.mark.parametrize(
    "steps, original, returned, ignored",
    [
        (("a",), {"a": 1, "b": 2}, {"b": 2}, {"b": 2}),
        (("a",), {"a": 1}, {"a": {"made": 1}}, {"a": {"made": 1}}),
        (("a",), {}, {"a": 1}, {"a": 1}),
        (("a", "b"), {"a": {"b": 1}}, {}, {"a": {}}),
        (("a", "b"), {"a": 1}, {}, {"a": 1}),
        (("a", EACH, "b"), {"a": [{"b": 1, "c": 1}, {"b": 2}]}, {"a": [{"c": 1}, {"b": 3}]}, {"a": [{"c": 1}, {"b": 3}]}),
        (("a", EACH, "b"), {"a": [{"b": 1}]}, {"a": []}, {"a": [{}]}),
        (("a", EACH, "b"), {"a": {"x": {"b": 1}, "y": 5}}, {"a": {"x": {}}}, {"a": {"x": {}, "y": 5}}),
        (("a", EACH), {"a": {"x": 1}}, {"a": {"x": 2}}, {"a": {"x": 2}}),
    ],
)
def test_ignore(steps: tuple[str, ...], original: Any, returned: Any, ignored: Any) -> None:
    """Give the original the returned values at the places of losses, and leave all else."""
    before = copy.deepcopy((original, returned))

    assert ignore_losses(original, returned, [steps]) == ignored
    assert (original, returned) == before

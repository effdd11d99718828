"""Inverse rules, and the places to which rules move fields."""

import pytest

from apiext.resources.conversion.rules import model
from apiext.resources.conversion.rules.inverse import MovedPaths, inverse
from apiext.resources.conversion.rules.model import EACH, FieldSteps, Rule, Side

A, B, C = ("a",), ("b",), ("c",)
PAIRS = [
    (model.Move(A, B), model.Move(B, A)),
    (model.Wrap(A, "in"), model.Unwrap(A, "in")),
    (model.ListToMap(A, "k", "v"), model.MapToList(A, "k", "v")),
    (model.Split(A, (B, C), ":", last=True), model.Join((B, C), A, ":", last=True)),
]


def _after(path: FieldSteps, rules: list[Rule]) -> FieldSteps | None:
    return MovedPaths(rules).after(path, 0)


def _before(path: FieldSteps, rules: list[Rule]) -> FieldSteps | None:
    return MovedPaths(rules).before(path, len(rules))


@pytest.mark.parametrize("rule, opposite", PAIRS)
def test_inverse_rules(rule: Rule, opposite: Rule) -> None:
    """Invert a rule; the inverse of the inverse is the rule."""
    assert inverse(rule) == opposite
    assert inverse(opposite) == rule


@pytest.mark.parametrize("rule", [model.Copy(A, B), model.Default(A, 1, Side.HUB), model.Drop(A, "gone", Side.HUB)])
def test_other_rules_leave_fields_where_they_are(rule: Rule) -> None:
    """Return rules that move nothing."""
    assert inverse(rule) is rule
    assert _after(("a", "x"), [rule]) == ("a", "x")


@pytest.mark.parametrize(
    "rule, before, after",
    [
        (model.Move(A, ("b", "c")), ("a", "x"), ("b", "c", "x")),
        (model.Move(A, B), ("aa",), ("aa",)),
        (model.Wrap(A, "in"), ("a", "x"), ("a", "in", "x")),
        (model.Wrap(A, None), ("a", "x"), ("a", EACH, "x")),
        (model.Unwrap(A, "in"), ("a", "in", "x"), ("a", "x")),
        (model.ListToMap(A, "k", None), ("a", EACH, "x"), ("a", EACH, "x")),
        (model.ListToMap(A, "k", "v"), ("a", EACH, "v", "x"), ("a", EACH, "x")),
        (model.MapToList(A, "k", "v"), ("a", EACH, "x"), ("a", EACH, "v", "x")),
    ],
)
def test_a_field_has_a_place_on_both_sides(rule: Rule, before: FieldSteps, after: FieldSteps) -> None:
    """Follow a field through a rule, and back."""
    assert _after(before, [rule]) == after
    assert _before(after, [rule]) == before


@pytest.mark.parametrize(
    "rule, path",
    [
        (model.Unwrap(A, "in"), ("a", "other")),
        (model.ListToMap(A, "k", "v"), ("a", EACH, "k")),
        (model.ListToMap(A, "k", "v"), ("a", EACH, "w")),
        (model.Split(A, (B, C), ":"), A),
        (model.Join((A, B), C, ":"), B),
    ],
)
def test_some_fields_have_no_place(rule: Rule, path: FieldSteps) -> None:
    """Say that a field becomes a part of another one, or nothing."""
    assert _after(path, [rule]) is None


def test_rules_are_followed_one_after_the_other() -> None:
    """Follow a field through several rules in their order."""
    rules: list[Rule] = [model.Move(A, B), model.Wrap(B, "in"), model.Move(("b", "in"), C)]

    assert _after(A, rules) == C
    assert _before(C, rules) == A

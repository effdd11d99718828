"""Rules of allOf, anyOf, oneOf and not."""

from __future__ import annotations

import random
from typing import Any, Final

import pytest

from apiext.resources.comparison.clause_keywords import without_simple_clauses
from apiext.resources.comparison.schema_comparison import compare_schemas
from apiext.schema.compiled import CompiledSchema
from tests.support.builders.seeds import seeded

Props = dict[str, Any]
SHORT: Final[Props] = {"maxLength": 3}
LONG: Final[Props] = {"maxLength": 9}
WITH_A: Final[Props] = {"pattern": "a"}
EITHER: Final[Props] = {"x-kubernetes-int-or-string": True}
PAIR: Final = [{"type": "integer"}, {"type": "string"}]


def below(schema: Props) -> Props:
    """Return a clause that no schema can say itself."""
    return {"properties": {"x": schema}}


def changes(old: Props, new: Props) -> list[str]:
    """Return the rules of the changes of a field."""
    return sorted(change.rule for change in compare_schemas({"properties": {"a": old}}, {"properties": {"a": new}}))


@pytest.mark.parametrize(
    "old, new, there, back",
    [
        ({}, {"allOf": [below(SHORT)]}, "allOfNarrowed", "allOfWidened"),
        ({"allOf": [below(SHORT)]}, {"allOf": [below(SHORT), below(WITH_A)]}, "allOfNarrowed", "allOfWidened"),
        ({"allOf": [below(LONG)]}, {"allOf": [below(SHORT)]}, "allOfNarrowed", "allOfWidened"),
        ({"allOf": [below(LONG)]}, {"allOf": [below(WITH_A)]}, "allOfChanged", "allOfChanged"),
        ({"allOf": [below(LONG)]}, {"allOf": [below(SHORT), below(WITH_A)]}, "allOfChanged", "allOfChanged"),
        ({}, {"allOf": [SHORT]}, "maxLengthNarrowed", "maxLengthWidened"),
        (SHORT, {"allOf": [SHORT, LONG]}, None, None),
        (LONG | {"minLength": 2}, {"allOf": [SHORT, {"minLength": 2}]}, "maxLengthNarrowed", "maxLengthWidened"),
        (SHORT | WITH_A, {"allOf": [SHORT | WITH_A]}, None, None),
        (WITH_A, {"allOf": [WITH_A, {"pattern": "b"}]}, "allOfNarrowed", "allOfWidened"),
        ({"enum": ["a"]}, {"allOf": [{"enum": ["b", "a"]}, {"enum": ["a", "c"]}]}, None, None),
        (
            {"enum": ["a"]},
            {"allOf": [{"enum": ["a"]}], "enum": ["b"]},
            "allOfNarrowed enumValueAdded enumValueRemoved",
            "allOfWidened enumValueAdded enumValueRemoved",
        ),
        (
            {"minimum": 1},
            {"allOf": [{"minimum": 1, "exclusiveMinimum": True}]},
            "allOfNarrowed minimumWidened",
            "allOfWidened minimumNarrowed",
        ),
        (
            {"minimum": 1, "exclusiveMinimum": True},
            {"minimum": 1, "exclusiveMinimum": True, "allOf": [{"minimum": 2}]},
            "allOfNarrowed",
            "allOfWidened",
        ),
        ({"allOf": [SHORT | below(LONG)]}, SHORT, "allOfWidened", "allOfNarrowed"),
        ({"allOf": [LONG, WITH_A]}, {"allOf": [WITH_A, LONG]}, None, None),
        ({}, {"anyOf": [SHORT]}, "anyOfNarrowed", "anyOfWidened"),
        ({"anyOf": [SHORT]}, {"anyOf": [SHORT, WITH_A]}, "anyOfWidened", "anyOfNarrowed"),
        ({"anyOf": [LONG, WITH_A]}, {"anyOf": [SHORT, WITH_A]}, "anyOfNarrowed", "anyOfWidened"),
        ({"anyOf": [LONG]}, {"anyOf": [SHORT, WITH_A]}, "anyOfChanged", "anyOfChanged"),
        ({}, {"oneOf": [SHORT]}, "oneOfNarrowed", "oneOfWidened"),
        ({"oneOf": [SHORT]}, {"oneOf": [SHORT, WITH_A]}, "oneOfChanged", "oneOfChanged"),
        ({"oneOf": [SHORT, WITH_A]}, {"oneOf": [WITH_A, SHORT]}, None, None),
        ({}, {"not": SHORT}, "notNarrowed", "notWidened"),
        ({"not": SHORT}, {"not": LONG}, "notNarrowed", "notWidened"),
        ({"not": SHORT}, {"not": WITH_A}, "notChanged", "notChanged"),
        # clauses in clauses
        ({"not": {"not": LONG}}, {"not": {"not": SHORT}}, "notNarrowed", "notWidened"),
        ({"allOf": [{"anyOf": [LONG]}]}, {"allOf": [{"anyOf": [LONG, WITH_A]}]}, "allOfWidened", "allOfNarrowed"),
        ({"allOf": [{"properties": {"b": LONG}}]}, {"allOf": [{"properties": {"b": SHORT}}]}, "allOfNarrowed", "allOfWidened"),
        ({"allOf": [{"properties": {}}]}, {"allOf": [{"properties": {"b": SHORT}}]}, "allOfNarrowed", "allOfWidened"),
        ({"allOf": [{"items": LONG}]}, {"allOf": [{"items": SHORT}]}, "allOfNarrowed", "allOfWidened"),
        ({"allOf": [{"additionalProperties": LONG}]}, {"allOf": [{}]}, "allOfWidened", "allOfNarrowed"),
        ({"allOf": [{"required": ["b"]}]}, {"allOf": [{"required": ["b", "c"]}]}, "requiredAdded", "requiredRemoved"),
        # texts restrict nothing
        ({"allOf": [SHORT]}, {"allOf": [SHORT | {"example": "a"}]}, None, None),
        # what generators add to int-or-string
        (EITHER, EITHER | {"anyOf": PAIR}, None, None),
        (EITHER, EITHER | {"allOf": [{"anyOf": PAIR}]}, None, None),
        (EITHER, EITHER | {"allOf": [{"anyOf": PAIR}, SHORT]}, "maxLengthNarrowed", "maxLengthWidened"),
        ({}, {"anyOf": PAIR}, "anyOfNarrowed", "anyOfWidened"),
    ],
)
def test_both_directions(old: Props, new: Props, there: str | None, back: str | None) -> None:
    """Find the rule of a change, and that of the opposite change."""
    assert changes(old, new) == (there.split() if there else [])
    assert changes(new, old) == (back.split() if back else [])


def test_several_changes_in_clauses() -> None:
    """Report clauses that became narrower here and wider there as changed."""
    old = {"allOf": [below({"maxLength": 3}), below({"minLength": 3})]}
    new = {"allOf": [below({"maxLength": 2}), below({"minLength": 2})]}

    assert changes(old, new) == ["allOfChanged"]


def test_a_string_that_becomes_int_or_string() -> None:
    """Report the type alone if a generator adds anyOf with it."""
    assert changes({"type": "string"}, EITHER | {"anyOf": PAIR}) == ["typeWidened"]
    assert changes(EITHER | {"anyOf": PAIR}, {"type": "string"}) == ["typeNarrowed"]


VALUES: Final[tuple[Any, ...]] = (
    None,
    "",
    "a",
    "abc",
    "abcdef",
    0,
    1,
    2,
    3,
    5.5,
    -1,
    2**40,
    [],
    ["a"],
    ["a", "a"],
    ["a", "b", "c"],
    {},
    {"x": "a"},
    {"x": 1, "y": 2},
)
KEYWORDS: Final[dict[str, dict[str, tuple[Any, Any]]]] = {
    "string": {"enum": (["a", "abc"], ["a"]), "maxLength": (3, 5), "minLength": (1, 2), "pattern": ("a", "b"), "format": ("date", "byte")},
    "integer": {"minimum": (1, 0), "maximum": (3, 2), "exclusiveMinimum": (True, True), "multipleOf": (2, 3), "enum": ([1, 2], [2, 3])},
    "array": {"maxItems": (2, 1), "minItems": (1, 2), "uniqueItems": (True, True), "enum": ([["a"]], [["a"], []])},
    "object": {"required": (["x"], ["y"]), "minProperties": (1, 2), "maxProperties": (1, 2)},
}


def some(kind: str, rng: random.Random) -> Props:
    """Return some keywords for values of a type."""
    known = KEYWORDS[kind]
    return {name: rng.choice(known[name]) for name in rng.sample(sorted(known), rng.randint(0, len(known)))}


def test_clauses_that_a_schema_says_itself_mean_the_same() -> None:
    """Accept the same values with a clause and without it."""
    replaced = 0
    for seed in range(1_500):
        rng = seeded(f"clause{seed}")
        kind = rng.choice(sorted(KEYWORDS))
        clauses = [some(kind, rng) | ({"not": {"enum": ["abc"]}} if rng.random() < 0.2 else {}) for _ in range(rng.randint(1, 2))]
        node = {"type": kind, "nullable": rng.random() < 0.3, **some(kind, rng), "allOf": clauses}
        other = without_simple_clauses(node)
        replaced += "allOf" not in other
        accepted = [
            [not schema.validate_values({"a": value}) for value in VALUES]
            for schema in (CompiledSchema({"type": "object", "properties": {"a": one}}) for one in (node, other))
        ]
        assert accepted[0] == accepted[1], (node, other)

    assert replaced

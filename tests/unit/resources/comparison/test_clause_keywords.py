"""Rules of allOf, anyOf, oneOf and not."""

from __future__ import annotations

from typing import Any, Final

import pytest

from apiext.resources.comparison.schema_comparison import compare_schemas

Props = dict[str, Any]
SHORT: Final[Props] = {"maxLength": 3}
LONG: Final[Props] = {"maxLength": 9}
WITH_A: Final[Props] = {"pattern": "a"}
EITHER: Final[Props] = {"x-kubernetes-int-or-string": True}
PAIR: Final = [{"type": "integer"}, {"type": "string"}]


def changes(old: Props, new: Props) -> list[str]:
    """Return the rules of the changes of a field."""
    return sorted(change.rule for change in compare_schemas({"properties": {"a": old}}, {"properties": {"a": new}}))


@pytest.mark.parametrize(
    "old, new, there, back",
    [
        ({}, {"allOf": [SHORT]}, "allOfNarrowed", "allOfWidened"),
        ({"allOf": [SHORT]}, {"allOf": [SHORT, WITH_A]}, "allOfNarrowed", "allOfWidened"),
        ({"allOf": [LONG]}, {"allOf": [SHORT]}, "allOfNarrowed", "allOfWidened"),
        ({"allOf": [LONG]}, {"allOf": [WITH_A]}, "allOfChanged", "allOfChanged"),
        ({"allOf": [LONG]}, {"allOf": [SHORT, WITH_A]}, "allOfChanged", "allOfChanged"),
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
        ({"allOf": [{"required": ["b"]}]}, {"allOf": [{"required": ["b", "c"]}]}, "allOfNarrowed", "allOfWidened"),
        # texts restrict nothing
        ({"allOf": [SHORT]}, {"allOf": [SHORT | {"example": "a"}]}, None, None),
        # what generators add to int-or-string
        (EITHER, EITHER | {"anyOf": PAIR}, None, None),
        (EITHER, EITHER | {"allOf": [{"anyOf": PAIR}]}, None, None),
        (EITHER, EITHER | {"allOf": [{"anyOf": PAIR}, SHORT]}, "allOfNarrowed", "allOfWidened"),
        ({}, {"anyOf": PAIR}, "anyOfNarrowed", "anyOfWidened"),
    ],
)
def test_both_directions(old: Props, new: Props, there: str | None, back: str | None) -> None:
    """Find the rule of a change, and that of the opposite change."""
    assert changes(old, new) == ([there] if there else [])
    assert changes(new, old) == ([back] if back else [])


def test_several_changes_in_clauses() -> None:
    """Report clauses that became narrower here and wider there as changed."""
    old = {"allOf": [{"maxLength": 3}, {"minLength": 3}]}
    new = {"allOf": [{"maxLength": 2}, {"minLength": 2}]}

    assert changes(old, new) == ["allOfChanged"]


def test_a_string_that_becomes_int_or_string() -> None:
    """Report the type alone if a generator adds anyOf with it."""
    assert changes({"type": "string"}, EITHER | {"anyOf": PAIR}) == ["typeWidened"]
    assert changes(EITHER | {"anyOf": PAIR}, {"type": "string"}) == ["typeNarrowed"]

"""The table of rules and all that follows it agree."""

from __future__ import annotations

from typing import Final

from apiext.resources.comparison.change import Direction, Grade, Hurts
from apiext.resources.comparison.rule_texts import TEXTS
from apiext.resources.comparison.rules import RULES, UNHANDLED

CRDIFY: Final = {
    "default", "description", "enum", "existingFieldRemoval", "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength",
    "minProperties", "minimum", "nullable", "oneOf", "pattern", "required", "scope", "storedVersionRemoval", "type", UNHANDLED,
}  # fmt: skip
"""The validations of crdify in the version that OLM v1 uses."""


def test_every_rule_has_a_text() -> None:
    """Say of each rule what follows in the server, in sentences."""
    assert set(TEXTS) == set(RULES)
    assert [rule.name for rule in RULES.values() if not rule.about.endswith(".")] == []


def test_every_validation_of_crdify_is_covered() -> None:
    """Cover all validations of crdify, and name no other."""
    assert {rule.crdify for rule in RULES.values()} == {*CRDIFY, ""}


def test_harmless_changes_are_no_errors() -> None:
    """Grade no change as an error that hurts nobody, and hide none that hurts anybody."""
    assert [rule.name for rule in RULES.values() if rule.hurts is Hurts.NOBODY and rule.grade is Grade.ERROR] == []
    assert [rule.name for rule in RULES.values() if rule.hurts is not Hurts.NOBODY and rule.grade is Grade.IGNORE] == []


def test_opposite_changes_have_rules() -> None:
    """Have a rule for the opposite of each change, with the same subject."""
    opposite = {Direction.ADDED: Direction.REMOVED, Direction.NARROWED: Direction.WIDENED}
    directions: dict[str, set[Direction]] = {}
    for rule in RULES.values():
        directions.setdefault(rule.subject, set()).add(rule.direction)

    alone = {subject for subject, found in directions.items() for one, other in opposite.items() if (one in found) != (other in found)}

    # stored versions are those of the old definition's status; the new one has none
    assert alone == {"storedVersion"}

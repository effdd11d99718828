"""Grades of crdify and OLM v1."""

from __future__ import annotations

import pytest

from apiext.resources.comparison.change import Grade
from apiext.resources.comparison.grades import OLM, POLICIES, VALIDATIONS, crdify_grades
from apiext.resources.comparison.rules import RULES, UNHANDLED


def test_every_policy_belongs_to_its_validation() -> None:
    """Let policies switch off only rules of their validation."""
    assert [policy for policy, names in POLICIES.items() if not set(names) <= set(VALIDATIONS[policy[0]])] == []


def test_all_are_errors_by_default() -> None:
    """Grade what crdify reports as an error, and keep the grades of other rules."""
    grades = crdify_grades({})

    assert set(grades.rules) == {rule.name for rule in RULES.values() if rule.crdify}
    assert set(grades.rules.values()) == {Grade.ERROR}
    assert grades.compares_converted_versions


@pytest.mark.parametrize("enforcement, grade", [("Error", Grade.ERROR), ("Warn", Grade.WARNING), ("None", Grade.IGNORE)])
def test_enforcement(enforcement: str, grade: Grade) -> None:
    """Grade all rules of a validation by its enforcement."""
    grades = crdify_grades({"validations": [{"name": "pattern", "enforcement": enforcement}]})

    assert {name for name, found in grades.rules.items() if found is not Grade.ERROR} == (
        set() if grade is Grade.ERROR else {name for name in RULES if name.startswith("pattern")}
    )
    assert grades.rules["patternAdded"] is grade


@pytest.mark.parametrize("enforcement, grade", [("", Grade.ERROR), ("Warn", Grade.WARNING), ("None", Grade.IGNORE)])
def test_unhandled_changes(enforcement: str, grade: Grade) -> None:
    """Grade what no validation of crdify knows by unhandledEnforcement."""
    grades = crdify_grades({"unhandledEnforcement": enforcement})

    assert {grades.rules[name] for name in VALIDATIONS[UNHANDLED]} == {grade}


@pytest.mark.parametrize("policy", POLICIES)
def test_policies(policy: tuple[str, str]) -> None:
    """Ignore what a policy allows, and only that."""
    validation, member = policy
    entry = {"name": validation, "enforcement": "Warn", "configuration": {member: "Allow"}}

    grades = crdify_grades({"validations": [entry]})
    strict = crdify_grades({"validations": [entry, {**entry, "configuration": {member: "Disallow"}}]})

    assert {name for name, grade in grades.rules.items() if grade is Grade.IGNORE} == set(POLICIES[policy])
    assert Grade.IGNORE not in strict.rules.values()


def test_olm() -> None:
    """Take the configuration of OLM v1: no descriptions, new values of enums are fine, webhooks convert."""
    grades = crdify_grades(OLM)

    assert {name for name, grade in grades.rules.items() if grade is Grade.IGNORE} == {"descriptionChanged", "enumValueAdded"}
    assert not grades.compares_converted_versions

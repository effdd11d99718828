"""Changes of CEL rules."""

from __future__ import annotations

from typing import Any

import pytest

from apiext.resources.comparison.cel_rules import rule_changes


def rules(*texts: str, **more: Any) -> dict[str, Any]:
    """Return a schema with rules."""
    return {"x-kubernetes-validations": [{"rule": text, **more} for text in texts]}


def changes(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return the names of the changes."""
    return sorted(change.rule for change in rule_changes(old, new))


@pytest.mark.parametrize(
    "old, new, there, back",
    [
        ([], ["self.a"], "ruleAdded", "ruleRemoved"),
        (["self.a"], ["self.a", "self.b"], "ruleAdded", "ruleRemoved"),
        (["self.a", "self.b"], ["self.b", "self.a"], None, None),
        (["self.a"], ["self.a && self.b"], "ruleNarrowed", "ruleWidened"),
        (["self.a || self.b"], ["self.a"], "ruleNarrowed", "ruleWidened"),
        (["self.a || self.b"], ["(self.b || self.a) && self.c"], "ruleNarrowed", "ruleWidened"),
        (["self.a == 1 && self.b"], ["self.b&&self.a==1"], "ruleReportChanged", "ruleReportChanged"),
        (["self.all(x, x > 1) || self.b"], ["self.all(x, x > 1)"], "ruleNarrowed", "ruleWidened"),
        (["!has(self.a) || self.a in ['b']"], ["!has(self.a)"], "ruleNarrowed", "ruleWidened"),
    ],
)
def test_both_directions(old: list[str], new: list[str], there: str | None, back: str | None) -> None:
    """Find a rule by its text, or by its conditions, and the direction in which it changed."""
    assert changes(rules(*old), rules(*new)) == ([there] if there else [])
    assert changes(rules(*new), rules(*old)) == ([back] if back else [])


@pytest.mark.parametrize(
    "old, new",
    [
        ("self.a == 1", "self.a == 1.0"),
        ("self.a == 1", "self.a == 2"),
        ("self.a", "self.?a"),
        ("self.a", "has(self.a)"),
        ("self.exists(x, x.a)", "self.all(x, x.a)"),
        ("self == {'a': 1}", "self == {'b': 1}"),
        ("self == [1]", "self == [?1]"),
        ("self.a", "this is no expression"),
    ],
)
def test_other_expressions(old: str, new: str) -> None:
    """Report a rule that went and one that came, and a changed one if they have the same message."""
    assert changes(rules(old), rules(new)) == ["ruleAdded", "ruleRemoved"]
    assert changes(rules(old, message="a"), rules(new, message="a")) == ["ruleChanged"]


def test_messages_of_several_rules() -> None:
    """Find no rule by a message that several have."""
    old, new = rules("self.a", "self.b", message="x"), rules("self.c", message="x")

    assert changes(old, new) == ["ruleAdded", "ruleRemoved", "ruleRemoved"]


@pytest.mark.parametrize("member", ["message", "messageExpression", "reason", "fieldPath"])
def test_the_report_of_a_rule(member: str) -> None:
    """Tell a rule that reports its violation in another way from one that decides otherwise."""
    assert changes(rules("self.a"), rules("self.a", **{member: "x"})) == ["ruleReportChanged"]


def test_optional_old_self() -> None:
    """Report a rule about the former value that applies to new values, too, as narrower."""
    optional = rules("self == oldSelf", optionalOldSelf=True)

    assert changes(rules("self == oldSelf"), optional) == ["ruleNarrowed"]
    assert changes(optional, rules("self == oldSelf")) == ["ruleWidened"]


def test_the_message_of_a_change() -> None:
    """Write both texts."""
    (found,) = rule_changes(rules("self.a"), rules("self.a && self.b"))

    assert found.message == 'rule "self.a" changed to "self.a && self.b"'

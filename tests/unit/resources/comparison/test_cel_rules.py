"""Changes of CEL rules."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Final

import pytest

from apiext.base.meta.encoding import json_codec
from apiext.resources.comparison.cel_rules import rule_changes
from apiext.schema.compiled import CompiledSchema
from tests.support.builders.seeds import seeded


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
        (["!(self.a == 1) || self.b"], ["self.a != 1 || self.b"], "ruleReportChanged", "ruleReportChanged"),
        (["!has(self.a) == !has(self.b)"], ["has(self.a) == has(self.b)"], "ruleReportChanged", "ruleReportChanged"),
        (
            ["self.all(x, (!has(x.a) && !has(x.b)) || (has(x.a) && has(x.b)))"],
            ["self.all(x, has(x.a) == has(x.b))"],
            *["ruleReportChanged"] * 2,
        ),
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
        ("self.a ? self.b : true", "!self.a || self.b"),
        ("[self.a] == [!(!self.b)]", "[self.a] == [self.b]"),
        ("self.a == self.b", "(self.a && self.b) || (!self.a && !self.b)"),
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


TEXT: Final = {"type": "string"}
OLD: Final = {"type": "object", "properties": {"old": TEXT}}


@pytest.mark.parametrize(
    "rule, fields, old, expected",
    [
        ("!has(self.new) || self.other == 'x'", {"new": TEXT, "other": TEXT}, OLD, "keptRuleAdded"),
        ("has(self.new) ? self.old == 'x' : true", {"new": TEXT}, OLD, "keptRuleAdded"),
        ("!(has(self.new) && has(self.old))", {"new": TEXT}, OLD, "keptRuleAdded"),
        ("self.new != 'x' || self.old == 'y'", {"new": TEXT | {"default": "z"}}, OLD, "keptRuleAdded"),
        ("self.new != 'x' || self.old == 'y'", {"new": TEXT | {"default": "x"}}, OLD, "ruleAdded"),
        ("self.new != 'x' || self.old == 'y'", {"new": TEXT}, OLD, "ruleAdded"),
        ("!has(self.new) || self.old == 'x'", {"new": TEXT | {"default": "x"}}, OLD, "ruleAdded"),
        ("has(self.new) || has(self.old)", {"new": TEXT}, OLD, "ruleAdded"),
        ("has(self.old)", {"new": TEXT}, OLD, "ruleAdded"),
        ("self.l.all(self, !has(self.new))", {"new": TEXT}, OLD, "ruleAdded"),
        ("!has(self.new) || self.old == 'x'", {"new": TEXT}, OLD | {"x-kubernetes-preserve-unknown-fields": True}, "ruleAdded"),
        ("!has(self.new) || self.old == 'x'", {}, {"type": "object", "additionalProperties": TEXT}, "ruleAdded"),
        ("!has(self.old) || self.old == 'x'", {}, OLD, "ruleAdded"),
    ],
)
def test_rules_about_new_fields(rule: str, fields: dict[str, Any], old: dict[str, Any], expected: str) -> None:
    """Call an added rule harmless that holds for all objects without the new fields, which the server gives their defaults."""
    new = {"type": "object", "properties": old.get("properties", {}) | fields} | rules(rule)

    assert changes(old, new) == [expected]


WORDS: Final = {"type": "array", "maxItems": 3, "items": TEXT}
LISTS: Final = {"type": "array", "maxItems": 2, "items": {"type": "object", "properties": {"l": WORDS, "d": WORDS | {"default": ["x"]}}}}
LIMITED: Final = {"type": "object", "required": ["l"], "properties": {"l": LISTS, "o": LISTS, "n": WORDS | {"nullable": True}}}


@pytest.mark.parametrize(
    "rule, expected",
    [
        ("self.l.size() <= 2", "keptRuleAdded"),
        ("size(self.l) < 3 && self.l.size() + 1 > 0", "keptRuleAdded"),
        ("self.l.size() < 2", "ruleAdded"),
        ("self.l.size() == 2 || true", "keptRuleAdded"),
        ("self.o.size() <= 2", "ruleAdded"),
        ("!has(self.o) || self.o.size() <= 2", "keptRuleAdded"),
        ("has(self.o) || self.o.size() <= 2", "ruleAdded"),
        ("has(self.o) ? self.o.size() <= 2 : true", "keptRuleAdded"),
        ("has(self.o) && self.o.size() <= 2", "ruleAdded"),
        ("!has(self.n) || self.n.size() <= 3", "ruleAdded"),
        ("(self.l.size() > 0 ? self.l[0].d.size() : 0) + (self.l.size() > 1 ? self.l[1].d.size() : 0) <= 6", "keptRuleAdded"),
        ("(self.l.size() > 0 ? self.l[0].d.size() : 0) + (self.l.size() > 1 ? self.l[1].d.size() : 0) <= 5", "ruleAdded"),
        ("(self.l.size() > 0 ? self.l[1].d.size() : 0) <= 6", "ruleAdded"),
        ("(self.l.size() > 0 ? self.l[0].l.size() : 0) <= 6", "ruleAdded"),
        ("self.l.size() > 0 ? (has(self.l[0].l) ? self.l[0].l.size() : 0) <= 3 : !(1 > 2)", "keptRuleAdded"),
    ],
)
def test_rules_about_limits(rule: str, expected: str) -> None:
    """Call an added rule harmless that the limits of the former schema imply, if its evaluation cannot fail."""
    assert changes(LIMITED, LIMITED | rules(rule)) == [expected]


def test_a_default_that_is_longer_than_the_former_limit() -> None:
    """Count what the server sets, too."""
    old = {"type": "object", "properties": {"l": WORDS}}
    new = {"type": "object", "properties": {"l": WORDS | {"maxItems": 4, "default": ["a"] * 4}}}

    assert "ruleAdded" in changes(old, new | rules("self.l.size() <= 3"))


ATOMS: Final = ("has(self.a)", "self.a == 1", "self.a != 1", "self.b", "self.a < 2", "has(self.b)", "true", "self.l.exists(x, x == 1)")
OBJECTS: Final = [
    {key: value for key, value in {"a": a, "b": b, "l": items}.items() if value is not None}
    for a in (None, 1, 2)
    for b in (None, True, False)
    for items in (None, [1, 2])
]


def random_rule(rng: random.Random, depth: int, atoms: Sequence[str] = ATOMS) -> str:
    """Return an expression over a few conditions, which fail if a field is missing."""
    if depth == 0 or rng.random() < 0.1:
        return rng.choice(atoms)
    form = rng.choice(
        ("({} && {})", "({} || {})", "!({})", "(({}) == ({}))", "(({}) != ({}))", "({} ? {} : {})", "self.l.all(y, y > 1 || {})")
    )
    return form.format(*(random_rule(rng, depth - 1, atoms) for _ in range(form.count("{}"))))


def accepted(rule: str) -> list[bool]:
    """Return which objects satisfy a rule."""
    fields = {"a": {"type": "integer"}, "b": {"type": "boolean"}, "l": {"type": "array", "maxItems": 5, "items": {"type": "integer"}}}
    schema = CompiledSchema({"type": "object", "properties": fields, "x-kubernetes-validations": [{"rule": rule}]})
    return [not schema.validate_rules(obj).errors for obj in OBJECTS]


def test_random_rules() -> None:
    """Call no rule equal, narrower or wider that accepts other objects."""
    found: dict[str, int] = {}
    for seed in range(60):
        rng = seeded(f"rule{seed}")
        old = random_rule(rng, 2)
        others = {
            form.format(old)
            for form in ("!(!{0})", "({0} && {0}) || {0}", "({0}) == true", "!({0})", "({0} ? true : false)", "{0} && self.b")
        }
        for new in [*sorted(others), random_rule(rng, 2)]:
            for change in rule_changes(rules(old, message="m"), rules(new, message="m")):
                found[change.rule] = found.get(change.rule, 0) + 1
                if change.rule != "ruleChanged":
                    pairs = {*zip(accepted(old), accepted(new), strict=True)}
                    assert change.rule == "ruleNarrowed" or (True, False) not in pairs, (old, new)
                    assert change.rule == "ruleWidened" or (False, True) not in pairs, (old, new)

    assert found.keys() == {"ruleChanged", "ruleNarrowed", "ruleReportChanged", "ruleWidened"}


LIMITS: Final = (
    "self.l.size() <= 2", "self.l.size() > 0", "self.l.size() > 1", "has(self.o)", "self.o.size() < 3", "has(self.n)", "self.n.size() >= 0",
    "self.l[0].d.size() < 4", "self.l[1].d.size() + self.l.size() < 6", "has(self.l[0].l)", "self.l[0].l.size() < 4",
    "self.l[0].l.size() > 2",
)  # fmt: skip
ITEMS: Final[list[dict[str, Any]]] = [{}, {"l": []}, {"l": ["a"] * 3, "d": ["a"] * 3}]
MORE: Final[list[dict[str, Any]]] = [{}, {"o": []}, {"o": [{}, {}]}, {"n": None}, {"n": ["a"] * 3}]
LIMITED_OBJECTS: Final = [
    {"l": items} | more for items in ([], *([item] for item in ITEMS), *([item, item] for item in ITEMS)) for more in MORE
]


def test_random_rules_about_limits() -> None:
    """Call no added rule harmless that an object of the former schema breaks."""
    kept = 0
    for seed in range(600):
        rule = random_rule(seeded(f"limit{seed}"), 3, LIMITS)
        if changes(LIMITED, LIMITED | rules(rule)) == ["keptRuleAdded"]:
            kept += 1
            schema = CompiledSchema(LIMITED | rules(rule))
            for given in LIMITED_OBJECTS:
                obj = json_codec.loads(json_codec.dumps(given))
                schema.coerce(obj)
                assert not schema.validate_values(obj)
                assert not schema.validate_rules(obj).errors, (rule, obj)

    assert kept

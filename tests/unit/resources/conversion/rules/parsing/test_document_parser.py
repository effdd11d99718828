"""Conversion objects are parsed to rules, or refused with the path of each mistake."""

from typing import Any

import pytest

from apiext.resources.conversion.rules import model
from apiext.resources.conversion.rules.interface import InvalidConversionError
from apiext.resources.conversion.rules.model import EACH, Side
from apiext.resources.conversion.rules.parsing.document_parser import parse_rules
from tests.support.builders.conversions import conversion

Rule = dict[str, Any]


@pytest.mark.parametrize(
    "written, rule",
    [
        ({"rename": {"path": "spec.a[*].b", "to": "c.d"}}, model.Move(("spec", "a", EACH, "b"), ("spec", "a", EACH, "c.d"))),
        ({"move": {"from": "spec.a", "to": "spec.b.a"}}, model.Move(("spec", "a"), ("spec", "b", "a"))),
        ({"copy": {"from": "spec.a", "to": "metadata.labels['a']"}}, model.Copy(("spec", "a"), ("metadata", "labels", "a"))),
        ({"default": {"path": "spec.a", "value": {"b": [1]}}}, model.Default(("spec", "a"), {"b": [1]}, Side.HUB)),
        ({"default": {"path": "spec.a", "value": None, "in": "spoke"}}, model.Default(("spec", "a"), None, Side.SPOKE)),
        (
            {"enum": {"path": "spec.a", "map": {"x": "X", "y": "X"}, "back": {"X": "x", "Z": "x"}}},
            model.EnumMap(("spec", "a"), (("x", "X"), ("y", "X")), (("X", "x"), ("Z", "x"))),
        ),
        (
            {"enum": {"path": "spec.a[*]", "values": [{"from": 1, "to": "One"}, {"from": True, "to": "Yes"}]}},
            model.EnumMap(("spec", "a", EACH), ((1, "One"), (True, "Yes")), (("One", 1), ("Yes", True))),
        ),
        ({"wrap": {"path": "spec.a", "field": "name"}}, model.Wrap(("spec", "a"), "name")),
        ({"unwrap": {"path": "spec.a", "list": True}}, model.Unwrap(("spec", "a"), None)),
        (
            {"split": {"path": "spec.a", "to": ["spec.b", "spec.c"], "separator": ":", "last": True}},
            model.Split(("spec", "a"), (("spec", "b"), ("spec", "c")), ":", last=True),
        ),
        (
            {"join": {"paths": ["spec.b", "spec.c"], "to": "spec.a", "separator": "/"}},
            model.Join((("spec", "b"), ("spec", "c")), ("spec", "a"), "/"),
        ),
        ({"listToMap": {"path": "spec.a", "key": "name"}}, model.ListToMap(("spec", "a"), "name", None)),
        ({"mapToList": {"path": "spec.a", "key": "name", "value": "value"}}, model.MapToList(("spec", "a"), "name", "value")),
        ({"drop": {"path": "spec.a", "reason": "gone"}}, model.Drop(("spec", "a"), "gone", Side.SPOKE)),
        (
            {"expression": {"toHub": [{"path": "spec.a", "value": "self.spec.b"}]}},
            model.Expressions((model.Assignment(("spec", "a"), "self.spec.b"),), ()),
        ),
    ],
)
def test_each_kind_of_rule_is_parsed(written: Rule, rule: model.Rule) -> None:
    """Parse a rule with its paths and its defaults."""
    assert parse_rules(conversion(v1=[written])).spokes[0].rules == (rule,)


def test_the_spec_has_hub_and_spokes() -> None:
    """Parse the name, the versions and the generation, and keep the spec."""
    document = conversion(hub="v3", v1=[], v2=[{"drop": {"path": "spec.a", "reason": "gone"}}])
    document["metadata"]["generation"] = 4

    rules = parse_rules(document)

    assert (rules.name, rules.hub, [spoke.version for spoke in rules.spokes], rules.generation) == (
        "widgets.example.com",
        "v3",
        ["v1", "v2"],
        4,
    )
    assert rules.document == document["spec"]


@pytest.mark.parametrize(
    "rule, error",
    [
        ({"rename": {"path": "spec.a"}}, "rename.to: Required value"),
        ({"rename": {"path": "spec.a", "to": "a"}}, 'rename.to: Invalid value: "a": must be another name'),
        ({"rename": {"path": "spec.a", "to": "b", "in": "hub"}}, "rename.in: Forbidden: unknown field"),
        ({"rotate": {}}, "rotate: Forbidden: unknown field"),
        ({"move": {"from": "spec.a[*].b", "to": "spec.b"}}, "must begin with spec.a[*], as spec.a[*].b does"),
        ({"move": {"from": "spec.a", "to": "spec.b[*].a"}}, "must not contain [*], as spec.a does"),
        ({"move": {"from": "spec.a", "to": "spec.a"}}, "is named twice"),
        ({"move": {"from": "spec.a[*]", "to": "spec.b"}}, "must end with the name of a field"),
        ({"wrap": {"path": "spec.a"}}, "must have either `field` or `list: true`"),
        ({"wrap": {"path": "spec.a", "field": "x", "list": True}}, "must have either `field` or `list: true`"),
        ({"wrap": {"path": "metadata.labels.a", "field": "x"}}, "labels and annotations stay texts"),
        ({"enum": {"path": "spec.a", "map": {"a": "X", "b": "X"}}}, "enum.back: Required value: several values become 'X'"),
        ({"enum": {"path": "spec.a"}}, "enum.map: Required value"),
        ({"split": {"path": "spec.a", "to": ["spec.b"], "separator": ":"}}, "split.to"),
        ({"split": {"path": "spec.a", "to": ["spec.b", "spec.b"], "separator": ":"}}, "split.to[1]"),
        ({"listToMap": {"path": "spec.a", "key": "k", "value": "k"}}, "listToMap.value: Duplicate value"),
        ({"drop": {"path": "spec.a"}}, "drop.reason: Required value"),
        ({"drop": {"path": "spec.a", "reason": "r", "in": "both"}}, 'drop.in: Invalid value: "both": must be one of hub, spoke'),
        ({"drop": {"path": "kind", "reason": "r"}}, "must not lead to apiVersion or kind"),
        ({"expression": {"toHub": [{"path": "spec.a[*].b", "value": "1"}]}}, "must not contain [*]"),
        ({"drop": {"path": "spec.a", "reason": "r"}, "wrap": {"path": "spec.a", "list": True}}, "must have exactly one member"),
    ],
)
def test_mistakes_are_named_with_their_path(rule: Rule, error: str) -> None:
    """Refuse a rule with the path of its mistake."""
    with pytest.raises(InvalidConversionError) as caught:
        parse_rules(conversion(v1=[rule]))

    assert error in str(caught.value)
    assert all(each.field.startswith("spec.spokes[0].rules[0]") for each in caught.value.errors)


def test_versions_differ() -> None:
    """Refuse a spoke that is the hub, and one that is there twice."""
    document = conversion(v2=[], v1=[])
    document["spec"]["spokes"] *= 2

    with pytest.raises(InvalidConversionError) as caught:
        parse_rules(document)

    assert [str(error) for error in caught.value.errors] == [
        "spec.spokes[0].version: Forbidden: is the hub",
        "spec.spokes[2].version: Forbidden: is the hub",
        'spec.spokes[3].version: Duplicate value: "v1"',
    ]


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {},
        {"apiVersion": "v1", "kind": "Conversion", "metadata": {"name": "a.b"}, "spec": {"hub": "v1"}},
        conversion(name="widgets"),
    ],
)
def test_other_documents_are_refused(document: object) -> None:
    """Refuse what is no Conversion."""
    with pytest.raises(InvalidConversionError):
        parse_rules(document)


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


_RENAMES: list[Rule] = [{"rename": {"path": f"spec.a{number}", "to": "b"}} for number in range(600)]


@pytest.mark.parametrize(
    "spokes, problem",
    [
        ({"v1": _RENAMES, "v3": _RENAMES}, "spec.spokes: Forbidden: have 1200 rules, and together can have 1024"),
        ({"v1": [{"default": {"path": "spec.a", "value": "x" * 140_000}}]}, "spec: Too long: may not be more than 131072 bytes"),
        ({"v1": [{"default": {"path": "spec.a", "value": _deep(500)}}]}, "spec: Invalid value: must not be nested deeper than 200 levels"),
        ({f"v{number}": [] for number in range(10, 50)}, "spec.spokes: Invalid value: does not satisfy maxItems: 32"),
        ({"v1": [{"drop": {"path": ".".join(["a"] * 65), "reason": "gone"}}]}, "must not have more than 64 steps"),
    ],
    ids=["rules", "bytes", "levels", "spokes", "steps"],
)
def test_documents_are_limited(spokes: dict[str, Any], problem: str) -> None:
    """Refuse a document that takes long to parse, or whose values could not be written."""
    with pytest.raises(InvalidConversionError) as caught:
        parse_rules(conversion(**spokes))

    assert problem in str(caught.value)

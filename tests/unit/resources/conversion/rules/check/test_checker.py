"""The check of rules against the schemas of a CRD."""

from typing import Any, Final

import pytest

from apiext.resources.conversion.rules.check.checker import check_rules
from apiext.resources.conversion.rules.check.report import CarriedField, CheckReport, DeclaredLoss
from apiext.resources.conversion.rules.parsing.document_parser import parse_rules
from tests.support.builders.related_versions import INTEGER, STRING, array, conversion, mapped, obj, schemas_of_specs

OPEN_SPEC: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def checked(spoke: Any, hub: Any, *rules: Any, **others: Any) -> CheckReport:
    """Check rules between v1 and the hub v2, whose spec have the schemas, and other versions without rules."""
    document = conversion(*rules, others=[*others])
    return check_rules(parse_rules(document), schemas_of_specs(v1=spoke, v2=hub, **others))


def texts(report: CheckReport) -> list[str]:
    """Return the problems as texts, with paths below the first spoke."""
    return [str(each).removeprefix("spec.spokes[0].") for each in report.problems]


FITTING: Final = [
    ({"rename": {"path": "spec.size", "to": "capacity"}}, obj(size=INTEGER), obj(capacity=INTEGER)),
    ({"move": {"from": "spec.region", "to": "spec.at.region"}}, obj(region=STRING), obj(at=obj(region=STRING))),
    ({"move": {"from": "spec.l[*].a", "to": "spec.l[*].b.a"}}, obj(l=array(obj(a=STRING))), obj(l=array(obj(b=obj(a=STRING))))),
    ({"copy": {"from": "spec.name", "to": "spec.title"}}, obj(name=STRING), obj(name=STRING, title=STRING)),
    ({"default": {"path": "spec.tier", "value": "std"}}, obj(), obj(("tier",), tier=STRING)),
    ({"default": {"path": "spec.tier", "value": "std", "in": "spoke"}}, obj(("tier",), tier=STRING), obj()),
    (
        {"enum": {"path": "spec.mode", "map": {"a": "A", "b": "B"}}},
        obj(mode=STRING | {"enum": ["a", "b"]}),
        obj(mode=STRING | {"enum": ["A", "B"]}),
    ),
    (
        {"enum": {"path": "spec.mode", "values": [{"from": 1, "to": "A"}]}},
        obj(mode=INTEGER | {"enum": [1]}),
        obj(mode=STRING | {"enum": ["A"]}),
    ),
    ({"wrap": {"path": "spec.host", "field": "name"}}, obj(host=STRING), obj(host=obj(("name",), name=STRING))),
    ({"wrap": {"path": "spec.host", "list": True}}, obj(host=STRING), obj(host=array(STRING))),
    ({"wrap": {"path": "spec.hosts[*]", "field": "name"}}, obj(hosts=array(STRING)), obj(hosts=array(obj(name=STRING)))),
    ({"wrap": {"path": "spec.hosts[*]", "field": "name"}}, obj(hosts=mapped(STRING)), obj(hosts=mapped(obj(name=STRING)))),
    ({"unwrap": {"path": "spec.owner", "field": "name"}}, obj(owner=obj(name=STRING)), obj(owner=STRING)),
    ({"unwrap": {"path": "spec.owner", "list": True}}, obj(owner=array(STRING)), obj(owner=STRING)),
    ({"split": {"path": "spec.at", "to": ["spec.host", "spec.port"], "separator": ":"}}, obj(at=STRING), obj(host=STRING, port=INTEGER)),
    ({"join": {"paths": ["spec.host", "spec.port"], "to": "spec.at", "separator": ":"}}, obj(host=STRING, port=INTEGER), obj(at=STRING)),
    (
        {"listToMap": {"path": "spec.env", "key": "name", "value": "value"}},
        obj(env=array(obj(name=STRING, value=STRING))),
        obj(env=mapped(STRING)),
    ),
    (
        {"listToMap": {"path": "spec.env", "key": "name"}},
        obj(env=array(obj(name=STRING, size=INTEGER))),
        obj(env=mapped(obj(size=INTEGER))),
    ),
    (
        {"mapToList": {"path": "spec.env", "key": "name", "value": "value"}},
        obj(env=mapped(STRING)),
        obj(env=array(obj(("name", "value"), name=STRING, value=STRING))),
    ),
    ({"drop": {"path": "spec.old", "reason": "unused"}}, obj(old=STRING), obj()),
    ({"drop": {"path": "spec.new", "reason": "unused", "in": "hub"}}, obj(), obj(new=STRING)),
    (
        {"expression": {"toHub": [{"path": "spec.b", "value": "self.spec.a"}], "toSpoke": [{"path": "spec.a", "value": "self.spec.b"}]}},
        obj(a=INTEGER),
        obj(b=INTEGER),
    ),
]


@pytest.mark.parametrize("rule, spoke, hub", FITTING, ids=lambda value: next(iter(value)) if isinstance(value, dict) else None)
def test_rules_that_fit_have_no_findings(rule: Any, spoke: Any, hub: Any) -> None:
    """Accept each kind of rule between schemas that it relates, in both directions."""
    assert checked(spoke, hub, rule).findings == []


UNFIT: Final = [
    (
        "source",
        {"rename": {"path": "spec.sise", "to": "capacity"}},
        obj(size=INTEGER),
        obj(capacity=INTEGER),
        ["rules[0].rename.path: v1 has no field spec.sise"],
    ),
    (
        "target",
        {"rename": {"path": "spec.size", "to": "capazity"}},
        obj(size=INTEGER),
        obj(capacity=INTEGER),
        ["rules[0].rename.to: v2 has no field spec.capazity"],
    ),
    (
        "type",
        {"move": {"from": "spec.size", "to": "spec.capacity"}},
        obj(size=INTEGER),
        obj(capacity=STRING),
        [
            "rules[0].move.to: spec.capacity is of type integer from v1, and string in v2",
            "rules[0].move.from: spec.size is of type string from v2, and integer in v1",
        ],
    ),
    (
        "below a text",
        {"move": {"from": "spec.a.b", "to": "spec.c"}},
        obj(a=STRING),
        obj(c=STRING),
        ["rules[0].move.from: spec.a is of type string in v1, which has no fields"],
    ),
    (
        "default's type",
        {"default": {"path": "spec.tier", "value": 1}},
        obj(),
        obj(tier=STRING),
        ["rules[0].default.value: the value 1 is not of type string, as v2 wants"],
    ),
    (
        "default's value",
        {"default": {"path": "spec.tier", "value": "x"}},
        obj(),
        obj(tier=STRING | {"enum": ["a"]}),
        ['rules[0].default.value: v2 does not allow the value \'x\': Unsupported value: "x": supported values: "a"'],
    ),
    (
        "enum's values",
        {"enum": {"path": "spec.mode", "map": {"a": "A", "c": "B"}}},
        obj(mode=STRING | {"enum": ["a", "b"]}),
        obj(mode=STRING | {"enum": ["A", "C"]}),
        ["rules[0].enum.map: v1 does not allow the value 'c' in spec.mode"],
    ),
    (
        "a list's field",
        {"wrap": {"path": "spec.host", "field": "nane"}},
        obj(host=STRING),
        obj(host=obj(name=STRING)),
        ["rules[0].wrap.field: v2 has no field spec.host.nane"],
    ),
    (
        "unwrap",
        {"unwrap": {"path": "spec.owner", "field": "id"}},
        obj(owner=obj(name=STRING)),
        obj(owner=STRING),
        ["rules[0].unwrap.field: spec.owner has no field id in v1"],
    ),
    (
        "unwrap of a text",
        {"unwrap": {"path": "spec.owner", "list": True}},
        obj(owner=STRING),
        obj(owner=STRING),
        ["rules[0].unwrap.path: spec.owner is of type string here, expected array"],
    ),
    (
        "split",
        {"split": {"path": "spec.at", "to": ["spec.host", "spec.port"], "separator": ":"}},
        obj(at=INTEGER),
        obj(host=STRING, port=obj()),
        [
            "rules[0].split.path: spec.at is of type integer here, expected string",
            "rules[0].split.to[1]: spec.port is of type object here, expected boolean or integer or string",
        ],
    ),
    (
        "map",
        {"mapToList": {"path": "spec.env", "key": "name"}},
        obj(env=obj(a=STRING)),
        obj(env=array(obj(name=STRING))),
        ["rules[0].mapToList.path: spec.env is an object with named fields in v1, not a map"],
    ),
    (
        "key",
        {"listToMap": {"path": "spec.env", "key": "id"}},
        obj(env=array(obj(name=STRING))),
        obj(env=mapped(obj(name=STRING))),
        ["rules[0].listToMap.key: the items of spec.env have no field id in v1"],
    ),
    (
        "expression",
        {"expression": {"toHub": [{"path": "spec.b", "value": "self.spec.a"}]}},
        obj(a=INTEGER),
        obj(),
        ["rules[0].expression.toHub[0].path: v2 has no field spec.b"],
    ),
]


@pytest.mark.parametrize("rule, spoke, hub, expected", [each[1:] for each in UNFIT], ids=[each[0] for each in UNFIT])
def test_problems_name_the_part_of_the_rule(rule: Any, spoke: Any, hub: Any, expected: list[str]) -> None:
    """Report each mistake once, at the member of the rule that has it."""
    assert texts(checked(spoke, hub, rule)) == expected


def test_fields_of_other_types_need_a_rule() -> None:
    """Report a field of one name with two types."""
    assert texts(checked(obj(size=INTEGER), obj(size=STRING))) == [
        "spec.spokes[0]: spec.size is of type integer from v1, and string in v2; no rule converts it",
        "spec.spokes[0]: spec.size is of type string from v2, and integer in v1; no rule converts it",
    ]


def test_a_required_field_needs_a_source() -> None:
    """Report a required field that nothing fills, and warn of one that some objects lack; a default in the schema fills it."""
    report = checked(obj(b=STRING), obj(("a", "b", "c"), a=STRING, b=STRING, c=STRING | {"default": "x"}))

    assert texts(report) == ["spec.spokes[0]: v2 requires spec.a, for which v1 has no source: add a default"]
    assert [str(each) for each in report.warnings] == [
        "spec.spokes[0]: v2 requires spec.b, which objects of v1 may lack: a default would give it to all"
    ]


_PAIR: Final = obj(("host", "port"), host=STRING, port=INTEGER)
BELOW_OPTIONAL: Final = [
    ([{"rename": {"path": "spec.at.host", "to": "name"}}], obj(at=_PAIR), obj(at=obj(("name", "port"), name=STRING, port=INTEGER))),
    ([{"rename": {"path": "spec[*].host", "to": "name"}}], array(_PAIR), array(obj(("name", "port"), name=STRING, port=INTEGER))),
    ([{"move": {"from": "spec.host", "to": "spec.at.host"}}], obj(host=STRING), obj(at=obj(("host",), host=STRING))),
    (
        [{"move": {"from": f"spec.at.{name}", "to": f"spec.to.{name}"}} for name in ("host", "port")],
        obj(at=_PAIR),
        obj(to=_PAIR),
    ),
    (
        [{"copy": {"from": "spec.at.host", "to": "spec.at.name"}}],
        obj(at=_PAIR),
        obj(at=obj(("host", "name"), host=STRING, port=INTEGER, name=STRING)),
    ),
    (
        [{"join": {"paths": ["spec.at.host", "spec.at.port"], "to": "spec.at.address", "separator": ":"}}],
        obj(at=_PAIR),
        obj(at=obj(("address",), address=STRING)),
    ),
]


@pytest.mark.parametrize("rules, spoke, hub", BELOW_OPTIONAL)
def test_a_required_field_counts_where_its_parent_is(rules: Any, spoke: Any, hub: Any) -> None:
    """Warn of no field that both versions require in an optional parent."""
    assert [each.message for each in checked(spoke, hub, *rules).findings if each.message.startswith("v2 requires")] == []


def test_a_required_field_of_a_parent_that_others_make_is_reported() -> None:
    """Warn of a field that is not there with all that makes its parent."""
    rules = [{"move": {"from": f"spec.{name}", "to": f"spec.at.{name}"}} for name in ("host", "port")]

    report = checked(obj(host=STRING, port=INTEGER), obj(at=_PAIR), *rules)

    assert [each.message.partition(", which")[0] for each in report.warnings] == ["v2 requires spec.at.host", "v2 requires spec.at.port"]


def test_rules_see_what_earlier_rules_made() -> None:
    """Follow a field through several rules, and back in reverse order."""
    rules = [
        {"rename": {"path": "spec.host", "to": "address"}},
        {"wrap": {"path": "spec.address", "field": "name"}},
        {"move": {"from": "spec.address", "to": "spec.network.address"}},
    ]
    hub = obj(network=obj(address=obj(name=STRING)))

    assert checked(obj(host=STRING), hub, *rules).findings == []
    assert texts(checked(obj(host=STRING), hub, rules[1], rules[0], rules[2]))[0] == ("rules[0].wrap.path: v1 has no field spec.address")


def test_values_that_the_other_version_does_not_allow_are_warnings() -> None:
    """Warn of values of an enum that no rule maps."""
    report = checked(obj(mode=STRING | {"enum": ["a", "b"]}), obj(mode=STRING | {"enum": ["b", "c"]}))

    assert [each.message for each in report.warnings] == [
        "spec.mode may have values from v1 that v2 does not allow: 'a'",
        "spec.mode may have values from v2 that v1 does not allow: 'c'",
    ]


def test_what_is_carried_and_what_is_lost_is_listed() -> None:
    """List the fields that one version lacks, and those that rules drop."""
    report = checked(obj(a=STRING, b=STRING), obj(c=STRING), {"drop": {"path": "spec.a", "reason": "unused"}})

    assert report.losses == [DeclaredLoss("v1", "spec.a", "unused")]
    assert report.carried == [CarriedField("v1", "v2", "spec.b"), CarriedField("v2", "v1", "spec.c")]
    assert report.findings == []


def test_the_other_fields_of_an_unwrapped_object_are_carried() -> None:
    """List what unwrap leaves behind."""
    report = checked(obj(owner=obj(name=STRING, uid=STRING)), obj(owner=STRING), {"unwrap": {"path": "spec.owner", "field": "name"}})

    assert report.carried == [CarriedField("v1", "v2", "spec.owner.uid")]


def test_spokes_with_a_field_that_the_hub_lacks_are_independent() -> None:
    """Warn that a change of such a field in one version does not reach the other one."""
    report = checked(obj(a=STRING), obj(), v3=obj(a=STRING))

    assert [str(each) for each in report.warnings] == [
        "spec.spokes[1]: v1 and v3 have spec.a, which the hub v2 lacks: a change in one does not reach the other"
    ]


def test_a_field_that_is_there_already_is_replaced_with_a_warning() -> None:
    """Warn of a move onto a field that its version has."""
    report = checked(obj(a=STRING, b=STRING), obj(b=STRING), {"rename": {"path": "spec.a", "to": "b"}})

    assert [str(each) for each in report.warnings] == [
        "spec.spokes[0].rules[0].rename.to: v1 has a field spec.b already, which the rule replaces; it is carried"
    ]


def test_unknown_and_missing_versions_are_problems() -> None:
    """Require rules for the versions of the CRD, and for no others."""
    document = conversion()
    document["spec"]["spokes"] = [{"version": "v9"}]
    schemas = schemas_of_specs(v1=obj(), v2=obj())

    assert [str(each) for each in check_rules(parse_rules(document), schemas).problems] == [
        "spec.spokes[0].version: widgets.example.com has no version v9; it has v1, v2",
        "spec.spokes: rules for version v1 are missing; `rules: []` says that the fields are the same",
    ]
    document["spec"] = {"hub": "v9"}
    assert check_rules(parse_rules(document), schemas).problems[0].path == "spec.hub"


def test_unspecified_fields_accept_all_rules() -> None:
    """Accept rules below a field with x-kubernetes-preserve-unknown-fields."""
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

    assert checked(free, free, {"move": {"from": "spec.a.b", "to": "spec.c"}}, {"wrap": {"path": "spec.c", "field": "x"}}).problems == []


def test_labels_and_annotations_can_be_moved() -> None:
    """Move a field to an annotation and back."""
    rule = {"move": {"from": "spec.a", "to": "metadata.annotations['example.com/a']"}}

    assert checked(obj(a=STRING), obj(), rule).findings == []


def test_a_map_that_becomes_an_object_is_a_warning() -> None:
    """Warn that entries without a field of their name are carried."""
    report = checked(obj(labels=mapped(STRING)), obj(labels=obj(team=STRING)))

    assert [str(each) for each in report.findings] == [
        "spec.spokes[0]: spec.labels is a map from v1, and an object with named fields in v2: other entries are carried"
    ]


def test_a_default_needs_its_parent() -> None:
    """Report a default below an object that nothing makes; two defaults make both."""
    inner, outer = {"default": {"path": "spec.at.zone", "value": "a"}}, {"default": {"path": "spec.at", "value": {}}}
    hub = obj(("at",), at=obj(("zone",), zone=STRING))

    assert texts(checked(obj(), hub, inner))[0] == (
        "rules[0].default.path: v1 has no object spec.at at this point of the rules: give it a default, too"
    )
    assert checked(obj(), hub, outer, inner).findings == []


def test_a_default_makes_no_parent() -> None:
    """Warn of a required object that some objects lack, although its field has a default."""
    report = checked(obj(at=obj()), obj(("at",), at=obj(("zone",), zone=STRING)), {"default": {"path": "spec.at.zone", "value": "a"}})

    assert [str(each) for each in report.findings] == [
        "spec.spokes[0]: v2 requires spec.at, which objects of v1 may lack: a default would give it to all"
    ]


def test_a_move_removes_the_object_that_it_empties() -> None:
    """Report a required object whose only field a rule takes away."""
    rule = {"move": {"from": "spec.at.zone", "to": "spec.zone"}}
    spoke = obj(("at",), at=obj(("zone",), zone=STRING))

    assert texts(checked(spoke, obj(("at",), at=obj(), zone=STRING), rule)) == [
        "spec.spokes[0]: v2 requires spec.at, for which v1 has no source: add a default"
    ]


def test_parts_of_texts_become_booleans_and_back() -> None:
    """Accept integers and booleans as parts of a text."""
    rule = {"split": {"path": "spec.text", "to": ["spec.on", "spec.size"], "separator": ":"}}

    assert checked(obj(text=STRING), obj(on={"type": "boolean"}, size=INTEGER), rule).findings == []


def _wraps(count: int, kind: str = "wrap") -> list[Any]:
    return [{kind: {"path": "spec.a", "field": "b"}} for _ in range(count)]


@pytest.mark.parametrize(
    "rules, problem",
    [
        (_wraps(20), ""),
        (_wraps(21), "rules[20].wrap: spec.a.b can be nested 21 levels deeper than before, and rules may add 20"),
        (_wraps(21, "unwrap"), "rules[0].unwrap: spec.a.b can be nested 21 levels deeper than before, and rules may add 20"),
        ([*_wraps(20), {"move": {"from": "spec.a", "to": "spec.c.a"}}], "rules[20].move: spec.c.a can be nested 21 levels"),
        ([*_wraps(20), {"copy": {"from": "spec", "to": "data.spec"}}], "rules[20].copy: data.spec can be nested 21 levels"),
        ([each for n in range(30) for each in ({"move": {"from": f"spec.f{n}", "to": f"spec.g.f{n}"}},)], ""),
        ([*_wraps(15), *_wraps(15, "unwrap"), *_wraps(4)], ""),
    ],
    ids=["most", "too many", "the way back", "moved", "copied", "independent", "there and back"],
)
def test_rules_nest_values_only_so_deeply(rules: Any, problem: str) -> None:
    """Refuse rules that could make an object that is nested too deeply to be written."""
    found = [each for each in texts(checked(OPEN_SPEC, OPEN_SPEC, *rules)) if "levels deeper" in each]

    assert [each[: len(problem)] for each in found] == ([problem] if problem else [])

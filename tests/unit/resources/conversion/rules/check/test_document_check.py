"""The whole check of Conversion objects, with their expressions."""

import re
from typing import Any

from apiext.resources.conversion.rules.check.document_check import check_document, crd_schemas
from apiext.resources.conversion.rules.check.report import CheckReport
from tests.support.builders.related_versions import INTEGER, STRING, array, conversion, crd_of_specs, mapped, obj, schemas_of_specs


def _checked(spoke: Any, hub: Any, *rules: Any) -> CheckReport:
    return check_document(conversion(*rules), schemas_of_specs(v1=spoke, v2=hub))[1]


def _expression(to_hub: dict[str, str], to_spoke: dict[str, str]) -> dict[str, Any]:
    ways = {"toHub": to_hub, "toSpoke": to_spoke}
    return {"expression": {way: [{"path": path, "value": value} for path, value in found.items()] for way, found in ways.items()}}


def test_expressions_that_agree_have_no_findings() -> None:
    """Accept directions of which each is the inverse of the other one."""
    rule = _expression({"spec.millis": "self.spec.?seconds.optMap(s, s * 1000)"}, {"spec.seconds": "self.spec.?millis.optMap(m, m / 1000)"})

    report = _checked(obj(seconds=INTEGER), obj(millis=INTEGER | {"multipleOf": 1000, "minimum": 0}), rule)

    assert [str(each) for each in report.findings] == []


def test_directions_that_disagree_are_warnings_with_an_example() -> None:
    """Show a value that another one replaces after a conversion there and back."""
    rule = _expression({"spec.b": "self.spec.?a.optMap(a, a + 1)"}, {"spec.a": "self.spec.?b.optMap(b, b + 1)"})

    report = _checked(obj(a=INTEGER), obj(b=INTEGER), rule)

    assert report.is_valid
    messages = {each.path.removeprefix("spec.spokes[0].rules[0].expression."): each.message for each in report.warnings}
    assert messages.keys() == {"toHub[0]", "toSpoke[0]"}
    assert messages["toSpoke[0]"].startswith("the directions disagree: spec.a ")
    assert messages["toSpoke[0]"].endswith(" on the way v1 -> v2 -> v1; the difference is carried")


def test_a_direction_that_is_not_written_is_a_warning() -> None:
    """Warn of a value that has no way back."""
    report = _checked(obj(a=INTEGER), obj(b=INTEGER), _expression({"spec.b": "self.spec.?a"}, {}))

    (warning,) = report.warnings
    assert warning.path == "spec.spokes[0].rules[0].expression.toHub[0]"
    assert " becomes nothing on the way v2 -> v1 -> v2" in warning.message


def test_defaults_that_another_version_does_not_allow_are_warnings() -> None:
    """Warn of each default that makes objects invalid after conversion, wherever it is, and not of values that rules or no default give."""
    items = array(obj(level=INTEGER | {"default": 0}, mode=STRING | {"default": "fast", "enum": ["fast", "slow"]}))
    by_name = mapped(obj(x=STRING | {"default": "long"}))
    spoke = obj(size=INTEGER | {"default": 0}, text=STRING | {"default": "a"}, items=items, byName=by_name)
    there = array(obj(level=INTEGER | {"minimum": 1}, mode=STRING | {"enum": ["Fast", "Slow"]}))
    hub = obj(("needed",), capacity=INTEGER | {"minimum": 1}, text=STRING, items=there, byName=mapped(obj(x=STRING | {"maxLength": 3})))
    hub["properties"]["needed"] = INTEGER | {"default": 5}
    modes = {"enum": {"path": "spec.items[*].mode", "map": {"fast": "Fast", "slow": "Slow"}}}

    report = _checked(spoke, hub, {"rename": {"path": "spec.size", "to": "capacity"}}, modes)

    least = "in body should be greater than or equal to 1"
    assert [str(each) for each in report.findings] == [
        f"spec.spokes[0]: v1 gives {path} the default {default}, which makes objects invalid in v2: {problem}"
        for path, default, problem in (
            ("spec.size", "0", f"spec.capacity: Invalid value: 0: spec.capacity {least}"),
            ("spec.items[*].level", "0", f"spec.items[0].level: Invalid value: 0: spec.items[0].level {least}"),
            ("spec.byName[*].x", "'long'", "spec.byName.key.x: Too long: may not be more than 3 bytes"),
        )
    ]


def test_expressions_that_fail_are_warnings() -> None:
    """Warn of each expression that fails for some objects, with an example, and of no other one."""
    rule = _expression({"spec.b": "self.spec.?a", "spec.c": "10 / self.spec.a"}, {"spec.a": "self.spec.?b"})

    report = _checked(obj(a=INTEGER), obj(b=INTEGER, c=INTEGER), rule)

    failures = [str(each) for each in report.warnings if "fails" in each.message]
    assert failures == [
        (
            'spec.spokes[0].rules[0].expression.toHub[1].value: fails for objects of v1 such as {"spec":{"a":0}}: '
            "the expression for spec.c failed: division by zero"
        )
    ]


def test_expressions_are_tried_on_metadata_alone() -> None:
    """Warn of each expression that fails for the least object, which server-side apply converts, and of none that has no value then."""
    to_hub = {"spec.b": "has(self.spec.a) ? self.spec.a : 1", "spec.c": "[1][self.metadata.name.size()]"}

    report = _checked(obj(("a",), a=INTEGER), obj(b=INTEGER, c=INTEGER), _expression(to_hub, {"spec.a": "self.spec.b / 0"}))

    alone = "fails for an object of v1 with metadata alone, as server-side apply converts them: "
    failures = [str(each) for each in report.warnings if "metadata alone" in each.message]
    assert failures == [
        f"spec.spokes[0].rules[0].expression.toHub[1].value: {alone}the expression for spec.c failed: index out of bounds: 6"
    ]


def test_what_becomes_invalid_is_a_warning_with_an_example() -> None:
    """Show the smallest valid object that violates the other version, by keywords or by rules, once for each reason."""
    rule = {"rule": "!has(self.even) || self.even % 2 == 0", "message": "not even"}
    hub = obj(size=INTEGER | {"maximum": 50}, few=array(INTEGER, maxItems=1), even=INTEGER) | {"x-kubernetes-validations": [rule]}

    report = _checked(obj(size=INTEGER, even=INTEGER, few=array(INTEGER), other=mapped(obj(a=STRING))), hub)

    assert report.is_valid
    found = sorted(each.message.removeprefix("objects that are valid in v1 can be invalid in v2: ") for each in report.warnings)
    numbers = [re.sub(r"-?\d+", "N", text) for text in found]
    assert numbers == [
        'spec.few: Too many: N: must have at most N item; for example {"spec":{"few":[N,N]}}',
        'spec.size: Invalid value: N: spec.size in body should be less than or equal to N; for example {"spec":{"size":N}}',
        'spec: Invalid value: not even; for example {"spec":{"even":N}}',
    ]


def test_a_free_text_that_becomes_an_enum_is_a_warning() -> None:
    """Warn of it once, also where a rule maps some texts, and not of values that a rule gives."""
    spoke, hub = (
        obj(mode=STRING, size=STRING),
        obj(mode=STRING | {"enum": ["a", "b"]}, size=STRING | {"enum": ["S"]}, tier=STRING | {"enum": ["x"]}),
    )
    rules = [{"enum": {"path": "spec.size", "map": {"small": "S"}}}, {"default": {"path": "spec.tier", "value": "x"}}]

    report = _checked(spoke, hub, *rules)

    assert [each.message for each in report.warnings] == [
        "spec.mode may have any text from v1, and v2 allows only 'a', 'b'",
        "spec.size may have any text from v1, and v2 allows only 'S'",
    ]


def test_fields_are_followed_through_other_rules() -> None:
    """Compare the fields of expressions where other rules move them."""
    rules = [
        {"rename": {"path": "spec.old", "to": "a"}},
        _expression({"spec.b": "self.spec.?old"}, {"spec.a": "self.spec.?c.x"}),
        {"wrap": {"path": "spec.b", "field": "x"}},
        {"rename": {"path": "spec.b", "to": "c"}},
    ]

    report = _checked(obj(old=STRING), obj(a=STRING, c=obj(x=STRING)), *rules)

    assert [str(each) for each in report.findings] == []


def test_types_and_costs_of_expressions_are_problems() -> None:
    """Report errors of both directions, with paths."""
    costly = "self.spec.l.all(a, self.spec.l.all(b, self.spec.l.all(c, a + b + c == a))) ? 1 : 2"
    spoke = obj(a=INTEGER, l={"type": "array", "items": STRING})

    report = _checked(
        spoke, obj(b=INTEGER, l={"type": "array", "items": STRING}), _expression({"spec.b": costly}, {"spec.a": "self.spec.no"})
    )

    places = [each.path.removeprefix("spec.spokes[0].rules[0].expression.") for each in report.problems]
    assert places == ["toHub[0].value", "toSpoke[0].value"]
    assert "cost" in report.problems[0].message
    assert "undefined field" in report.problems[1].message


def test_the_schemas_of_a_crd_are_read() -> None:
    """Return the schema of each version, served or not, with the CRD's preserveUnknownFields."""
    crd = crd_of_specs(v1=obj(a=STRING), v2=obj(b=STRING))
    crd["spec"]["versions"][0]["served"] = False

    found = crd_schemas(crd)

    assert [*found] == ["v1", "v2"]
    assert found["v2"].structural.properties["spec"].properties.keys() == {"b"}
    crd["spec"]["preserveUnknownFields"] = True
    assert crd_schemas(crd)["v1"].preserve_unknown_fields


def test_without_a_crd_the_form_alone_is_checked() -> None:
    """Accept rules whose CRD is not known."""
    rules, report = check_document(conversion({"rename": {"path": "spec.a", "to": "b"}}), None)

    assert rules is not None
    assert report.findings == []

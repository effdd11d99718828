"""Each kind of rule in both directions: what it makes of a spec, and whether it says that the way back gives the same spec."""

import re
from typing import Any

import pytest
import yaml

from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.rules.interface import CompiledRules
from tests.support.builders.conversions import OPEN, compiled, conversion, converted, fields, widget
from tests.support.document_commands import section

MODE = {"enum": {"path": "mode", "map": {"fast": "Fast", "slow": "Slow"}, "back": {"Turbo": "fast"}}}
IMAGE = {"split": {"path": "image", "to": ["repository", "tag"], "separator": ":", "last": True}}
ADDRESS = {"join": {"paths": ["host", "port"], "to": "address", "separator": ":"}}
ENV = {"listToMap": {"path": "env", "key": "name", "value": "value"}}
PORTS = {"mapToList": {"path": "ports", "key": "name"}}
REGION = {"move": {"from": "region", "to": "placement.region"}}
EXAMPLES = re.findall(
    r"^\| `(\w+: \{path: spec\.[^`]*\})` \| `([^`]+)` \| `([^`]+)` \|$",
    section("crds/README.md", "Convert by rules: apiext convert"),
    re.MULTILINE,
)
TIER = {"default": {"path": "tier", "value": "standard"}}


def _below_spec(rule: Any) -> Any:
    """Return a rule whose paths begin with `spec`."""
    names = {"path", "from", "to", "paths"}

    def changed(name: str, value: Any) -> Any:
        if name not in names or (name == "to" and "rename" in rule):
            return value
        return [f"spec.{path}" for path in value] if isinstance(value, list) else f"spec.{value}"

    return {kind: {name: changed(name, value) for name, value in body.items()} for kind, body in rule.items()}


def _rules(rule: Any) -> CompiledRules:
    versions = {
        "v1": fields(spec=OPEN | fields(port="integer")),
        "v2": fields(spec=OPEN | fields(tag={"type": "string"})),
    }
    return compiled(conversion(v1=[_below_spec(rule)]), **versions)


@pytest.mark.parametrize(
    "rule, spoke, hub",
    [
        ({"rename": {"path": "size", "to": "capacity"}}, {"size": 3, "a": 1}, {"capacity": 3, "a": 1}),
        ({"rename": {"path": "items[*].a", "to": "b"}}, {"items": [{"a": 1}, {}, {"a": 2}]}, {"items": [{"b": 1}, {}, {"b": 2}]}),
        ({"rename": {"path": "map[*].a", "to": "b"}}, {"map": {"x": {"a": 1}}}, {"map": {"x": {"b": 1}}}),
        ({"rename": {"path": "rows[*][*].a", "to": "b"}}, {"rows": [[{"a": 1}], []]}, {"rows": [[{"b": 1}], []]}),
        ({"rename": {"path": "size", "to": "capacity"}}, {"a": 1}, {"a": 1}),
        ({"rename": {"path": "a.size", "to": "capacity"}}, {"a": "text"}, {"a": "text"}),
        (REGION, {"region": "eu", "a": 1}, {"placement": {"region": "eu"}, "a": 1}),
        (REGION, {"region": "eu", "placement": {"zone": "b"}}, {"placement": {"zone": "b", "region": "eu"}}),
        (REGION, {"region": {"deep": [1]}}, {"placement": {"region": {"deep": [1]}}}),
        ({"move": {"from": "a", "to": "a.b"}}, {"a": 1}, {"a": {"b": 1}}),
        ({"move": {"from": "items[*].a", "to": "items[*].b.c"}}, {"items": [{"a": 1}]}, {"items": [{"b": {"c": 1}}]}),
        ({"copy": {"from": "name", "to": "displayName"}}, {"name": "n"}, {"name": "n", "displayName": "n"}),
        (MODE, {"mode": "fast"}, {"mode": "Fast"}),
        (MODE, {"mode": "other"}, {"mode": "other"}),
        ({"enum": {"path": "modes[*]", "values": [{"from": 1, "to": "One"}]}}, {"modes": [1, 2]}, {"modes": ["One", 2]}),
        ({"enum": {"path": "on", "values": [{"from": True, "to": "Yes"}]}}, {"on": True}, {"on": "Yes"}),
        ({"enum": {"path": "on", "values": [{"from": True, "to": "Yes"}]}}, {"on": 1}, {"on": 1}),
        ({"wrap": {"path": "host", "field": "name"}}, {"host": "h"}, {"host": {"name": "h"}}),
        ({"wrap": {"path": "host", "list": True}}, {"host": "h"}, {"host": ["h"]}),
        ({"wrap": {"path": "hosts[*]", "field": "name"}}, {"hosts": ["a", "b"]}, {"hosts": [{"name": "a"}, {"name": "b"}]}),
        ({"wrap": {"path": "hosts[*]", "field": "name"}}, {"hosts": {"x": "a"}}, {"hosts": {"x": {"name": "a"}}}),
        ({"unwrap": {"path": "owner", "field": "name"}}, {"owner": {"name": "o"}}, {"owner": "o"}),
        ({"unwrap": {"path": "owner", "list": True}}, {"owner": ["o"]}, {"owner": "o"}),
        (IMAGE, {"image": "a:80/b:1"}, {"repository": "a:80/b", "tag": "1"}),
        (IMAGE, {"image": "b"}, {"repository": "b"}),
        (IMAGE, {"image": ""}, {"repository": ""}),
        (IMAGE, {"image": "b:"}, {"repository": "b", "tag": ""}),
        (ADDRESS, {"host": "h", "port": 80}, {"address": "h:80"}),
        (ADDRESS, {"host": "h"}, {"address": "h"}),
        (ENV, {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}, {"env": {"A": "1", "B": "2"}}),
        (ENV, {"env": []}, {"env": {}}),
        (PORTS, {"ports": {"a": {"port": 1}, "b": {}}}, {"ports": [{"name": "a", "port": 1}, {"name": "b"}]}),
    ],
)
def test_a_rule_and_its_inverse(rule: Any, spoke: Any, hub: Any) -> None:
    """Convert a spec both ways, exactly."""
    rules = _rules(rule)

    assert converted(rules, widget("v1", spoke), "v2") == (widget("v2", hub), True)
    assert converted(rules, widget("v2", hub), "v1") == (widget("v1", spoke), True)


@pytest.mark.parametrize(
    "rule, spoke, hub",
    [
        ({"rename": {"path": "size", "to": "capacity"}}, {"size": 3, "capacity": 4}, {"capacity": 3}),
        ({"rename": {"path": "size", "to": "capacity"}}, {"capacity": 4}, {"capacity": 4}),
        (REGION, {"region": "eu", "placement": {}}, {"placement": {"region": "eu"}}),
        (REGION, {"region": "eu", "placement": None}, {"placement": {"region": "eu"}}),
        (REGION, {"placement": {"region": "eu"}}, {"placement": {"region": "eu"}}),
        ({"copy": {"from": "name", "to": "displayName"}}, {"name": "n", "displayName": "d"}, {"name": "n", "displayName": "n"}),
        ({"enum": {"path": "mode", "map": {"a": "X", "b": "X"}, "back": {"X": "a"}}}, {"mode": "b"}, {"mode": "X"}),
        (MODE, {"mode": "Fast"}, {"mode": "Fast"}),
        (MODE, {"mode": "Turbo"}, {"mode": "Turbo"}),
        ({"unwrap": {"path": "owner", "field": "name"}}, {"owner": {"name": "o", "id": 1}}, {"owner": "o"}),
        ({"unwrap": {"path": "owner", "field": "name"}}, {"owner": {"id": 1}}, {}),
        ({"unwrap": {"path": "owner", "list": True}}, {"owner": ["o", "p"]}, {"owner": "o"}),
        ({"unwrap": {"path": "owner", "list": True}}, {"owner": []}, {}),
        ({"unwrap": {"path": "owners[*]", "field": "name"}}, {"owners": [{"name": "o"}, {}]}, {"owners": ["o"]}),
        (ADDRESS, {"port": 80}, {"address": "80"}),
        (ADDRESS, {"host": "h:1", "port": 80}, {"address": "h:1:80"}),
        (ADDRESS, {"host": {}, "port": 80}, {"host": {}, "port": 80}),
        (ENV, {"env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]}, {"env": {"A": "1", "B": "2"}}),
        (ENV, {"env": [{"name": "A", "value": "2"}, {"name": "A", "value": "1"}]}, {"env": {"A": "1"}}),
        (ENV, {"env": [{"name": "A", "value": "2", "extra": 1}]}, {"env": {"A": "2"}}),
        (ENV, {"env": [{"name": "A"}, {"value": "1"}, "text"]}, {"env": {}}),
        (PORTS, {"ports": {"a": {"port": 1, "name": "x"}, "b": "text"}}, {"ports": [{"name": "a", "port": 1}]}),
    ],
)
def test_what_may_get_lost_is_not_exact(rule: Any, spoke: Any, hub: Any) -> None:
    """Convert a spec that the way back may not give again, and say so."""
    assert converted(_rules(rule), widget("v1", spoke), "v2") == (widget("v2", hub), False)


@pytest.mark.parametrize(
    "rule, hub, spoke",
    [
        (ADDRESS, {"address": "h:08"}, {"host": "h"}),
        (ADDRESS, {"address": "h:http"}, {"host": "h"}),
        (ADDRESS, {"address": "h:80", "port": 1}, {"host": "h", "port": 80}),
        ({"copy": {"from": "name", "to": "displayName"}}, {"name": "n", "displayName": "d"}, {"name": "n"}),
        ({"copy": {"from": "name", "to": "displayName"}}, {"displayName": "d"}, {}),
        ({"copy": {"from": "name", "to": "displayName"}}, {"name": "n"}, {"name": "n"}),
        ({"copy": {"from": "name", "to": "displayName"}}, {"name": 1, "displayName": True}, {"name": 1}),
    ],
)
def test_the_way_back_may_not_be_exact(rule: Any, hub: Any, spoke: Any) -> None:
    """Convert a spec of the hub that the way to the hub may not give again, and say so."""
    assert converted(_rules(rule), widget("v2", hub), "v1") == (widget("v1", spoke), False)


def test_a_default_of_a_field_that_one_version_has() -> None:
    """Set the default of the hub where the spoke has no such field, and remove it on the way back."""
    rules = compiled(conversion(v1=[_below_spec(TIER)]), v1=fields(spec=fields()), v2=fields(spec=fields(tier="string")))

    assert converted(rules, widget("v1", {}), "v2") == (widget("v2", {"tier": "standard"}), True)
    assert converted(rules, widget("v1", {"tier": "gold"}), "v2") == (widget("v2", {"tier": "gold"}), False)
    assert converted(rules, widget("v2", {"tier": "standard"}), "v1") == (widget("v1", {}), True)
    assert converted(rules, widget("v2", {"tier": "gold"}), "v1") == (widget("v1", {}), False)
    assert converted(rules, widget("v2", {}), "v1") == (widget("v1", {}), False)


def test_a_default_of_a_field_that_both_versions_have() -> None:
    """Set the default of the hub where the field is missing; the way back leaves it."""
    rules = _rules(TIER)

    assert converted(rules, widget("v1", {}), "v2") == (widget("v2", {"tier": "standard"}), False)
    assert converted(rules, widget("v1", {"tier": "gold"}), "v2") == (widget("v2", {"tier": "gold"}), True)
    assert converted(rules, widget("v2", {"tier": "standard"}), "v1") == (widget("v1", {"tier": "standard"}), True)
    assert converted(rules, widget("v2", {}), "v1") == (widget("v1", {}), False)


def test_a_default_of_the_spoke() -> None:
    """Set the default on the way to the spoke."""
    rules = compiled(
        conversion(v1=[{"default": {"path": "spec.tier", "value": {"a": [1]}, "in": "spoke"}}]),
        v1=fields(spec=fields(tier=OPEN)),
        v2=fields(spec=fields()),
    )

    first, is_exact = converted(rules, widget("v2", {}), "v1")
    first["spec"]["tier"]["a"].append(2)

    assert is_exact
    assert converted(rules, widget("v2", {}), "v1") == (widget("v1", {"tier": {"a": [1]}}), True)


def test_a_dropped_field_is_a_declared_loss() -> None:
    """Remove the field, and count the conversion as exact."""
    rules = compiled(
        conversion(
            v1=[
                {"rename": {"path": "spec.a", "to": "b"}},
                {"drop": {"path": "spec.b.c", "reason": "gone"}},
                {"drop": {"path": "spec.n", "reason": "new", "in": "hub"}},
            ]
        )
    )

    assert converted(rules, widget("v1", {"a": {"c": 1, "d": 2}}), "v2") == (widget("v2", {"b": {"d": 2}}), True)
    assert converted(rules, widget("v2", {"n": 1}), "v1") == (widget("v1", {}), True)


def test_labels_and_annotations() -> None:
    """Move a field to a label and back; other metadata stays."""
    rules = compiled(conversion(v1=[{"move": {"from": "spec.team", "to": "metadata.labels['example.com/team']"}}]))

    assert converted(rules, widget("v1", {"team": "a", "b": 1}), "v2") == (widget("v2", {"b": 1}, labels={"example.com/team": "a"}), True)
    assert converted(rules, widget("v2", {"b": 1}, labels={"example.com/team": "a"}), "v1") == (widget("v1", {"team": "a", "b": 1}), True)


@pytest.mark.parametrize(
    "group, value, error",
    [
        ("labels", 1, "metadata.labels.team must be a text, but is of type int64"),
        ("annotations", {}, "metadata.annotations.team must be a text, but is of type map[string]interface {}"),
        ("labels", "a b", "metadata.labels.team cannot be 'a b': "),
        ("annotations", "a b", ""),
    ],
)
def test_labels_and_annotations_must_be_valid(group: str, value: Any, error: str) -> None:
    """Refuse an object whose field cannot be the value of a label or an annotation."""
    rules = compiled(conversion(v1=[{"move": {"from": "spec.team", "to": f"metadata.{group}.team"}}]))

    if not error:
        assert converted(rules, widget("v1", {"team": value}), "v2") == (widget("v2", {}, **{group: {"team": value}}), True)
        return
    with pytest.raises(ConversionError, match=re.escape(error)):
        converted(rules, widget("v1", {"team": value}), "v2")


def test_a_field_cannot_stand_below_a_text() -> None:
    """Refuse an object in which a parent of the target is no object."""
    with pytest.raises(ConversionError, match=r"placement\.region cannot be set: placement is not an object"):
        converted(_rules(REGION), widget("v1", {"region": "eu", "placement": "text"}), "v2")


def test_parts_follow_the_types_of_the_schema() -> None:
    """Make parts and texts of the types that the versions have where the fields end up."""
    rules = compiled(
        conversion(
            v1=[
                {"rename": {"path": "spec.p", "to": "port"}},
                {"join": {"paths": ["spec.host", "spec.port", "spec.tls"], "to": "spec.joined", "separator": ","}},
                {"rename": {"path": "spec.joined", "to": "address"}},
                {"split": {"path": "spec.range", "to": ["spec.first", "spec.last"], "separator": "-"}},
                {"move": {"from": "spec.last", "to": "spec.bounds.last"}},
            ]
        ),
        v1=fields(spec=fields(host="string", p="integer", tls="boolean", range="string")),
        v2=fields(spec=fields(address="string", first={"x-kubernetes-int-or-string": True}, bounds=fields(last="integer"))),
    )
    spoke = {"host": "h", "p": 80, "tls": False, "range": "1-20"}
    hub = {"address": "h,80,false", "first": 1, "bounds": {"last": 20}}

    assert converted(rules, widget("v1", spoke), "v2") == (widget("v2", hub), True)
    assert converted(rules, widget("v2", hub), "v1") == (widget("v1", spoke), True)
    assert converted(rules, widget("v1", {"range": "a-20"}), "v2") == (widget("v2", {"first": "a", "bounds": {"last": 20}}), True)
    assert converted(rules, widget("v2", {"first": "1"}), "v1") == (widget("v1", {"range": "1"}), False)


@pytest.mark.parametrize("rule, spoke, hub", EXAMPLES)
def test_examples_of_the_document(rule: str, spoke: str, hub: str) -> None:
    """Convert the examples of the document in both directions."""
    rules = compiled(conversion(v1=[yaml.safe_load(rule)]), v1=fields(spec=OPEN), v2=fields(spec=OPEN))

    assert converted(rules, widget("v1", yaml.safe_load(spoke)), "v2") == (widget("v2", yaml.safe_load(hub)), True)
    assert converted(rules, widget("v2", yaml.safe_load(hub)), "v1") == (widget("v1", yaml.safe_load(spoke)), True)


def test_unwrap_and_map_to_list_have_examples() -> None:
    """Show the rules whose names do not say it."""
    assert {rule.partition(":")[0] for rule, _, _ in EXAMPLES} >= {"unwrap", "mapToList"}

"""Tests of CEL rules: definitions that have them, and objects that break them."""

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.cases.rule_definitions import INTEGER, KEYED, NAMED, SCHEMAS, STRING, mapping, ruled, several, struct
from tests.differential.cases.rule_values import KEYS, MIXED, TYPED, TYPED_RULES
from tests.differential.helpers.differences import compared
from tests.support.builders.crds import crd, version

pytestmark = pytest.mark.slow

DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP: Final = "rules.example.com"
PATH: Final = f"/apis/{GROUP}/v1/ruleds"


def definition(schema: dict[str, Any], *, status: bool = False) -> dict[str, Any]:
    """Return the definition of Ruleds."""
    more: dict[str, Any] = {"subresources": {"status": {}}} if status else {}
    return crd("ruleds", version("v1", storage=True, schema=schema, **more), kind="Ruled", group=GROUP, scope="Cluster")


def ruled_object(name: str = "a", **members: Any) -> dict[str, Any]:
    """Return a Ruled."""
    return {"apiVersion": f"{GROUP}/v1", "kind": "Ruled", "metadata": {"name": name}, **members}


@pytest.mark.parametrize("name", SCHEMAS)
def test_definitions(pair: Pair, name: str) -> None:
    """Accept and refuse rules as kube-apiserver does."""
    step = Step("POST", f"{DEFINITIONS}?dryRun=All", definition(SCHEMAS[name]))

    assert pair.differences(step) == []


MESSAGES: Final = struct(
    plain=ruled(INTEGER, "self < 10"),
    said=ruled(INTEGER, {"rule": "self < 10", "message": "  too much  "}),
    told=ruled(INTEGER, {"rule": "self < 10", "messageExpression": "string(self)"}),
    both=ruled(INTEGER, {"rule": "self < 10", "message": "fallback", "messageExpression": "self > 100 ? 'huge' : ''"}),
    lines=ruled(INTEGER, {"rule": "self < 10", "messageExpression": "self > 100 ? 'a\\nb' : ' \\n c \\n'"}),
    failing=ruled(INTEGER, {"rule": "self < 10", "messageExpression": "string(1 / (self - 20))"}),
    long=ruled(STRING | {"maxLength": 6000}, {"rule": "self.size() < 10", "message": "long", "messageExpression": "self + 'ä'"}),
    several=ruled(INTEGER, "self < 10", {"rule": "self < 5", "message": "below five"}, "self != 13"),
    old=ruled(
        struct(a=INTEGER),
        {"rule": "self.a < 10", "message": "no old", "messageExpression": "has(oldSelf.a) ? string(oldSelf.a) : 'new'"},
    ),
    older=ruled(
        struct(a=INTEGER),
        "self.a >= oldSelf.a",
        {"rule": "self.a < 10", "message": "no old", "messageExpression": "string(oldSelf.a)"},
    ),
    spaces=ruled(INTEGER, {"rule": "  self < 10  "}),
    required=ruled(struct(a=INTEGER, b=INTEGER), {"rule": "has(self.a)", "reason": "FieldValueRequired", "fieldPath": ".a"}),
    forbidden=ruled(struct(a=INTEGER), {"rule": "!has(self.a)", "reason": "FieldValueForbidden", "fieldPath": "['a']", "message": "no a"}),
    repeated=ruled(several(INTEGER, maxItems=5), {"rule": "self.all(x, self.exists_one(y, x == y))", "reason": "FieldValueDuplicate"}),
    scalar=ruled(STRING, {"rule": "self != 'x'", "reason": "FieldValueDuplicate", "message": "not x"}),
    invalid=ruled(struct(a=struct(b=INTEGER)), {"rule": "self.a.b > 1", "reason": "FieldValueInvalid", "fieldPath": ".a.b"}),
    key=ruled(mapping(INTEGER, maxProperties=4), {"rule": "!('a b' in self)", "fieldPath": "['a b']"}),
    flag=ruled({"type": "boolean"}, "self"),
    ratio=ruled({"type": "number"}, "self < 1.5"),
    text=ruled(STRING, 'self == "a\\"b"'),
    either=ruled({"x-kubernetes-int-or-string": True}, "type(self) == int ? self < 5 : self == 'x'", "self > 1"),
    nullable=ruled(struct(a=INTEGER) | {"nullable": True}, "has(self.a)"),
    division=ruled(INTEGER, "10 / self > 1", "10 % self > 1"),
    index=ruled(several(INTEGER, maxItems=5), "self[1] > 0"),
    lookup=ruled(mapping(INTEGER, maxProperties=5), "self['a'] > 0"),
    absent=ruled(struct(a=INTEGER), "self.a > 0"),
    size=ruled(struct(a=STRING), "self.a.size() > 1 || self.a == 'x'"),
    when=ruled(STRING | {"format": "date-time"}, "self > timestamp('2020-01-01T00:00:00Z')"),
    day=ruled(STRING | {"format": "date"}, "self.getFullYear() == 2021"),
    span=ruled(STRING | {"format": "duration"}, "self < duration('1h')"),
    blob=ruled(STRING | {"format": "byte"}, "self == b'abc'"),
    **{"da-sh": ruled(struct(**{"in": INTEGER, "a.b": INTEGER}), "self.__in__ > self.a__dot__b")},
)
NESTED: Final = struct(
    list=several(ruled(NAMED, "self.count > 0"), maxItems=5),
    set=several(ruled(STRING, "self != 'x'"), maxItems=5) | {"x-kubernetes-list-type": "set"},
    keyed=several(ruled(NAMED, "self.count >= oldSelf.count", "self.count < 9"), maxItems=5, **KEYED),
    map=mapping(ruled(NAMED, "self.count >= oldSelf.count", "self.count < 9"), maxProperties=5),
    atomic=struct(a=ruled(INTEGER, "self == oldSelf", "self < 9")) | {"x-kubernetes-map-type": "atomic"},
    fixed=ruled(STRING, {"rule": "self == oldSelf", "message": "immutable"}),
    once=ruled(STRING, {"rule": "!oldSelf.hasValue() || self == oldSelf.value()", "optionalOldSelf": True, "message": "set once"}),
    created=ruled(STRING, {"rule": "oldSelf.hasValue() || self == 'first'", "optionalOldSelf": True, "messageExpression": "'not ' + self"}),
    told=ruled(STRING, {"rule": "oldSelf.orValue('') == self", "optionalOldSelf": True, "messageExpression": "oldSelf.orValue('none')"}),
    plain=ruled(
        STRING,
        {
            "rule": "!oldSelf.hasValue() || self == 'same'",
            "optionalOldSelf": True,
            "messageExpression": "type(dyn(oldSelf)) == string ? 'text' : 'other'",
        },
    ),
    field=ruled(
        struct(a=STRING),
        {
            "rule": "!oldSelf.hasValue()",
            "optionalOldSelf": True,
            "message": "m",
            "messageExpression": "type(dyn(oldSelf.a)) == string ? 'text' : 'other'",
        },
    ),
    question=ruled(
        struct(a=STRING),
        {"rule": "!oldSelf.hasValue()", "optionalOldSelf": True, "message": "m", "messageExpression": "oldSelf.?a.orValue('none')"},
    ),
    alone=ruled(STRING, {"rule": "!oldSelf.hasValue()", "optionalOldSelf": True, "message": "m", "messageExpression": "oldSelf.value()"}),
    deep=struct(deeper=mapping(several(mapping(ruled(INTEGER, "self < 3"), maxProperties=4), maxItems=4), maxProperties=4)),
)
EMBEDDED: Final = ruled(
    struct(spec=struct(a=INTEGER)) | {"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
    "self.metadata.name.startsWith('a')",
    "self.kind == 'Pod' && self.apiVersion == 'v1'",
    "!has(self.metadata.generateName)",
)
SCHEMA: Final = ruled(
    struct(
        spec=ruled(struct(messages=MESSAGES, nested=NESTED, pod=EMBEDDED, limit=INTEGER), "!has(self.limit) || self.limit < 10"),
        status=ruled(struct(count=INTEGER, seen=ruled(INTEGER, "self >= oldSelf")), "self.count > 0"),
    ),
    "self.metadata.name != 'forbidden'",
    "!has(self.status) || !has(self.spec) || !has(self.spec.limit) || self.status.count <= self.spec.limit",
    {"rule": "self.kind == 'Ruled' && !has(self.metadata.generateName)", "fieldPath": ".spec.limit"},
)
GOOD: Final[dict[str, Any]] = {
    "list": [{"name": "a", "count": 1}],
    "set": ["a"],
    "keyed": [{"name": "a", "count": 1}, {"name": "b", "count": 2}],
    "map": {"a": {"name": "a", "count": 1}, "b c": {"name": "b", "count": 2}},
    "atomic": {"a": 1},
    "fixed": "a",
    "once": "a",
    "created": "first",
    "deep": {"deeper": {"a": [{"b": 1}]}},
    "plain": "old",
    "field": {"a": "old"},
    "question": {"a": "old"},
    "alone": "old",
}
BAD_MESSAGES: Final[list[dict[str, Any]]] = [
    dict.fromkeys(("plain", "said", "told", "both", "lines", "failing", "several", "spaces"), 13),
    dict.fromkeys(("both", "lines", "failing"), 113),
    {"failing": 20, "long": "y" * 11, "division": 0, "ratio": 1.5, "flag": False, "text": 'x"\\\n', "scalar": "x", "nullable": None},
    {"long": "x" * 5000},
    {"long": "x" * 5118},
    {"long": "x" * 5119},
    {"old": {"a": 10}, "older": {"a": 10}, "required": {"b": 1}, "forbidden": {"a": 1}, "repeated": [1, 2, 1], "invalid": {"a": {"b": 1}}},
    {
        "key": {"a b": 1},
        "index": [1],
        "lookup": {"b": 1},
        "absent": {},
        "invalid": {},
        "size": {},
        "nullable": {},
        "da-sh": {"in": 1, "a.b": 1},
    },
    {"either": 7},
    {"either": "x"},
    {"either": "y"},
    {"either": 1},
    {"when": "2019-01-01T00:00:00Z", "day": "2020-12-31", "span": "2h", "blob": "YWJk", "ratio": 2},
    {"plain": 13, "said": "x"},
    {"plain": 13, "text": "x" * 65},
    {"plain": 13, "repeated": [1] * 6},
    {"plain": 13, "list": 3},
]
BAD_NESTED: Final[list[dict[str, Any]]] = [
    {"list": [{"name": "a", "count": 0}, {"name": "b"}], "set": ["x", "y"], "keyed": [{"name": "a", "count": 9}]},
    {"map": {"a b": {"name": "x", "count": 9}, "c.d": {"name": "x"}}, "atomic": {"a": 9}, "fixed": "new", "once": "new"},
    {"created": "second"},
    {"told": "x"},
    {"told": ""},
    {"plain": "x"},
    {"field": {"a": "x"}, "question": {"a": "x"}, "alone": "x"},
    {"deep": {"deeper": {"a": [{"b": 3, "c": 2}, {"b.c": 4}], "x y": [{"": 3}]}}},
]


@pytest.fixture(scope="module", autouse=True)
def served(pair: Pair) -> Iterator[None]:
    """Serve Ruleds with a status subresource, and Bare ones without."""
    with pair.served(definition(SCHEMA, status=True)):
        yield


@pytest.mark.parametrize("messages", BAD_MESSAGES, ids=str)
def test_messages(pair: Pair, messages: dict[str, Any]) -> None:
    """Report broken rules of a new object in kube-apiserver's words."""
    compared(pair, [Step("POST", f"{PATH}?dryRun=All", ruled_object(spec={"messages": messages}))])


@pytest.mark.parametrize("nested", BAD_NESTED, ids=str)
def test_paths(pair: Pair, nested: dict[str, Any]) -> None:
    """Report broken rules in lists and maps at kube-apiserver's paths, for new and for changed objects."""
    good = ruled_object(spec={"nested": GOOD})
    compared(
        pair,
        [
            Step("POST", f"{PATH}?dryRun=All", ruled_object(spec={"nested": nested})),
            Step("POST", PATH, good),
            Step("PATCH", f"{PATH}/a", {"spec": {"nested": nested}}),
            Step("PUT", f"{PATH}/a", good | {"spec": {"nested": GOOD | nested}}),
            Step(
                "PUT",
                f"{PATH}/a",
                ruled_object(metadata={"name": "a", "resourceVersion": f"{{rv:{PATH}/a}}"}, spec={"nested": GOOD | nested}),
            ),
            Step("DELETE", f"{PATH}/a"),
        ],
    )


@pytest.mark.parametrize(
    "body",
    [
        ruled_object("forbidden"),
        ruled_object("forbidden", spec={"limit": 11}),
        ruled_object(spec={}) | {"metadata": {"name": "a", "generateName": "x-"}},
        ruled_object(spec={"pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"a": "b"}}}}),
        ruled_object(spec={"pod": {"apiVersion": "v2", "kind": "Pod", "metadata": {"name": "b", "generateName": "c"}}}),
        ruled_object(spec={"pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {}}}),
        ruled_object(spec={"pod": {"apiVersion": "v1", "kind": "Pod"}}),
        ruled_object(spec={"limit": "x"}),
        ruled_object(kind="Other", spec={"limit": 11}),
        ruled_object(kind="Other", spec={"messages": {"plain": "x", "required": 1, "repeated": {}, "flag": 1, "ratio": "x", "either": []}}),
        ruled_object(spec={"limit": 11}, status={"count": 0}),
    ],
    ids=str,
)
def test_resources(pair: Pair, body: dict[str, Any]) -> None:
    """Give rules at the root of an object or an embedded one its kind and names."""
    compared(pair, [Step("POST", f"{PATH}?dryRun=All", body)])


def test_status(pair: Pair) -> None:
    """Evaluate all rules when the status changes; tolerate those that the unchanged rest breaks."""
    compared(
        pair,
        [
            Step("POST", PATH, ruled_object(spec={"limit": 5})),
            Step("PATCH", f"{PATH}/a/status", {"status": {"count": 6}}),
            Step("PATCH", f"{PATH}/a/status", {"status": {"count": 0}}),
            Step("PATCH", f"{PATH}/a/status", {"status": {"count": 1, "seen": 5}}),
            Step("PATCH", f"{PATH}/a/status", {"status": {"seen": 4}}),
            Step("PATCH", f"{PATH}/a/status", {"status": {"count": "x"}}),
            Step("PATCH", f"{PATH}/a", {"spec": {"limit": 0}}),
            Step("DELETE", f"{PATH}/a"),
        ],
    )


RATCHETED: Final = struct(
    a=INTEGER, b=INTEGER, keyed=several(NAMED, maxItems=5, **KEYED), list=several(NAMED, maxItems=5), map=mapping(INTEGER, maxProperties=5)
)
STRICT: Final = ruled(
    struct(
        a=ruled(INTEGER, "self > 5"),
        b=ruled(INTEGER, "self > 5", "self >= oldSelf", {"rule": "oldSelf.hasValue() && self > 6", "optionalOldSelf": True}),
        keyed=several(ruled(NAMED, {"rule": "self.count > 5", "messageExpression": "self.name + ' is low'"}), maxItems=5, **KEYED),
        list=several(ruled(NAMED, "self.count > 5"), maxItems=5),
        map=ruled(mapping(ruled(INTEGER, "self > 5"), maxProperties=5), "self.size() > 3"),
    ),
    "self.a + self.b > 20",
    {"rule": "self.a > self.b", "fieldPath": ".a", "reason": "FieldValueForbidden"},
)
LOW: Final[dict[str, Any]] = {
    "a": 1,
    "b": 2,
    "keyed": [{"name": "x", "count": 1}, {"name": "y", "count": 2}],
    "list": [{"name": "x", "count": 1}],
    "map": {"x": 1, "y z": 2},
}


def test_ratcheting(pair: Pair) -> None:
    """Turn failures about unchanged values into warnings, except those of rules about changes."""
    loose, strict = (
        crd("lows", version("v1", storage=True, schema=ruled(struct(spec=spec), *rules)), kind="Low", group=GROUP, scope="Cluster")
        for spec, rules in ((RATCHETED, ()), (STRICT, ("self.spec.a > 5", "self.kind != 'Low'")))
    )
    path, one = f"/apis/{GROUP}/v1/lows", f"/apis/{GROUP}/v1/lows/low"
    body: dict[str, Any] = {"apiVersion": f"{GROUP}/v1", "kind": "Low", "metadata": {"name": "low"}, "spec": LOW}
    changes: list[dict[str, Any]] = [
        {"metadata": {"labels": {"a": "b"}}},
        {"spec": {"a": 2}},
        {"spec": {"b": 3}},
        {"spec": {"b": 1}},
        {"spec": {"keyed": [{"name": "y", "count": 2}, {"name": "x", "count": 1}]}},
        {"spec": {"keyed": [{"name": "x", "count": 3}, {"name": "y", "count": 2}, {"name": "z", "count": 1}]}},
        {"spec": {"list": [{"name": "x", "count": 1}, {"name": "y", "count": 7}]}},
        {"spec": {"map": {"x": 3}}},
        {"spec": {"map": {"new": 3}}},
        {"spec": {"a": 7, "b": 8}},
        {"spec": {"a": "x"}},
        {"spec": None},
    ]
    with pair.served(loose):
        compared(
            pair,
            [
                Step("POST", path, body),
                Step("PATCH", f"{DEFINITIONS}/lows.{GROUP}", {"spec": {"versions": strict["spec"]["versions"]}}),
                Step("POST", f"{path}?dryRun=All", body | {"metadata": {"name": "other"}}, retry=True, until="failed rule: self > 5"),
                *(Step("PATCH", f"{one}?dryRun=All", change) for change in changes),
                Step("PATCH", one, changes[0]),
            ],
        )


def test_whole_floats(pair: Pair) -> None:
    """Fail as kube-apiserver does where a rule reads a float in the place of an integer."""
    inner = ruled(INTEGER, {"rule": "self > 0", "messageExpression": "self > 1 ? 'a' : 'b'"})
    one = crd("typeds", version("v1", storage=True, schema=ruled(TYPED, *TYPED_RULES)), kind="Typed", group=GROUP, scope="Cluster")
    told = ruled(struct(a=INTEGER, b=inner), {"rule": "false", "message": "plain", "messageExpression": "self.a > 3 ? 'a' : 'b'"})
    two = crd("tolds", version("v1", storage=True, schema=struct(spec=told)), kind="Told", group=GROUP, scope="Cluster")

    def create(kind: str, **members: Any) -> Step:
        head = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": "a"}}
        return Step("POST", f"/apis/{GROUP}/v1/{kind.lower()}s?dryRun=All", head | members)

    with pair.served(one), pair.served(two):
        compared(
            pair,
            [
                create("Typed", a=5.0),
                create("Typed", a=5, n=5),
                create("Typed", l=[5.0]),
                create("Typed", l=[5.0, 6]),
                create("Typed", l=[6, 5.0]),
                create("Typed", s=[5.0], m={"x": 5.0}),
                create("Typed", k=[{"name": "a", "count": 5.0}]),
                create("Typed", o={"a": 5.0}, e=5.0),
                create("Told", spec={"a": 5.0, "b": 5.0}),
            ],
        )


@pytest.mark.parametrize("rules", [MIXED, KEYS], ids=["opaque", "keys"])
def test_values_of_different_types(pair: Pair, rules: tuple[str, ...]) -> None:
    """Compare and look up values of types that only the evaluation shows, as kube-apiserver does."""
    members = struct(m=mapping(STRING, maxProperties=3), o=struct(a=STRING), l=several(STRING, maxItems=3))
    one = crd("mixeds", version("v1", storage=True, schema=struct(spec=ruled(members, *rules))), kind="Mixed", group=GROUP, scope="Cluster")
    spec = {"m": {"x": "a"}, "o": {"a": "a"}, "l": ["a"]}
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Mixed", "metadata": {"name": "a"}, "spec": spec}
    with pair.served(one):
        compared(pair, [Step("POST", f"/apis/{GROUP}/v1/mixeds?dryRun=All", body)])


def test_syntax_errors(pair: Pair) -> None:
    """Refuse a rule with a syntax error as kube-apiserver does, with an error of the same field and place, but in other words."""
    step = Step("POST", f"{DEFINITIONS}?dryRun=All", definition(ruled(struct(a=INTEGER), "self.a >")))
    theirs, ours = (side.ask(step) for side in (pair.reference, pair.ours))
    places = [[_words_removed(cause) for cause in answer.body["details"]["causes"]] for answer in (theirs, ours)]

    assert ours.code == theirs.code
    assert places[0] == places[1]
    assert ours.body["reason"] == theirs.body["reason"]


def _words_removed(cause: dict[str, str]) -> dict[str, str]:
    return cause | {"message": re.sub(r"(?<=Syntax error: ).*?(?=\n \| )", "", cause["message"])}

"""Tests of ratcheting: what an update may leave invalid after a definition has become stricter."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.cases.rule_definitions import INTEGER, KEYED, STRING, mapping, ruled, several, struct
from tests.differential.helpers.differences import compared
from tests.support.builders.crds import crd, version

pytestmark = pytest.mark.slow

DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP: Final = "ratcheting.example.com"
PATH: Final = f"/apis/{GROUP}/v1/ratchets"
ONE: Final = f"{PATH}/one"
APPLY: Final = {"Content-Type": "application/apply-patch+yaml"}
JSON_PATCH: Final = {"Content-Type": "application/json-patch+json"}

Schema = dict[str, Any]
ANY: Final[Schema] = {"x-kubernetes-preserve-unknown-fields": True}
ITEM: Final = struct(name=STRING, size=INTEGER) | {"required": ["name"]}
LIMITED: Final = struct(name=STRING, size=INTEGER | {"maximum": 5}) | {"required": ["name", "kind"]}
SET: Final = {"x-kubernetes-list-type": "set"}
RESOURCE: Final[Schema] = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}

LOOSE: Final[dict[str, Schema]] = {
    "number": INTEGER,
    "text": STRING,
    "kept": STRING,
    "retyped": ANY,
    "struct": struct(a=INTEGER, b=STRING),
    "keyed": several(ITEM, maxItems=9, **KEYED),
    "atomic": several(ITEM, maxItems=9),
    "map": mapping(INTEGER, maxProperties=9),
    "nested": mapping(struct(list=several(STRING, maxItems=9))),
    "set": several(STRING, maxItems=9),
    "late": several(ITEM, maxItems=9),
    "pairs": several(struct(name=STRING, size=INTEGER), maxItems=9),
    "resource": ANY | {"type": "object"},
    "branch": struct(a=INTEGER, b=INTEGER),
    "either": {"x-kubernetes-int-or-string": True},
    "null": INTEGER | {"nullable": True},
}
STRICT: Final[dict[str, Schema]] = LOOSE | {
    "number": INTEGER | {"minimum": 10, "multipleOf": 5},
    "text": STRING | {"enum": ["a", "b"], "pattern": "^a", "minLength": 2},
    "retyped": STRING,
    "struct": struct(a=INTEGER | {"maximum": 1}, b=STRING | {"format": "date-time"}) | {"required": ["c"], "minProperties": 3},
    "keyed": several(LIMITED, maxItems=1, **KEYED),
    "atomic": several(LIMITED, maxItems=1),
    "map": mapping(INTEGER | {"maximum": 5}, maxProperties=1),
    "nested": mapping(struct(list=several(STRING | {"maxLength": 1}, minItems=3))),
    "set": several(STRING, maxItems=9, **SET),
    "late": several(ITEM, maxItems=9, **KEYED),
    "pairs": several(
        struct(name=STRING, size=INTEGER) | {"required": ["name", "size"]},
        **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "size"]},
    ),
    "resource": RESOURCE,
    "branch": struct(a=INTEGER, b=INTEGER)
    | {
        "allOf": [{"properties": {"a": {"maximum": 1}}}, {"required": ["b"]}],
        "anyOf": [{"properties": {"a": {"minimum": 9}}}, {"properties": {"b": {"minimum": 9}}}],
        "not": {"required": ["a"]},
    },
    "either": {"x-kubernetes-int-or-string": True, "enum": [1, "x"]},
    "null": INTEGER,
}
BAD: Final[dict[str, Any]] = {
    "number": 3,
    "text": "c",
    "kept": "same",
    "retyped": 7,
    "struct": {"a": 7, "b": "no date"},
    "keyed": [{"name": "x", "size": 9}, {"name": "y", "size": 8}],
    "atomic": [{"name": "x", "size": 9}, {"name": "y", "size": 8}],
    "map": {"x": 9, "y": 8},
    "nested": {"n": {"list": ["long", "longer"]}},
    "set": ["x", "y", "x"],
    "late": [{"name": "x", "size": 1}, {"name": "x", "size": 2}],
    "pairs": [{"name": "x"}, {"name": "x", "size": 2}],
    "resource": {"kind": "Not Valid", "metadata": {"name": "Not Valid", "labels": {"x": "a b"}}},
    "branch": {"a": 7},
    "either": 5,
    "null": None,
}
CHANGES: Final[dict[str, list[Any]]] = {
    "number": [4, 12, 15, "x", None],
    "text": ["d", "ab", "a", 1, None],
    "kept": ["other", None],
    "retyped": [8, "text", {"a": 1}, None],
    "struct": [{"a": 8}, {"a": 1}, {"b": "x"}, {"c": 1}, {"a": None}, None],
    "keyed": [
        [{"name": "x", "size": 9}],
        [{"name": "y", "size": 8}, {"name": "x", "size": 9}],
        [{"name": "x", "size": 7}, {"name": "y", "size": 8}],
        [{"name": "x", "size": 9}, {"name": "y", "size": 8}, {"name": "z", "size": 7}],
        [{"name": "x", "size": 9}, {"name": "x", "size": 9}],
        [],
    ],
    "atomic": [
        [{"name": "x", "size": 9}],
        [{"name": "y", "size": 8}, {"name": "x", "size": 9}],
        [{"name": "x", "size": 9}, {"name": "y", "size": 7}],
        [],
    ],
    "map": [{"x": 8}, {"z": 9}, {"z": 1}, {"x": None}, {"x": None, "y": 1}],
    "nested": [{"n": {"list": ["long", "longer", "x"]}}, {"n": {"list": ["long"]}}, {"m": {"list": ["long"]}}, {"n": {"list": None}}],
    "set": [["x", "x"], ["x", "y"], ["x", "y", "x", "y"], ["z", "z", "z"]],
    "late": [[{"name": "x", "size": 1}], [{"name": "x", "size": 3}, {"name": "x", "size": 2}], [{"name": "y"}, {"name": "y"}]],
    "pairs": [[{"name": "x"}], [{"name": "x", "size": 2}, {"name": "x", "size": 2}], [{"name": "x"}, {"name": "x", "size": 3}]],
    "resource": [{"apiVersion": "v1"}, {"kind": "Good"}, {"metadata": {"labels": {"x": "ab"}}}, {"metadata": {"name": "Still Bad"}}, None],
    "branch": [{"a": 8}, {"b": 1}, {"a": 1, "b": 9}, {"a": None}, {"c": 1}],
    "either": [6, "y", "x", 1],
    "null": [1],
}


def definition(fields: dict[str, Schema], *rules: str, group: str = GROUP) -> dict[str, Any]:
    """Return a definition with the same fields in spec and status."""
    schema = struct(spec=ruled(struct(**fields), *rules), status=ruled(struct(**fields), *rules))
    only = version("v1", storage=True, schema=schema, subresources={"status": {}})
    return crd("ratchets", only, kind="Ratchet", group=group, scope="Cluster")


@pytest.fixture(scope="module")
def strict(pair: Pair) -> Iterator[Pair]:
    """Yield the servers with an object that a later definition refuses in every field."""
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Ratchet", "metadata": {"name": "one"}, "spec": BAD}
    # lists with duplicates have no fields that can be owned
    without = {key: text for key, text in BAD.items() if key not in ("set", "late", "pairs")}
    other = body | {"metadata": {"name": "other"}, "spec": without}
    versions = definition(STRICT)["spec"]["versions"]
    with pair.served(definition(LOOSE)):
        compared(
            pair,
            [
                *(Step("POST", PATH, one) for one in (body, other)),
                Step("PATCH", f"{ONE}/status", {"status": BAD}),
                Step("PATCH", f"{PATH}/other/status", {"status": without}),
                Step("PATCH", f"{DEFINITIONS}/ratchets.{GROUP}", {"spec": {"versions": versions}}),
                Step("POST", f"{PATH}?dryRun=All", body | {"metadata": {"name": "new"}}, retry=True, until="spec.number"),
            ],
        )
        yield pair


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("part", ["spec", "status"])
def test_merge_patches(strict: Pair, name: str, part: str) -> None:
    """Tolerate what a merge patch of the resource or of its status leaves unchanged, and report what it changes."""
    path = f"{ONE}/status" if part == "status" else ONE
    compared(strict, (Step("PATCH", f"{path}?dryRun=All", {part: {name: change}}) for change in CHANGES[name]))


@pytest.mark.parametrize("part", ["spec", "status"])
def test_unrelated_changes(strict: Pair, part: str) -> None:
    """Tolerate everything when only metadata, another field, or the other part changes."""
    path = f"{ONE}/status" if part == "status" else ONE
    compared(
        strict,
        [
            Step("PATCH", f"{path}?dryRun=All", {"metadata": {"labels": {"a": "b"}}}),
            Step("PATCH", f"{path}?dryRun=All", {part: None}),
            Step("PATCH", f"{path}?dryRun=All", {part: {"unknown": 1}}),
            Step("PATCH", f"{path}?dryRun=All", {"spec": {"number": 4}, "status": {"number": 4}}),
            Step("PATCH", f"{path}?dryRun=All", [{"op": "replace", "path": f"/{part}/text", "value": "d"}], JSON_PATCH),
            Step("PATCH", f"{path}?dryRun=All", [{"op": "add", "path": f"/{part}/atomic/-", "value": {"name": "z"}}], JSON_PATCH),
            Step("PUT", f"{path}?dryRun=All", written({part: BAD | {"kept": "put"}})),
            Step("PUT", f"{path}?dryRun=All", written({part: {"kept": "put", "set": ["x", "x"]}})),
            Step("PUT", f"{path}?dryRun=All", written({part: {}})),
        ],
    )


def written(members: dict[str, Any], name: str = "one") -> dict[str, Any]:
    """Return the body of a PUT."""
    metadata = {"name": name, "resourceVersion": f"{{rv:{PATH}/{name}}}"}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Ratchet", "metadata": metadata, "spec": BAD, **members}


@pytest.mark.parametrize("part", ["spec", "status"])
@pytest.mark.parametrize(
    "fields", [{"kept": "applied"}, {"number": 3}, {"number": 4}, {"text": "c", "kept": "same"}, {"struct": {"a": 7}}], ids=str
)
def test_applies(strict: Pair, part: str, fields: dict[str, Any]) -> None:
    """Tolerate what an apply leaves unchanged."""
    path = f"{PATH}/other/status" if part == "status" else f"{PATH}/other"
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Ratchet", "metadata": {"name": "other"}, part: fields}
    compared(strict, [Step("PATCH", f"{path}?dryRun=All&fieldManager=m&force=true", body, APPLY)])


RULES: Final = ("self.number > 5", "!has(self.text) || self.text != 'c'", "self.keyed.all(i, i.size < 9)", "oldSelf.number <= self.number")


def test_rules_in_the_status(pair: Pair) -> None:
    """Turn broken rules about an unchanged status or spec into warnings, whichever of the two is written."""
    loose = {name: LOOSE[name] for name in ("number", "text", "keyed", "kept")}
    bad = {name: BAD[name] for name in loose}
    group = f"rules.{GROUP}"
    path, one = f"/apis/{group}/v1/ratchets", f"/apis/{group}/v1/ratchets/one"
    body = {"apiVersion": f"{group}/v1", "kind": "Ratchet", "metadata": {"name": "one"}, "spec": bad}
    versions = definition(loose, *RULES)["spec"]["versions"]
    changes: list[dict[str, Any]] = [
        {"kept": "other"},
        {"number": 4},
        {"number": 2},
        {"number": 7},
        {"text": "d"},
        {"keyed": []},
        {"keyed": [{"name": "y", "size": 8}, {"name": "x", "size": 9}]},
    ]
    with pair.served(definition(loose, group=group)):
        compared(
            pair,
            [
                Step("POST", path, body),
                Step("PATCH", f"{one}/status", {"status": bad}),
                Step("PATCH", f"{DEFINITIONS}/ratchets.{group}", {"spec": {"versions": versions}}),
                Step("POST", f"{path}?dryRun=All", body | {"metadata": {"name": "new"}}, retry=True, until="failed rule"),
                *(Step("PATCH", f"{one}?dryRun=All", {"spec": change}) for change in changes),
                *(Step("PATCH", f"{one}/status?dryRun=All", {"status": change}) for change in changes),
                Step("PATCH", f"{one}?dryRun=All", {"metadata": {"labels": {"a": "b"}}}),
                Step("PATCH", f"{one}/status?dryRun=All", {"status": None}),
                Step("PATCH", f"{one}?dryRun=All", {"spec": None}),
            ],
        )

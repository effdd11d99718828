"""Sequences of requests that change definitions while their objects are served."""

import json
from collections.abc import Iterator
from typing import Any, Final

from hack.lib.differential.pair import Step
from tests.differential.cases.definition_cases import DOMAIN, OPEN, PATH, crd, version
from tests.differential.cases.definition_steps import (
    JSON_PATCH,
    OBJECTS,
    ONE,
    TABLE,
    established,
    eventually,
    gone,
    names_of,
    patch,
    post,
    put,
    thing,
)

_LATER: Final = f"/apis/{DOMAIN}/v2/namespaces/default/things"


def _schema(**properties: Any) -> dict[str, Any]:
    spec = {"type": "object", "properties": properties}
    return {
        "openAPIV3Schema": {
            "type": "object",
            "properties": {"spec": spec, "status": {"type": "object", "properties": {"s": {"type": "string"}}}},
        }
    }


def _versions(first: Any, second: Any, *, stored: str = "v1", **more: Any) -> list[dict[str, Any]]:
    return [version("v1", storage=stored == "v1", schema=first), version("v2", storage=stored == "v2", schema=second) | more]


_TEXT: Final = {"type": "string"}
_PAIR: Final = {"type": "object", "properties": {"a": _TEXT, "b": _TEXT}}
_FULL: Final = {"type": "string", "default": "full"}
_NARROW: Final = _schema(a=_TEXT)
_WIDE: Final = _schema(a=_TEXT, b=_FULL, c={"type": "integer"})


def _versioned() -> Iterator[Step]:
    """Return steps that read objects in a version whose schema prunes and defaults differently from the stored one."""
    yield post(crd("things", *_versions(_NARROW, _WIDE)))
    yield established()
    yield eventually(_LATER)
    yield Step("POST", OBJECTS, thing() | {"spec": {"a": "x", "b": "y", "c": 1}})
    yield Step("POST", _LATER, thing("b", apiversion="v2") | {"spec": {"a": "x", "b": "y", "c": 1}})
    for path in (OBJECTS, _LATER):
        for name in ("a", "b"):
            yield Step("GET", f"{path}/{name}")
        yield Step("GET", path)
        yield Step("PATCH", f"{path}/b", {"metadata": {"labels": {"touched": path[-26:-25]}}})
        yield Step("GET", f"{path}/b")
    yield patch({"spec": {"versions": _versions(_NARROW, _WIDE, stored="v2")}})
    yield eventually(ONE, '"v1", "v2"')
    yield Step("POST", _LATER, thing("c", apiversion="v2") | {"spec": {"a": "x", "c": 1}})
    yield Step("PUT", f"{OBJECTS}/a", thing() | {"spec": {"a": "z"}})
    yield Step("PATCH", f"{OBJECTS}/a", {"spec": {"a": "z"}})
    yield Step("PATCH", f"{OBJECTS}/b", {"metadata": {"labels": {"migrated": "yes"}}})
    for path in (OBJECTS, _LATER):
        yield eventually(path, '"migrated": "yes"')
        yield Step("GET", path, headers=TABLE, retry=True, until="columnDefinitions")
    yield patch({"spec": {"versions": _versions(_NARROW, _WIDE, stored="v2")[1:]}})
    yield patch({"status": {"storedVersions": ["v1"]}}, path=f"{ONE}/status")
    yield patch({"status": {"storedVersions": ["v2"]}}, path=f"{ONE}/status")
    yield patch({"spec": {"versions": _versions(_NARROW, _WIDE, stored="v2")[1:]}})
    yield eventually(OBJECTS, "404")
    yield eventually(_LATER, '"name": "b"')
    yield eventually(f"/apis/{DOMAIN}", '"v2"')


def _unserved() -> Iterator[Step]:
    """Return steps that stop and resume serving a version, and unserve the only other one."""
    yield post(crd("things", *_versions(_NARROW, _WIDE)))
    yield established()
    yield eventually(_LATER)
    yield Step("POST", OBJECTS, thing())
    yield patch({"spec": {"versions": _versions(_NARROW, _WIDE, served=False)}})
    yield eventually(_LATER, "404")
    yield Step("POST", _LATER, thing("b", apiversion="v2"))
    yield Step("GET", f"{_LATER}/a")
    yield eventually(f"/apis/{DOMAIN}")
    yield eventually(f"/apis/{DOMAIN}/v2")
    yield eventually(f"{OBJECTS}/a", '"name": "a"')
    yield patch({"spec": {"versions": [one | {"served": False} for one in _versions(_NARROW, _WIDE)]}})
    yield eventually(OBJECTS, "404")
    yield eventually(f"/apis/{DOMAIN}", "404")
    yield eventually(ONE)
    yield patch({"spec": {"versions": _versions(_NARROW, _WIDE, deprecated=True)}})
    yield eventually(_LATER, '"name": "a"')
    yield eventually(f"/apis/{DOMAIN}/v2")
    yield eventually(f"/openapi/v3/apis/{DOMAIN}/v2")


def _schemas() -> Iterator[Step]:
    """Return steps that default, prune and validate stored objects with a changed schema."""
    yield post(crd("things", version(schema=_WIDE)))
    yield established()
    yield eventually(OBJECTS)
    yield Step("POST", OBJECTS, thing() | {"spec": {"a": "x", "c": 5}})
    yield Step("POST", OBJECTS, thing("b"))
    changes: tuple[tuple[Any, str], ...] = (
        (_schema(a=_TEXT, b=_FULL, c={"type": "integer"}, d={"type": "integer", "default": 3}), '"d": 3'),
        (_schema(a=_TEXT, b={"type": "string", "default": "other"}, d={"type": "integer"}), '"a": "x", "b": "full"'),
        (_schema(a={"type": "string", "maxLength": 0}, e={"type": "string", "default": "e"}), '"e": "e"'),
        (_schema(a={"type": "integer"}, f={"type": "string", "default": "f"}), '"f": "f"'),
        ({"openAPIV3Schema": OPEN}, '"b": "full", "c": 5'),
    )
    for schema, until in changes:
        yield patch({"spec": {"versions": [version(schema=schema)]}})
        yield eventually(f"{OBJECTS}/a", until)
        yield eventually(OBJECTS, until)
        yield Step("GET", OBJECTS, headers=TABLE, retry=True, until="columnDefinitions")
        yield Step("PATCH", f"{OBJECTS}/a?dryRun=All", {"metadata": {"labels": {"a": "b"}}})
        yield Step("PATCH", f"{OBJECTS}/a?dryRun=All", {"spec": {"a": "xx"}})
        yield Step("PATCH", f"{OBJECTS}/b?dryRun=All", {"spec": {"a": "xx"}})
        yield Step("DELETE", f"{OBJECTS}/a?dryRun=All")
    yield eventually(f"/openapi/v3/apis/{DOMAIN}/v1")


def _bound(length: int) -> dict[str, Any]:
    """Return a schema clause about one member of a pair."""
    return {"properties": {"a": {"maxLength": length}}}


def _tightened(*, strict: bool) -> dict[str, Any]:
    """Return a schema, and the same with bounds that stored objects violate."""
    short = {"type": "string", "maxLength": 1} if strict else _TEXT
    item = {"type": "object", "required": ["k"], "properties": {"k": _TEXT, "v": short}}
    listed = {"type": "array", "items": item}
    keyed = listed | {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    spec = {
        "text": short,
        "deep": {"type": "object", "properties": {"er": short, "other": _TEXT}, **({"required": ["must"]} if strict else {})},
        "keyed": keyed,
        "atomic": listed,
        "set": {"type": "array", "items": short, "x-kubernetes-list-type": "set"},
        "map": {"type": "object", "additionalProperties": short},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, **({"maxProperties": 1} if strict else {})},
        "known": {"type": "object", "properties": {"a": _TEXT, "b": _TEXT}, **({"minProperties": 3} if strict else {})},
        "either": _PAIR | ({"anyOf": [_bound(1)]} if strict else {}),
        "every": _PAIR | ({"allOf": [_bound(1)]} if strict else {}),
        "none": _PAIR | ({"not": _bound(4)} if strict else {}),
        "other": _PAIR | ({"not": _bound(1), "oneOf": [_bound(4), _bound(1)]} if strict else {}),
        "number": {"type": "integer", **({"maximum": 1} if strict else {})},
        "gone": {"type": "integer"} if strict else _TEXT,
    }
    status = {"type": "object", "properties": {"s": short, "t": _TEXT}}
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}, "status": status}}}


_STORED: Final = {
    "text": "long",
    "deep": {"er": "long"},
    "keyed": [{"k": "a", "v": "long"}, {"k": "b", "v": "long"}],
    "atomic": [{"k": "a", "v": "long"}, {"k": "b", "v": "x"}],
    "set": ["long", "x"],
    "map": {"a": "long", "b": "x"},
    "open": {"a": 1, "b": 2},
    "known": {"a": "x", "b": "y"},
    "either": {"a": "long"},
    "every": {"a": "long"},
    "none": {"a": "long"},
    "other": {"a": "long"},
    "number": 5,
    "gone": "text",
}
_EDITS: Final[tuple[Any, ...]] = (
    {"text": "longer"},
    {"text": None},
    {"deep": {"other": "x"}},
    {"deep": {"er": "longer"}},
    {"keyed": [{"k": "b", "v": "long"}, {"k": "a", "v": "long"}]},
    {"keyed": [{"k": "a", "v": "long"}]},
    {"keyed": [{"k": "a", "v": "long"}, {"k": "b", "v": "longer"}, {"k": "c", "v": "long"}]},
    {"atomic": [{"k": "a", "v": "long"}]},
    {"atomic": [{"k": "a", "v": "long"}, {"k": "b", "v": "x"}]},
    {"set": ["long"]},
    {"set": ["long", "x"]},
    {"map": {"b": "z"}},
    {"map": {"c": "long"}},
    {"map": {"a": None, "c": "z"}},
    {"open": {"a": 2}},
    {"known": {"a": "z"}},
    {"either": {"a": "longer"}},
    {"either": {"b": "x"}},
    {"every": {"b": "x"}},
    {"none": {"b": "x"}},
    {"other": {"b": "x"}},
    {"number": 6},
    {"number": 5.0},
    {"gone": "other"},
    {"unknown": 1},
)


def _ratcheting() -> Iterator[Step]:
    """Return steps that update objects which violate a new schema without touching the invalid fields."""
    versions = [version(schema=_tightened(strict=strict), subresources={"status": {}}) for strict in (False, True)]
    yield post(crd("things", versions[0]))
    yield established()
    yield eventually(OBJECTS)
    yield Step("POST", OBJECTS, thing() | {"spec": _STORED})
    yield Step("PATCH", f"{OBJECTS}/a/status", {"status": {"s": "long"}})
    yield patch({"spec": {"versions": versions[1:]}})
    yield Step("POST", f"{OBJECTS}?dryRun=All", thing("b") | {"spec": _STORED}, retry=True, until="Too long")
    yield Step("PATCH", f"{OBJECTS}/a", {"metadata": {"labels": {"a": "b"}}})
    for edit in _EDITS:
        yield Step("PATCH", f"{OBJECTS}/a?dryRun=All", {"spec": edit})
        yield Step("PUT", f"{OBJECTS}/a?dryRun=All", thing() | {"spec": _STORED | edit})
    statuses: tuple[Any, ...] = ({"t": "x"}, {"s": "longer"}, {"s": "x"}, None)
    for status in statuses:
        yield Step("PATCH", f"{OBJECTS}/a/status?dryRun=All", {"status": status})
    yield Step("PATCH", f"{OBJECTS}/a", {"spec": {"text": "x"}})
    yield Step("PATCH", f"{OBJECTS}/a", {"spec": {"text": "long"}})


def _subresources() -> Iterator[Step]:
    """Return steps that add and remove subresources; a status that was written as a field stays."""
    status: dict[str, Any] = {"status": {}}
    scale = {"scale": {"specReplicasPath": ".spec.c", "statusReplicasPath": ".status.c"}}
    yield post(crd("things", version(schema=_WIDE)))
    yield established()
    yield eventually(OBJECTS)
    yield Step("POST", OBJECTS, thing() | {"spec": {"c": 2}, "status": {"s": "t"}})
    for subresources, path, until in (
        (status, f"{OBJECTS}/a/status", '"name": "a"'),
        (status | scale, f"{OBJECTS}/a/scale", '"replicas": 2'),
        (scale, f"{OBJECTS}/a/status", "404"),
        ({}, f"{OBJECTS}/a/scale", "404"),
    ):
        yield patch([{"op": "add", "path": "/spec/versions/0/subresources", "value": subresources}], JSON_PATCH)
        yield eventually(path, until)
        yield eventually(f"/apis/{DOMAIN}/v1")
        yield Step("PATCH", f"{OBJECTS}/a", {"spec": {"c": 2}, "status": {"s": "u"}})
        yield Step("PATCH", f"{OBJECTS}/a/status", {"spec": {"c": 7}, "status": {"s": "v"}})
        yield Step("GET", f"{OBJECTS}/a/scale")


def _named() -> Iterator[Step]:
    """Return steps that change accepted names, and that use the names of other definitions."""
    yield post(crd(names=names_of(shortNames=["th"], categories=["all"])))
    yield established()
    for changed in (
        names_of(singular="one"),
        names_of(listKind="Things"),
        names_of(shortNames=["th", "tt"]),
        names_of(shortNames=["things"]),
        names_of(),
    ):
        yield put(crd(names=changed))
        # The definition's own plural conflicts like any other.
        refused = "things" in changed.get("shortNames", ())
        yield eventually(ONE, "ShortNamesConflict" if refused else '"acceptedNames": ' + _sorted(changed))
        yield eventually(f"/apis/{DOMAIN}/v1")
    others = f"{PATH}/others.{DOMAIN}"
    for name, wanted in (
        ("PluralConflict", {"kind": "Other", "shortNames": ["x"]}),
        ("SingularConflict", {"singular": "things", "kind": "Other"}),
        ("ShortNamesConflict", {"kind": "Other", "shortNames": ["o", "thing", "things"]}),
        ("KindConflict", {"kind": "ThingList", "listKind": "Lists"}),
        ("ListKindConflict", {"kind": "Other", "listKind": "Thing"}),
    ):
        yield post(crd("others", names={"plural": "others", "singular": "other"} | wanted))
        yield eventually(others, "InitialNamesAccepted" if name == "PluralConflict" else name)
        yield eventually(f"/apis/{DOMAIN}/v1/others")
        yield patch({"spec": {"names": {"singular": "other", "kind": "Other", "listKind": "OtherList", "shortNames": ["x"]}}}, path=others)
        yield eventually(others, "InitialNamesAccepted")
        yield eventually(f"/apis/{DOMAIN}/v1/others")
        yield Step("DELETE", others)
        yield gone(others)


def _sorted(names: dict[str, Any]) -> str:
    return json.dumps(names, sort_keys=True)


def _warned() -> Iterator[Step]:
    """Return steps with warnings, each of which comes once.

    An attempt of the reference with a stale cached object adds warnings, too: a list waits until its cache has the last write.
    """
    fresh = Step("GET", f"{PATH}?fieldSelector=metadata.name%3Dnone")
    odd = {"type": "string", "format": "odd"}
    nested = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object", "x-kubernetes-map-type": "atomic"}}
    listed = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "array", "items": _TEXT}}
    yield post(crd("things", version(schema=_schema(a=odd, b=odd, c=nested, d=nested))))
    yield established()
    yield fresh
    for schema in (
        _schema(a=odd, c=nested),
        _schema(a=odd, b={"type": "string", "format": "even"}, c=nested, d=listed),
        _schema(a={"type": "integer", "format": "int16"}),
        _schema(a={"type": "number", "format": "int32"}),
        _schema(a={"type": "string", "format": "int64"}),
        _schema(a=_TEXT),
        _schema(a=odd, c=listed, d=nested),
    ):
        yield patch({"spec": {"versions": [version(schema=schema)]}}, path=f"{ONE}?dryRun=All")
        yield patch({"spec": {"versions": [version(schema=schema, unknown=1)]}}, path=f"{ONE}?dryRun=All&fieldValidation=Warn")
        yield Step("PUT", f"{ONE}?dryRun=All", put(crd("things", version(schema=schema))).body)
        yield patch({"spec": {"versions": [version(schema=schema)]}})
        yield fresh
    two = [version(schema=_schema(a=odd)), version("v2", storage=False, schema=_schema(b=odd, c=nested))]
    yield patch({"spec": {"versions": two}})
    yield fresh
    yield patch({"metadata": {"labels": {"a": "b"}}})
    yield patch({"status": {"storedVersions": ["v1"]}}, path=f"{ONE}/status")


def _reported() -> Iterator[Step]:
    """Return steps that write a status as clients may, with observed generations."""
    yield post(crd() | {"status": {"observedGeneration": 7, "storedVersions": ["v1"]}})
    yield established()
    yield patch({"status": {"observedGeneration": 3}}, path=f"{ONE}/status")
    yield patch({"status": {"observedGeneration": -1}}, path=f"{ONE}/status")
    yield patch({"status": {"observedGeneration": "x"}}, path=f"{ONE}/status")
    mine = {"type": "Mine", "status": "True", "observedGeneration": 5, "lastTransitionTime": "2024-01-01T00:00:00Z"}
    yield patch([{"op": "add", "path": "/status/conditions/-", "value": mine}], JSON_PATCH, f"{ONE}/status")
    yield patch([{"op": "add", "path": "/status/conditions/0/observedGeneration", "value": 1}], JSON_PATCH, f"{ONE}/status")
    yield patch(
        [{"op": "add", "path": "/status/conditions/-", "value": {"type": "StorageMigrating", "status": "True"}}],
        JSON_PATCH,
        f"{ONE}/status",
    )
    yield patch([{"op": "add", "path": "/status/conditions/-", "value": {"type": "", "status": ""}}], JSON_PATCH, f"{ONE}/status")
    yield patch({"spec": {"names": {"shortNames": ["th"]}}})
    yield eventually(ONE, '"shortNames": ["th"], "singular": "thing"}, "conditions"')
    yield patch({"metadata": {"generation": 99, "labels": {"x": "y"}}, "spec": {"scope": "Cluster"}}, path=f"{ONE}/status")
    yield patch({"metadata": {"generation": 99}})
    yield Step(
        "PUT", f"{ONE}/status", put(crd() | {"status": {"storedVersions": ["v1"], "acceptedNames": {"plural": "", "kind": ""}}}).body
    )
    yield eventually(ONE, '"acceptedNames": {"kind": "Thing"')
    yield eventually(OBJECTS, "items")


CHANGES: Final[dict[str, list[Step]]] = {
    "versions": [*_versioned()],
    "unserved": [*_unserved()],
    "schemas": [*_schemas()],
    "ratcheting": [*_ratcheting()],
    "subresources": [*_subresources()],
    "names": [*_named()],
    "warnings": [*_warned()],
    "reported status": [*_reported()],
}

"""Definitions whose objects are guarded, and requests about these objects."""

from typing import Any, Final

from hack.lib.differential.pair import Step
from tests.differential.helpers.write_steps import APPLY, JSON_PATCH, MERGE, SUBRESOURCES, applied, current, operations, scale
from tests.support.builders import admission
from tests.support.builders.crds import crd, version

Json = dict[str, Any]
GROUP: Final = "admission.example.com"
THINGS: Final = f"/apis/{GROUP}/v1/namespaces/default/things"
THINGS_V2: Final = f"/apis/{GROUP}/v2/namespaces/default/things"
PLAINS: Final = f"/apis/{GROUP}/v1/plains"
RULE: Final = admission.rule("things", "things/*", "plains", group=GROUP)
"""Matches everything but markers."""
MUTATING: Final = admission.mutating("m", admission.hook("m.example.com", RULE))
VALIDATING: Final = admission.validating("v", admission.hook("v.example.com", RULE))


TEAM: Final = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a", "labels": {"team": "a"}}}


def _schema(default: str) -> Json:
    texts = {"type": "array", "items": {"type": "string"}}
    named = {"type": "object", "properties": {"name": {"type": "string"}, "value": {"type": "string"}}, "required": ["name"]}
    spec = {
        "replicas": {"type": "integer", "minimum": 0, "maximum": 9},
        "text": {"type": "string"},
        "chosen": {"type": "string", "default": default},
        "texts": texts | {"x-kubernetes-list-type": "set"},
        "plain": texts,
        "named": {"type": "array", "items": named, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "deep": {"type": "object", "properties": {"a": {"type": "integer", "default": 1}, "b": {"type": "string"}}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "many": {"x-kubernetes-int-or-string": True},
        "number": {"type": "number"},
        "flag": {"type": "boolean"},
        "when": {"type": "string", "format": "date-time"},
        "maybe": {"type": "string", "nullable": True},
    }
    status = {"phase": {"type": "string"}, "replicas": {"type": "integer"}, "selector": {"type": "string"}}
    return {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": spec}, "status": {"type": "object", "properties": status}},
    }


def _crds() -> list[Json]:
    versions = [version(name, storage=name == "v1", schema=_schema(name), subresources=SUBRESOURCES) for name in ("v1", "v2")]
    return [
        crd("things", *versions, kind="Thing", group=GROUP),
        crd("plains", version("v1", storage=True, schema=_schema("v1")), kind="Plain", group=GROUP, scope="Cluster"),
    ]


CRDS: Final = _crds()


def thing(name: str = "a", /, version: str = "v1", metadata: Json | None = None, **spec: Any) -> Json:
    """Return a Thing."""
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Thing", "metadata": {"name": name} | (metadata or {}), "spec": spec}


def plain(name: str = "a", /, metadata: Json | None = None, **spec: Any) -> Json:
    """Return a Plain, which is cluster-scoped and has no subresources."""
    return thing(name, metadata=metadata, **spec) | {"kind": "Plain"}


def create(obj: Json, query: str = "", collection: str = THINGS) -> Step:
    """Return a create."""
    return Step("POST", collection + query, obj)


def life(things: str = THINGS, version: str = "v1") -> list[Step]:
    """Return requests of every verb and subresource, with options, until nothing is left."""
    one = f"{things}/a"
    status: Json = thing(version=version, metadata=current(one), replicas=2) | {"status": {"phase": "x", "replicas": 1}}
    return [
        create(thing(version=version, replicas=1), "?dryRun=All", things),
        create(thing(version=version, replicas=1, unknown=1), "?fieldManager=me&fieldValidation=Warn", things),
        create(thing(version=version, replicas=1), collection=things),
        create(thing(version=version, replicas=99, unknown=1), "?fieldValidation=Strict", things),
        create(thing("b", version, replicas=99), collection=things),
        create(thing("B!", version), collection=things),
        create(thing("x", version, {"generateName": "gen-"}) | {"metadata": {"generateName": "gen-"}}, "?dryRun=All", things),
        create(thing("c", version, {"uid": "u", "generation": 4, "namespace": "default"}) | {"status": {"phase": "y"}}, collection=things),
        create(thing("d", version, {"namespace": "other"}), collection=things),
        create(thing("d", version), collection=things.replace("/default/", "/missing/")),
        Step("GET", one),
        Step("PUT", one, thing(version=version, metadata=current(one), replicas=2)),
        Step("PUT", one, thing(version=version, metadata=current(one), replicas=2)),
        Step("PUT", one, thing(version=version, metadata={"resourceVersion": "1"}, replicas=3)),
        Step("PUT", one, thing(version=version, metadata=current(one), replicas=99)),
        Step("PUT", one, thing(version=version, metadata=current(one) | {"uid": "x"})),
        Step("PUT", f"{one}?dryRun=All&fieldManager=me", thing(version=version, replicas=4)),
        Step("PUT", f"{things}/new", thing("new", version)),
        *patches(one),
        applied(f"{things}/e", thing("e", version, text="t"), "fieldManager=ann&force=true"),
        applied(f"{things}/e", thing("e", version, text="t"), "fieldManager=ann"),
        applied(f"{things}/e", thing("e", version, text="u"), "fieldManager=bob"),
        applied(f"{things}/e", thing("e", version, text="u"), "fieldManager=bob&force=true&dryRun=All"),
        applied(f"{things}/f", thing("f", version, text="t"), "fieldManager=ann&dryRun=All"),
        applied(f"{things}/e", thing("e", version, replicas=99), "fieldManager=ann"),
        Step("PUT", f"{one}/status", status),
        Step("PUT", f"{one}/status?fieldManager=st&dryRun=All", status | {"spec": {"replicas": 8}}),
        Step("PATCH", f"{one}/status", {"status": {"phase": "z"}, "spec": {"text": "no"}}, MERGE),
        applied(f"{one}/status", thing(version=version) | {"status": {"phase": "ap"}}, "fieldManager=st&force=true"),
        Step("GET", f"{one}/scale"),
        Step("PUT", f"{one}/scale", scale(metadata={"namespace": "default"} | current(one), spec={"replicas": 5})),
        Step("PUT", f"{one}/scale", scale(metadata={"namespace": "default"}, spec={"replicas": 99})),
        Step("PUT", f"{one}/scale?dryRun=All", scale(metadata={"namespace": "default"}, spec={"replicas": 7})),
        Step("PATCH", f"{one}/scale", {"spec": {"replicas": 6}}, MERGE),
        Step("PATCH", f"{one}/scale", {"spec": {"replicas": -1}}, MERGE),
        applied(f"{one}/scale", scale(spec={"replicas": 4}), "fieldManager=sc&force=true"),
        Step("GET", one),
        *deletions(things, version),
    ]


def patches(one: str) -> list[Step]:
    """Return patches of an object."""
    return [
        Step("PATCH", one, {"spec": {"text": "x"}}, MERGE),
        Step("PATCH", f"{one}?fieldManager=me&dryRun=All&fieldValidation=Strict", {"spec": {"text": "y"}}, MERGE),
        Step("PATCH", one, {"spec": {"text": "x"}}, MERGE),
        Step("PATCH", one, {"spec": {"replicas": 10}}, MERGE),
        Step("PATCH", one, {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}, MERGE),
        Step("PATCH", one, operations(("add", "/spec/texts", ["a"]), ("add", "/spec/texts/-", "b")), JSON_PATCH),
        Step("PATCH", one, operations(("test", "/spec/text", "no")), JSON_PATCH),
        Step("PATCH", f"{one}-missing", {"spec": {"text": "x"}}, MERGE),
        Step("PATCH", one, {}, APPLY),
    ]


def deletions(things: str, version: str) -> list[Step]:
    """Return requests that delete objects, one at a time and together."""
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 3, "propagationPolicy": "Background"}
    return [
        Step("DELETE", f"{things}/missing"),
        Step("DELETE", f"{things}/a?dryRun=All"),
        Step("DELETE", f"{things}/a", {"preconditions": {"uid": "x"}}),
        Step("DELETE", f"{things}/a", options),
        Step("DELETE", f"{things}/c?propagationPolicy=Foreground&gracePeriodSeconds=1"),
        Step("PATCH", f"{things}/c", {"metadata": {"finalizers": None}}, MERGE),
        create(thing("f", version, {"finalizers": ["example.com/hold"]}), collection=things),
        Step("DELETE", f"{things}/f", {"dryRun": ["All"]}),
        Step("DELETE", f"{things}/f"),
        Step("DELETE", f"{things}/f"),
        Step("PATCH", f"{things}/f", {"spec": {"text": "late"}}, MERGE),
        Step("PATCH", f"{things}/f", {"metadata": {"finalizers": None}}, MERGE),
        create(thing("g", version, {"labels": {"some": "yes"}}), collection=things),
        create(thing("h", version), collection=things),
        Step("DELETE", f"{things}?labelSelector=some%3Dno"),
        Step("DELETE", f"{things}?dryRun=All"),
        Step("DELETE", f"{things}?labelSelector=some%3Dyes&propagationPolicy=Orphan"),
        Step("DELETE", things, {"propagationPolicy": "Background"}),
        Step("GET", things),
    ]

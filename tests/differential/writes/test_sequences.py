"""Tests with written sequences of requests, one for each feature."""

from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.helpers.differences import compared
from tests.support.builders.crds import crd, version

pytestmark = pytest.mark.slow

GROUP: Final = "diff.example.com"
BASE: Final = f"/apis/{GROUP}/v1/namespaces/default/gadgets"
MERGE: Final = {"Content-Type": "application/merge-patch+json"}
JSON_PATCH: Final = {"Content-Type": "application/json-patch+json"}
TABLE: Final = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
PARTIAL: Final = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
PARTIALS: Final = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}


SPEC: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 10},
        "ratio": {"type": "number", "exclusiveMinimum": True, "minimum": 0, "multipleOf": 0.5},
        "mode": {"type": "string", "enum": ["Auto", "Manual"], "default": "Auto"},
        "code": {"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 4},
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set", "maxItems": 3},
        "ports": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "port": {"type": "integer", "default": 80}},
            },
        },
        "limit": {"x-kubernetes-int-or-string": True},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "maybe": {"type": "string", "nullable": True},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 2},
        "when": {"type": "string", "format": "date-time"},
        "replicas": {"type": "integer"},
        "template": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
    },
}
STATUS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}, "phase": {"type": "string"}},
}
COLUMNS: Final[list[dict[str, Any]]] = [
    {"name": "Mode", "type": "string", "jsonPath": ".spec.mode"},
    {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]
SCALE: Final = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}
NAMES: Final = {
    "plural": "gadgets",
    "singular": "gadget",
    "kind": "Gadget",
    "listKind": "GadgetList",
    "shortNames": ["gd"],
    "categories": ["all"],
}


def _crd() -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": SPEC, "status": STATUS}}
    subresources = {"status": {}, "scale": SCALE}
    stored = version("v1", storage=True, schema=schema, subresources=subresources, additionalPrinterColumns=COLUMNS)
    return crd("gadgets", stored, version("v1beta1", schema=schema, deprecated=True), kind="Gadget", group=GROUP, names=NAMES)


def _gadget(name: str = "a", /, version: str = "v1", metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Gadget", "metadata": {"name": name} | (metadata or {}), "spec": {"size": 1} | spec}


def _post(body: Any, query: str = "", **headers: str) -> Step:
    return Step("POST", BASE + query, body, headers)


def _patch(kind: dict[str, str], body: Any, query: str = "") -> Step:
    return Step("PATCH", f"{BASE}/a{query}", body, kind)


SPECS: Final[list[dict[str, Any]]] = [
    {"size": 0},
    {"size": 11},
    {"size": "1"},
    {"size": 1.5},
    {"size": None},
    {"size": True},
    {"ratio": 0},
    {"ratio": 0.7},
    {"mode": "x"},
    {"mode": 1},
    {"code": "A"},
    {"code": "abcde"},
    {"tags": ["a", "a"]},
    {"tags": ["a", "b", "c", "d"]},
    {"tags": "a"},
    {"ports": [{"name": "a"}, {"name": "a"}]},
    {"ports": [{"port": 1}]},
    {"ports": [1]},
    {"limit": 1.5},
    {"limit": True},
    {"limit": {"a": 1}},
    {"free": []},
    {"maybe": None},
    {"code": None},
    {"labels": {"a": "b", "c": "d", "e": "f"}},
    {"labels": {"a": 1}},
    {"when": "yesterday"},
    {"template": {}},
    {"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "X!"}}},
    {"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": 1}}}},
    {"unknown": 1},
    {"size": 0, "code": "A", "mode": "x"},
]
KINDS: Final = (
    b"{}",
    b"null",
    b"[]",
    b'{"apiVersion":"a/b/c"}',
    b'{"apiVersion":"x/v9"}',
    b'{"apiVersion":1,"kind":{}}',
    b'{"kind":{},"apiVersion":1}',
    b'{"kind":null,"apiVersion":"diff.example.com/v1beta1"}',
    b'{"kind":"Gadget","metadata":{"name":"x","u":1},"spec":{"size":1}}',
    b'{"kind":"Other","metadata":{"name":"x","u":1}}',
    b'{"kind":"Other","apiVersion":"diff.example.com/v1","metadata":{"name":"x","u":1}}',
    b'{"kind":"Gadget","apiVersion":"diff.example.com/v1beta1","metadata":{"name":"x"},"spec":{"size":1,"u":1},"u":1}',
    b'{"kind":"Gadget","apiVersion":"diff.example.com/v2","metadata":{"name":"x","u":1},"spec":{"size":1},"u":1}',
    b'{"kind":"Gadget","apiVersion":"other.example.com/v1","metadata":{"name":"x","u":1},"u":1}',
    b'{"kind":"Gadget","apiVersion":"diff.example.com/v2","metadata":{"name":1}}',
)
"""Bodies with unusual or missing apiVersion and kind."""

SEQUENCES: Final[dict[str, list[Step]]] = {
    "create": [
        _post(_gadget()),
        _post(_gadget()),
        _post(_gadget("B!")),
        _post(_gadget("b", metadata={"namespace": "other"})),
        _post(_gadget("b", metadata={"resourceVersion": "5"})),
        _post(_gadget("b", metadata={"uid": "x", "generation": 7, "selfLink": "/x", "creationTimestamp": None})),
        _post({**_gadget("c"), "kind": "Wrong"}),
        _post({**_gadget("c"), "apiVersion": "x/v1"}),
        _post({**_gadget("c"), "apiVersion": "a/b/c"}),
        _post({"spec": {}}),
        _post({"metadata": {"generateName": "x-"}, "apiVersion": f"{GROUP}/v1", "kind": "Gadget"}),
        _post({"apiVersion": f"{GROUP}/v1", "kind": "Gadget", "spec": {"size": 1}}),
        _post({**_gadget("d"), "status": {"phase": "x"}}),
        Step("GET", f"{BASE}/d"),
        _post(_gadget("e"), "?dryRun=All"),
        _post(_gadget("e"), "?dryRun=Some"),
        Step("GET", f"{BASE}/e"),
        Step("POST", "/apis/diff.example.com/v1/namespaces/missing/gadgets", _gadget()),
        Step("POST", "/apis/diff.example.com/v1/gadgets", _gadget("z")),
        Step("POST", f"{BASE}/a", _gadget()),
    ],
    "bodies": [
        _post(b""),
        _post(b"{"),
        _post(b"[]"),
        _post(b"null"),
        _post(b"1"),
        _post(b'"x"'),
        _post(b'{"apiVersion":"diff.example.com/v1","kind":"Gadget","metadata":{"name":"x"},"spec":{"size":NaN}}'),
        _post(b'{"apiVersion":1,"kind":"Gadget"}'),
        _post(b'{"apiVersion":"diff.example.com/v1","kind":"Gadget","metadata":[]}'),
        _post(b'{"apiVersion":"diff.example.com/v1","kind":"Gadget","metadata":"x"}'),
        _post(b'{"apiVersion":"diff.example.com/v1","kind":"Gadget","metadata":{"name":1}}'),
        _post(b'{"apiVersion":"diff.example.com/v1","kind":"Gadget","metadata":{"name":"x","labels":{"a":1}},"spec":{"size":1}}'),
        _post(b'{"apiVersion":"diff.example.com/v1","kind":"Gadget","metadata":{"name":"x","labels":{"a":null}},"spec":{"size":1}}'),
        Step("POST", BASE, b"a: b: c", {"Content-Type": "application/yaml"}),
        Step(
            "POST",
            BASE,
            b"apiVersion: diff.example.com/v1\nkind: Gadget\nmetadata: {name: y}\nspec: {size: 1}",
            {"Content-Type": "application/yaml"},
        ),
        Step("POST", BASE, b"{}", {"Content-Type": "text/plain"}),
        Step("POST", BASE, b"{}", {"Content-Type": "nonsense"}),
    ],
    "validation": [_post(_gadget("v", **spec)) for spec in SPECS],
    "metadata": [
        _post(_gadget("m", metadata=metadata))
        for metadata in (
            {"labels": {"a b": "c"}},
            {"labels": {"a": "c d"}},
            {"annotations": {"A/B/C": "x"}},
            {"finalizers": ["x"]},
            {"finalizers": ["example.com/x", "orphan", "foregroundDeletion"]},
            {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "", "uid": ""}]},
            {"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "a", "uid": "b"}]},
            {"unknown": "x"},
            {"annotations": {"big": "x" * 300000}},
            {"deletionTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5},
        )
    ],
    "field validation": [
        _post(_gadget(f"f{index}", **spec), f"?fieldValidation={mode}")
        for index, (mode, spec) in enumerate(
            (mode, spec)
            for mode in ("Strict", "Warn", "Ignore", "Nonsense")
            for spec in ({"unknown": 1, "size": 1}, {"ports": [{"name": "a", "x": 1}], "free": {"y": 1}, "size": 1})
        )
    ]
    + [
        _post(
            b'{"apiVersion":"diff.example.com/v1","kind":"Gadget","metadata":{"name":"dup"},"spec":{"size":1,"size":2}}',
            "?fieldValidation=Strict",
        ),
        _post(b'{"apiVersion":"diff.example.com/v1","kind":"Gadget","metadata":{"name":"dup"},"spec":{"size":1,"size":2}}'),
    ],
    "kinds": [
        Step("POST", f"{BASE}?dryRun=All&fieldValidation={mode}", body, headers)
        for mode in ("Ignore", "Warn", "Strict")
        for headers in ({}, {"Content-Type": "application/yaml"})
        for body in KINDS
    ],
    "update": [
        _post(_gadget()),
        Step("PUT", f"{BASE}/a", _gadget()),
        Step("PUT", f"{BASE}/a", _gadget(metadata={"resourceVersion": "1"})),
        Step("PUT", f"{BASE}/a", _gadget(metadata={"resourceVersion": "{rv:" + BASE + "/a}"}, size=2)),
        Step("PUT", f"{BASE}/a", _gadget(metadata={"resourceVersion": "{rv:" + BASE + "/a}"}, size=2)),
        Step("PUT", f"{BASE}/a", _gadget(metadata={"resourceVersion": "{rv:" + BASE + "/a}", "labels": {"a": "b"}}, size=2)),
        Step("PUT", f"{BASE}/a", _gadget("b")),
        Step("PUT", f"{BASE}/a", _gadget(metadata={"resourceVersion": "{rv:" + BASE + "/a}", "uid": "x"})),
        Step("PUT", f"{BASE}/a", _gadget(metadata={"resourceVersion": "x"})),
        Step("PUT", f"{BASE}/new", _gadget("new")),
        Step(
            "PUT", f"{BASE}/a/status", {**_gadget(metadata={"resourceVersion": "{rv:" + BASE + "/a}"}, size=9), "status": {"phase": "ok"}}
        ),
        Step("GET", f"{BASE}/a/status"),
        Step(
            "PUT", f"{BASE}/a/scale", {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 3}}
        ),
        Step("GET", f"{BASE}/a/scale"),
        Step("PATCH", f"{BASE}/a/scale", {"spec": {"replicas": -1}}),
        Step("PATCH", f"{BASE}/a/scale", {"spec": {"replicas": 4}}),
        Step("GET", f"{BASE}/a"),
        Step("PUT", BASE, _gadget()),
    ],
    "patch": [
        _post(_gadget(tags=["x"])),
        _patch(MERGE, {"spec": {"size": 3, "code": None}}),
        _patch(MERGE, {"spec": {"size": 30}}),
        _patch(MERGE, {}),
        _patch(MERGE, {"metadata": {"resourceVersion": "1"}}),
        _patch(MERGE, {"metadata": {"name": "b"}}),
        _patch(MERGE, b"["),
        _patch(MERGE, b"[]"),
        _patch(MERGE, b"1"),
        _patch(MERGE, {"kind": "Other"}),
        _patch(JSON_PATCH, [{"op": "replace", "path": "/spec/size", "value": 4}]),
        _patch(JSON_PATCH, [{"op": "test", "path": "/spec/size", "value": 5}]),
        _patch(JSON_PATCH, [{"op": "remove", "path": "/spec/none"}]),
        _patch(JSON_PATCH, [{"op": "add", "path": "/spec/tags/-", "value": "y"}]),
        _patch(JSON_PATCH, [{"op": "add", "path": "/spec/tags/9", "value": "y"}]),
        _patch(JSON_PATCH, [{"op": "move", "from": "/spec/tags/0", "path": "/spec/code"}]),
        _patch(JSON_PATCH, [{"op": "copy", "from": "/spec/none", "path": "/spec/code"}]),
        _patch(JSON_PATCH, [{"op": "nonsense", "path": "/spec"}]),
        _patch(JSON_PATCH, {}),
        _patch(JSON_PATCH, b"["),
        _patch(MERGE, {}, "?force=true"),
        _patch(MERGE, {}, "?fieldManager=" + "x" * 200),
        Step("PATCH", f"{BASE}/none", {}, MERGE),
        Step("PATCH", f"{BASE}/a/status", {"status": {"phase": "p"}, "spec": {"size": 8}}, MERGE),
        Step("PATCH", BASE, {}, MERGE),
    ],
    "list": [
        *(_post(_gadget(f"l{index}", metadata={"labels": {"n": str(index % 2)}})) for index in range(5)),
        Step("GET", BASE),
        Step("GET", f"{BASE}?labelSelector=n%3D1"),
        Step("GET", f"{BASE}?labelSelector=n+notin+(1)"),
        Step("GET", f"{BASE}?labelSelector=n%3D%3D%3D1"),
        Step("GET", f"{BASE}?labelSelector=a+b"),
        Step("GET", f"{BASE}?fieldSelector=metadata.name%3Dl1"),
        Step("GET", f"{BASE}?fieldSelector=metadata.namespace%3Dx"),
        Step("GET", f"{BASE}?fieldSelector=spec.size%3D1"),
        Step("GET", f"{BASE}?fieldSelector=nonsense"),
        Step("GET", f"{BASE}?limit=2"),
        Step("GET", f"{BASE}?limit=x"),
        Step("GET", f"{BASE}?limit=-1"),
        Step("GET", f"{BASE}?resourceVersion=0"),
        Step("GET", f"{BASE}?resourceVersion=x"),
        Step("GET", f"{BASE}?resourceVersion=99999999"),
        Step("GET", f"{BASE}?resourceVersion=0&resourceVersionMatch=Exact"),
        Step("GET", f"{BASE}?resourceVersionMatch=Exact"),
        Step("GET", f"{BASE}?resourceVersion=1&resourceVersionMatch=Nonsense"),
        Step("GET", f"{BASE}?sendInitialEvents=true"),
        Step("GET", f"{BASE}?watch=true&sendInitialEvents=true"),
        Step("GET", f"{BASE}?watch=true&resourceVersion=x"),
        Step("GET", f"{BASE}?timeoutSeconds=x"),
        Step("GET", f"/apis/{GROUP}/v1/gadgets"),
        Step("GET", f"/apis/{GROUP}/v1beta1/gadgets?limit=1"),
        Step("GET", f"/apis/{GROUP}/v1/namespaces/none/gadgets"),
        Step("GET", BASE, headers=TABLE),
        Step("GET", f"{BASE}?includeObject=None", headers=TABLE),
        Step("GET", f"{BASE}?includeObject=Object&limit=1", headers=TABLE),
        Step("GET", f"{BASE}?includeObject=Nonsense", headers=TABLE),
        Step("GET", f"{BASE}/l1", headers=TABLE),
        Step("GET", f"{BASE}/l1", headers=PARTIAL),
        Step("GET", BASE, headers=PARTIALS),
        Step("GET", BASE, headers=PARTIAL),
        Step("GET", BASE, headers={"Accept": "application/yaml"}),
        Step("GET", f"{BASE}/l1", headers={"Accept": "application/yaml"}),
        Step("GET", f"{BASE}/l1?pretty=true"),
        Step("GET", f"{BASE}/l1", headers={"Accept": "application/vnd.kubernetes.protobuf,application/json"}),
        Step("GET", f"{BASE}/l1", headers={"Accept": "text/html"}),
        Step("GET", f"{BASE}/l1", headers={"Accept": "text/html, */*;q=0.1"}),
        Step("GET", f"{BASE}/none"),
        Step("GET", f"{BASE}/none", headers=TABLE),
        Step("GET", f"{BASE}/l1", headers=PARTIALS),
        Step("GET", f"{BASE}?labelSelector=no%3Dsuch", headers=PARTIALS),
        Step("GET", f"{BASE}?labelSelector=no%3Dsuch", headers=TABLE),
    ],
    "delete": [
        _post(_gadget("d1")),
        _post(_gadget("d2", metadata={"finalizers": ["example.com/hold"]})),
        Step("DELETE", f"{BASE}/d1?dryRun=All"),
        Step("DELETE", f"{BASE}/d1", {"preconditions": {"uid": "x"}}),
        Step("DELETE", f"{BASE}/d1", {"preconditions": {"resourceVersion": "1"}}),
        Step("DELETE", f"{BASE}/d1", {"propagationPolicy": "Nonsense"}),
        Step("DELETE", f"{BASE}/d1", {"propagationPolicy": "Orphan", "orphanDependents": True}),
        Step("DELETE", f"{BASE}/d1", {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": -1}),
        Step("DELETE", f"{BASE}/d1"),
        Step("DELETE", f"{BASE}/d1"),
        Step("DELETE", f"{BASE}/d2"),
        Step("GET", f"{BASE}/d2"),
        Step("DELETE", f"{BASE}/d2"),
        Step("PATCH", f"{BASE}/d2", {"metadata": {"finalizers": ["example.com/more", "example.com/hold"]}}, MERGE),
        Step("PATCH", f"{BASE}/d2", {"metadata": {"finalizers": None}}, MERGE),
        Step("GET", f"{BASE}/d2"),
        _post(_gadget("d3")),
        Step("DELETE", f"{BASE}/d3?propagationPolicy=Foreground"),
        Step("GET", f"{BASE}/d3"),
        Step("PATCH", f"{BASE}/d3", {"metadata": {"finalizers": None}}, MERGE),
        _post(_gadget("d4")),
        _post(_gadget("d5")),
        Step("DELETE", f"{BASE}?labelSelector=x%3Dy"),
        Step("DELETE", f"{BASE}?dryRun=All"),
        Step("DELETE", BASE),
        Step("GET", BASE),
    ],
    "paths": [
        Step("GET", "/apis/nothing.example.com/v1/things"),
        Step("GET", f"/apis/{GROUP}/v2/gadgets"),
        Step("GET", f"/apis/{GROUP}/v1/others"),
        Step("GET", f"/apis/{GROUP}/v1/namespaces/default/gadgets/a/nothing"),
        Step("GET", f"/apis/{GROUP}/v1beta1/namespaces/default/gadgets/a/status"),
        Step("GET", "/nonsense"),
        Step("GET", f"/apis/{GROUP}"),
        Step("GET", f"/apis/{GROUP}/v1"),
        Step("GET", f"/apis/{GROUP}/v1beta1"),
        Step("GET", "/apis/nothing.example.com"),
        Step("GET", "/apis/nothing.example.com/v1"),
        Step("POST", f"/apis/{GROUP}/v1", {}),
        Step("PUT", f"{BASE}/a/b/c/d", {}),
        Step("DELETE", f"{BASE}/a/status"),
        Step("POST", f"{BASE}/a/status", {}),
        Step("OPTIONS", BASE),
        Step("HEAD", BASE),
    ],
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequence(pair: Pair, name: str) -> None:
    """Return equal codes, headers and bodies for the sequence."""
    with pair.served(_crd()):
        compared(pair, SEQUENCES[name])

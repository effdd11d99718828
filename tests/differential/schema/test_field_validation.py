"""Tests of fieldValidation: unknown and duplicate fields in every kind of write."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.helpers.differences import compared
from tests.differential.helpers.write_steps import (
    DOMAIN,
    JSON_PATCH,
    MERGE,
    MODES,
    PLAINS,
    STRATEGIC,
    THINGS,
    YAML,
    crds,
    current,
    operations,
    plain,
    scale,
    thing,
)

pytestmark = pytest.mark.slow

DRY: Final = "dryRun=All&fieldValidation"
ONE: Final = f"{THINGS}/a"
UNKNOWN: Final[list[dict[str, Any]]] = [
    {"extra": "x", "other": 1},
    {"spec": {"size": 1, "b": 1, "a": {"c": 1}}, "status": {"nope": 1}},
    {"spec": {"nested": {"x": 1, "deep": {"y": [1]}}}},
    {"spec": {"list": [{"name": "a"}, {"x": 1}, {"deep": {"z": 1, "a": 1}}]}},
    {"spec": {"map": {"k.1/x": {"x": 1}, "b": {"deep": {"z": 1}}}}},
    {"spec": {"free": {"x": 1, "known": {"x": 1, "deep": {"z": 1}}}}},
    {"spec": {"pod": {"apiVersion": "v1", "kind": "Pod", "x": 1, "metadata": {"name": "a", "x": 1}, "spec": {"x": 1}}}},
    {"spec": {"pods": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b"}, "ownerReferences": [{"x": 1}]}}]}},
    {"spec": {"anything": {"apiVersion": "v1", "kind": "Pod", "x": 1, "metadata": {"x": {"y": 1}}}}},
    {"metadata": {"name": "a", "x": 1, "labels": {"a": "b"}, "ownerReferences": [{"x": 1, "uid": "u"}], "managedFields": [{"y": 1}]}},
    {"metadata": {"name": "a", "Name": "b", "NAMESPACE": "default"}},
    {"spec": {"Size": 1, "tExt": "x"}, "Spec": {}},
    {"spec": {"a b": 1, 'q"': 2, "dot.ted": 3, "": 4, "é\u2028": 5}},
    {"spec": {f"field{index:03}": 1 for index in range(80)}},
    {"spec": {"x" * 3000: 1, "y" * 3000: 2, "z": 3}},
    {"spec": {"x" * 5000: 1}},
    {"spec": {f"{'n' * 300}{index:02}": 1 for index in range(40)}},
    {"spec": {"é" * 2000: 1, "à" * 200: 2, "tab\there": 3}},
]
MANY: Final = {"spec": {f"field{index:03}": 1 for index in range(120)}}
"""More warnings than a Python client accepts headers."""
DUPLICATE: Final = (
    b'{"apiVersion":"%(v)s","kind":"Thing","kind":"Thing","metadata":{"name":"a","name":"a"},"spec":{"size":1,"size":2,"size":3}}',
    b'{"apiVersion":"%(v)s","kind":"Thing","metadata":{"name":"a","labels":{"x":"1","x":"2"}},"spec":{"x":1,"x":2,"y":{"z":1,"z":2}}}',
    b'{"apiVersion":"%(v)s","kind":"Thing","metadata":{"name":"a"},"spec":{"list":[{"name":"a","name":"b"},{"deep":{"a":1,"a":2,"b":1}}]}}',
    b'{"apiVersion":"%(v)s","kind":"Thing","metadata":{"name":"a"},"spec":{"free":{"x":1,"x":2},"map":{"a":{},"a":{"x":1}}},"spec":{}}',
    b'{"apiVersion":"%(v)s","kind":"Thing","metadata":{"name":"a"},"spec":{"text":"a:b","text":"c:d"},"q\\"":1,"q\\"":2}',
    b'{"apiVersion":"%(v)s","kind":"Thing","metadata":{"name":"a"},"spec":{"pod":{"apiVersion":"v1","kind":"P","kind":"P","metadata":{"a":1,"a":2}}}}',
)
YAMLS: Final = (
    b"apiVersion: %(v)s\nkind: Thing\nmetadata: {name: a}\nspec:\n  size: 1\n  size: 2\n  x: 1\nspec: {y: 1}\n",
    b"apiVersion: %(v)s\nkind: Thing\nmetadata:\n  name: a\n  x: 1\nspec:\n  list:\n  - {name: a, name: b}\n  - {q: 1}\n",
    b"apiVersion: %(v)s\nkind: Thing\nkind: Thing\nmetadata: {name: a}\n",
    b"apiVersion: %(v)s\nkind: Thing\nmetadata: {name: a}\nspec: {1: a, true: b, 1.5: d}\n",
)
VERSION: Final = {b"v": f"{DOMAIN}/v1".encode()}
OPERATIONS: Final = (
    operations(("add", "/spec/x", 1), ("add", "/spec/nested", {"y": 1})),
    [
        {"op": "add", "path": "/spec/size", "value": 1, "Value": 2, "why": "x"},
        {"op": "test", "path": "/kind", "value": "Thing", "z": {"a": 1}},
    ],
    operations(("add", "/metadata/x", 1), ("add", "/other", 1), ("add", "/status", {"q": 1})),
    b'[{"op":"add","op":"add","path":"/spec/size","value":1},{"op":"add","path":"/spec/x","value":{"a":1}}]',
    b'[{"op":"add","path":"/spec/size","value":1,"extra":{"a":1}}]',
)
MERGES: Final = (
    {"spec": {"x": 1, "nested": {"y": 1}}, "other": 1},
    {"metadata": {"x": 1, "labels": {"a": "b"}}, "status": {"q": 1}},
    b'{"spec":{"size":1,"size":2,"x":1,"x":2},"spec":{"text":"a"}}',
    b'{"metadata":{"annotations":{"a":"1","a":"2"}}}',
)


def _creates(mode: str, body: Any, **headers: str) -> Step:
    return Step("POST", f"{THINGS}?{DRY}={mode}", body, headers)


def _modes(method: str, path: str, bodies: Any, headers: dict[str, str] | None = None, modes: tuple[str, ...] = MODES) -> list[Step]:
    return [Step(method, f"{path}?{DRY}={mode}", body, headers or {}) for mode in modes for body in bodies]


def _updated(members: dict[str, Any]) -> dict[str, Any]:
    body = thing() | members
    return body | {"metadata": body["metadata"] | current(ONE)}


def _scales() -> list[Step]:
    bodies = [
        scale(spec={"replicas": 1, "x": 1}, other=1),
        scale(metadata={"x": 1}, spec={"replicas": 1}, status={"selector": "a", "q": 1}),
        b'{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a","name":"a"},"spec":{"replicas":1,"replicas":2},"x":1}',
        b'{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a"},"spec":{"Replicas":7}}',
    ]
    patches = [{"spec": {"replicas": 2, "x": 1}}, b'{"spec":{"replicas":1,"replicas":2},"y":1}', {"metadata": {"x": 1}}]
    steps = [*_modes("PUT", f"{ONE}/scale", bodies), *_modes("PATCH", f"{ONE}/scale", patches, MERGE)]
    return [*steps, *_modes("PATCH", f"{ONE}/scale", OPERATIONS[:2], JSON_PATCH)]


def _definitions() -> list[Step]:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    body = crds()[1] | {"metadata": {"name": f"others.{DOMAIN}", "u": 1}, "v": 2}
    names = {"plural": "others", "kind": "Other", "w": 1}
    body["spec"] = body["spec"] | {"names": names, "versions": [body["spec"]["versions"][0] | {"x": 1, "Served": True}], "scope": "Cluster"}
    doubled = b'{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{"group":"a","group":"b"},"x":{"y":1}}'
    patches = ({"spec": {"x": 1, "names": {"y": 1}}}, b'{"spec":{"scope":"Cluster","scope":"Cluster"},"metadata":{"z":1}}')
    one = f"{path}/plains.{DOMAIN}"
    return [
        *_modes("POST", path, (body, doubled)),
        *_modes("PATCH", one, patches, MERGE),
        *_modes("PATCH", one, patches, STRATEGIC),
        *_modes("PATCH", one, (operations(("add", "/spec/x", 1)), [{"op": "test", "path": "/kind", "value": 1, "q": 1}]), JSON_PATCH),
        *_modes("PATCH", f"{one}/status", patches, MERGE),
    ]


def _builtin() -> list[Step]:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "unknown-fields", "x": 1}, "spec": {"y": 1}, "z": 1}
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "x": 1},
        "involvedObject": {"namespace": "default", "y": 1},
        "source": {"z": 1},
        "series": {"q": 1},
    }
    doubled = b'{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n","name":"unknown-fields"},"spec":{},"spec":{},"x":{"y":1}}'
    patches = ({"spec": {"x": 1}, "metadata": {"y": 1}}, b'{"metadata":{"labels":{"a":"b","a":"c"}},"x":{"a":1,"a":2}}')
    return [
        *_modes("POST", "/api/v1/namespaces", (namespace, doubled)),
        *_modes("POST", "/api/v1/namespaces/default/events", (event,)),
        *_modes("PATCH", "/api/v1/namespaces/default", patches, MERGE),
        *_modes("PATCH", "/api/v1/namespaces/default", patches, STRATEGIC),
        *_modes("PATCH", "/api/v1/namespaces/default", (operations(("add", "/spec/x", 1)),), JSON_PATCH),
    ]


def _values() -> list[Step]:
    """Return steps with valid and invalid values of the parameter."""
    queries = ("", "fieldValidation=", "fieldValidation=strict", "fieldValidation=Warn&fieldValidation=Strict", "fieldvalidation=Strict")
    body, patch = thing(spec={"x": 1}), {"spec": {"x": 1}}
    steps = [Step("POST", f"{THINGS}?dryRun=All&{query}", body) for query in (*queries, "fieldValidation=No&fieldManager=%01&dryRun=x")]
    steps += [Step("PUT", f"{ONE}?dryRun=All&{query}", _updated({"spec": {"x": 1}})) for query in queries]
    return steps + [Step("PATCH", f"{ONE}?dryRun=All&{query}", patch, MERGE) for query in queries]


def _combined() -> list[Step]:
    """Return steps with warnings of deprecated versions, finalizers and owners besides."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "u"}
    metadata = {"finalizers": ["b", "a.b", "a/b", "b"], "ownerReferences": [owner, owner, owner], "x": 1}
    steps = []
    for version in ("v1", "v1beta1", "v1alpha1"):
        path = THINGS.replace("/v1/", f"/{version}/")
        body = thing("c", metadata, version, spec={"y": 1})
        steps += _modes("POST", path, (body,))
        steps += _modes("PATCH", f"{path}/a", ({"metadata": metadata, "spec": {"z": 1}},), MERGE)
        steps += _modes("PATCH", f"{path}/a/status", ({"metadata": metadata, "status": {"z": 1}},), MERGE)
        steps += _modes("PATCH", f"{path}/a/scale", ({"metadata": {"x": 1}, "spec": {"z": 1}},), MERGE)
    many = {f"{'n' * 300}{index:02}": 1 for index in range(40)}
    return [*steps, Step("POST", THINGS.replace("/v1/", "/v1beta1/") + "?dryRun=All", thing("c", metadata, "v1beta1", spec=many))]


SEQUENCES: Final[dict[str, list[Step]]] = {
    "create": [
        *(_creates(mode, thing("b") | members) for mode in MODES for members in UNKNOWN),
        _creates("Strict", thing("b") | MANY),
        _creates(
            "Strict", b'{"apiVersion":"%(v)s","kind":"Thing","x":{' % VERSION + b",".join(b'"%d":1' % (n // 2) for n in range(250)) + b"}}"
        ),
    ],
    "duplicates": [_creates(mode, body % VERSION) for mode in MODES for body in DUPLICATE],
    "yaml": [_creates(mode, body % VERSION, **YAML) for mode in MODES for body in YAMLS]
    + [step for path in (ONE, f"{ONE}/status") for step in _modes("PUT", path, [body % VERSION for body in YAMLS], YAML)],
    "plain": [Step("POST", f"{PLAINS}?{DRY}={mode}", plain("b") | members) for mode in MODES for members in UNKNOWN[:4]],
    "update": _modes("PUT", ONE, [_updated(members) for members in UNKNOWN[:11]]),
    "status": _modes("PUT", f"{ONE}/status", [_updated(members) for members in UNKNOWN[:11]]),
    "json patch": _modes("PATCH", ONE, OPERATIONS, JSON_PATCH) + _modes("PATCH", f"{ONE}/status", OPERATIONS, JSON_PATCH),
    "merge patch": _modes("PATCH", ONE, MERGES, MERGE) + _modes("PATCH", f"{ONE}/status", MERGES, MERGE),
    "scale": _scales(),
    "definitions": _definitions(),
    "built in": _builtin(),
    "values": _values(),
    "combined": _combined(),
}


@pytest.fixture(scope="module")
def served(pair: Pair) -> Iterator[Pair]:
    """Create the definitions on both servers, with one object of each."""
    with pair.served(*crds()):
        compared(pair, [Step("POST", THINGS, thing(spec={"size": 1})), Step("POST", PLAINS, plain())])
        yield pair


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequence(served: Pair, name: str) -> None:
    """Return equal codes, warnings and bodies for the sequence."""
    compared(served, SEQUENCES[name])

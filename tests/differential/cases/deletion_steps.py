"""Sequences of requests that delete objects and collections."""

from collections.abc import Sequence
from typing import Any, Final

from hack.lib.differential.pair import Step
from tests.support.builders import crds

GROUP: Final = "deletion.example.com"
NOTES: Final = f"/apis/{GROUP}/v1/namespaces/default/notes"
ELSEWHERE: Final = f"/apis/{GROUP}/v1/namespaces/kube-system/notes"
EVERYWHERE: Final = f"/apis/{GROUP}/v1/notes"
STONES: Final = f"/apis/{GROUP}/v1/stones"
HOLD: Final = "example.com/hold"
IGNORE: Final = "ignoreStoreReadErrorWithClusterBreakingPotential"
TABLE: Final = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIALS: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
YAML: Final = {"Content-Type": "application/yaml"}
_OPEN: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_V1: Final[dict[str, Any]] = {"kind": "DeleteOptions", "apiVersion": "v1"}


def crd(plural: str, kind: str, scope: str = "Namespaced") -> dict[str, Any]:
    """Return a definition with the selectable field `spec.a`."""
    spec = _OPEN | {"properties": {"a": {"type": "string"}}}
    schema = {"type": "object", "properties": {"spec": spec, "status": _OPEN}}
    selectable = [{"jsonPath": ".spec.a"}]
    only = crds.version("v1", storage=True, schema=schema, subresources={"status": {}}, selectableFields=selectable)
    return crds.crd(plural, only, kind=kind, group=GROUP, scope=scope)


def note(name: str, *finalizers: str, kind: str = "Note", labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """Return an object with finalizers."""
    metadata = {"name": name, "finalizers": list(finalizers)} if finalizers else {"name": name}
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata | ({"labels": labels} if labels else {}), "spec": spec}


def _delete(path: str, body: Any = None, **headers: str) -> Step:
    return Step("DELETE", path, body, {name.replace("_", "-"): text for name, text in headers.items()})


def _patch(name: str, tail: str = "", base: str = NOTES, **body: Any) -> Step:
    return Step("PATCH", f"{base}/{name}{tail}", body)


def _each(*deletions: Step, finalizers: Sequence[str] = (HOLD,)) -> list[Step]:
    """Return steps that create an object for each deletion, delete it and read the rest."""
    steps: list[Step] = []
    for deletion in deletions:
        name = deletion.path.removeprefix(f"{NOTES}/").partition("?")[0]
        one = f"{NOTES}/{name}"
        steps += [Step("POST", NOTES, note(name, *finalizers)), deletion, Step("GET", one), _patch(name, metadata={"finalizers": None})]
        steps.append(Step("DELETE", one))
    return steps


PRECONDITIONS: Final[list[Any]] = [[], {"uid": 1}, {"uid": ""}, {"resourceVersion": ""}, {"uid": "x"}, {}]
BODIES: Final[list[Any]] = [
    b"{",
    b"[]",
    b"null",
    b"1",
    b"{}",
    {"kind": "DeleteOptions"},
    {"apiVersion": "v1"},
    {"kind": "Note", "apiVersion": "v1"},
    *(_V1 | {"apiVersion": version} for version in (f"{GROUP}/v1", "meta.k8s.io/v1", "x/v9", "a/b/c", "v2")),
    *(_V1 | {"kind": kind} for kind in ("ListOptions", "PatchOptions")),
    _V1 | {"kind": "List", "apiVersion": "meta.k8s.io/v1"},
    _V1 | {"unknown": 1},
    *(_V1 | {"gracePeriodSeconds": seconds} for seconds in ("x", -1, 0, 5, 1.5, 10**20)),
    _V1 | {"orphanDependents": "x"},
    *(_V1 | {"propagationPolicy": policy} for policy in (1, "", "foreground", "Orphan", "Foreground", "Background")),
    *(_V1 | {"dryRun": run} for run in ("All", ["All", "All"], ["None"], [])),
    *(_V1 | {"preconditions": wanted} for wanted in PRECONDITIONS),
    *(_V1 | {IGNORE: value} for value in (True, False, "x")),
    _V1 | {IGNORE: True, "dryRun": ["All"]},
    _V1 | {IGNORE: True, "preconditions": {}},
    _V1 | {IGNORE: True, "propagationPolicy": "Orphan", "orphanDependents": True, "gracePeriodSeconds": 1, "preconditions": {"uid": "x"}},
    _V1 | {"propagationPolicy": "Nope", "orphanDependents": False, "dryRun": ["x"]},
    {"kind": 1, "apiVersion": []},
    b'{"KIND":"DeleteOptions","gracePeriodSeconds":5,"gracePeriodSeconds":7}',
]
DELETING: Final[list[Any]] = [
    b"null",
    {"kind": "DeleteOptions"},
    *(_V1 | {"propagationPolicy": policy} for policy in ("Orphan", "Foreground", "Background")),
    *(_V1 | {"orphanDependents": orphan} for orphan in (True, False)),
    _V1 | {"unknown": 1, "gracePeriodSeconds": 5, "preconditions": {}},
    _V1 | {"dryRun": ["All"]},
    _V1 | {IGNORE: False},
]
QUERIES: Final = [
    *(f"gracePeriodSeconds={text}" for text in ("x", "5", "-3", "")),
    *(f"orphanDependents={text}" for text in ("true", "false", "x", "")),
    *(f"propagationPolicy={text}" for text in ("", "Orphan", "Foreground", "Background", "x")),
    "propagationPolicy=Orphan&orphanDependents=true",
    *(f"dryRun={text}" for text in ("All", "", "x", "All&dryRun=x")),
    "uid=x",
    "uid=",
    "resourceVersion=1",
    "resourceVersion=x&uid=y",
    "preconditions=x",
    *(f"{IGNORE}={text}" for text in ("true", "x", "false", "true&dryRun=All", "true&uid=x&orphanDependents=true")),
    "fieldManager=x&fieldValidation=Nope",
    "labelSelector=a%3Db&fieldSelector=metadata.name%3Dzzz&limit=x",
    "kind=Foo&apiVersion=bar&pretty=true",
]
MEDIA: Final = [
    *(
        _delete(f"{NOTES}/m", body, Content_Type="application/yaml")
        for body in (
            b"kind: DeleteOptions\napiVersion: v1\ngracePeriodSeconds: 5",
            b"propagationPolicy: Orphan",
            b"{a: b: c",
            b"- a",
            b"kind: Foo",
            b"kind: 1",
            b"kind: 1\napiVersion: []",
            b"apiVersion: {}",
            b"gracePeriodSeconds: x",
        )
    ),
    *(_delete(f"{NOTES}/m", b"{}", Content_Type=media) for media in ("text/plain", "application/merge-patch+json", "")),
    *(_delete(f"{NOTES}/m", {}, Accept=media) for media in ("application/yaml", "text/html", TABLE, PARTIAL, PARTIALS)),
]


def _life() -> list[Step]:
    one, two, three = (f"{NOTES}/{name}" for name in ("l", "l2", "l3"))
    return [
        Step("POST", NOTES, note("l", "example.com/a", "example.com/b")),
        _delete(f"{one}?dryRun=All"),
        _delete(one, {"gracePeriodSeconds": 60}),
        Step("GET", one),
        *(_delete(f"{one}?propagationPolicy={policy}") for policy in ("Foreground", "Orphan", "Background")),
        _delete(one),
        _delete(f"{one}?orphanDependents=true"),
        _delete(f"{one}?orphanDependents=false"),
        Step("POST", NOTES, note("l")),
        _patch("l", spec={"a": "x"}),
        _patch("l", metadata={"labels": {"a": "b"}, "annotations": {"c": "d"}}),
        *(_patch("l", metadata={"deletionTimestamp": value}) for value in (None, "2030-01-01T00:00:00Z")),
        *(_patch("l", metadata={"deletionGracePeriodSeconds": value}) for value in (None, 77)),
        _patch("l", "/status", status={"x": 1}),
        _patch("l", metadata={"finalizers": ["example.com/a", "example.com/b", "example.com/c"]}),
        _patch("l", metadata={"finalizers": ["orphan", "example.com/c", "example.com/d", "example.com/a"]}),
        _patch("l", metadata={"finalizers": ["example.com/b", "example.com/a"]}),
        _patch("l", "/status", metadata={"finalizers": ["example.com/c"]}),
        _patch("l", metadata={"finalizers": ["example.com/b"]}),
        _patch("l", "?dryRun=All", metadata={"finalizers": []}),
        _patch("l", "/status", metadata={"finalizers": []}),
        Step("GET", one),
        Step("PUT", one, note("l") | {"metadata": {"name": "l", "resourceVersion": f"{{rv:{one}}}"}}),
        Step("GET", one),
        Step("POST", NOTES, note("l2", HOLD)),
        _delete(two, {"preconditions": {"uid": f"{{uid:{two}}}", "resourceVersion": f"{{rv:{two}}}"}}),
        _patch("l2", metadata={"finalizers": None}, spec={"a": "last"}),
        Step("POST", NOTES, note("l3", "orphan", HOLD)),
        *(
            _delete(f"{three}?{query}")
            for query in ("propagationPolicy=Foreground", "orphanDependents=true", "propagationPolicy=Background")
        ),
        _patch("l3", metadata={"finalizers": None}),
        *(_delete(f"{NOTES}/{name}") for name in ("none", "none?uid=x", "no%2Fne", "B!", "none?dryRun=All", "l/status", "l/scale")),
        _delete(f"/apis/{GROUP}/v1/namespaces/missing/notes/x"),
        _delete(f"{EVERYWHERE}/x"),
        Step("POST", NOTES, note("l4", "foregroundDeletion", "orphan")),
        Step("POST", STONES, note("c", kind="Stone")),
        _delete(f"{STONES}/c?dryRun=All"),
        _delete(f"{STONES}/c?uid={{uid:{STONES}/c}}&resourceVersion={{rv:{STONES}/c}}"),
        Step("POST", STONES, note("c", HOLD, kind="Stone")),
        _delete(STONES),
        _delete(STONES),
        _patch("c", base=STONES, metadata={"finalizers": None}),
        _delete(STONES),
    ]


DRY: Final = [
    "",
    "&labelSelector=l%3D1",
    "&fieldSelector=spec.a%3D1",
    "&fieldSelector=spec.b%3D1",
    "&fieldSelector=metadata.name%3Dn1",
    "&fieldSelector=metadata.namespace%3Dother",
    "&fieldSelector=x",
    "&labelSelector=a+b",
    "&limit=2",
    "&limit=-1",
    "&limit=x",
    "&resourceVersion=0",
    "&resourceVersion=x",
    "&resourceVersionMatch=Exact",
    "&resourceVersion=0&resourceVersionMatch=Exact",
    "&sendInitialEvents=true",
    "&watch=true",
    "&timeoutSeconds=x",
    "&timeoutSeconds=1",
    "&allowWatchBookmarks=true",
    "&uid=x",
    "&labelSelector=l%3D9&uid=x",
    "&propagationPolicy=x",
    f"&{IGNORE}=true",
]
COLLECTION_BODIES: Final[list[Any]] = [
    {"dryRun": ["All"]},
    {"preconditions": {"uid": "x"}},
    {"preconditions": {"resourceVersion": "1"}},
    {"propagationPolicy": "Nope"},
    b"{",
    {"kind": "Foo", "apiVersion": "v1"},
    {IGNORE: True},
]
REAL: Final = ["?limit=1", "?fieldSelector=spec.a%3D2", "?labelSelector=l%3D1", "?labelSelector=l%3D7", "?propagationPolicy=Foreground", ""]


def _collection() -> list[Step]:
    filled = [
        Step("POST", base, note(f"n{index}", *([HOLD] if index == 4 else []), labels={"l": str(index % 2)}, a=str(index % 3)))
        for base in (NOTES, ELSEWHERE)
        for index in range(5)
    ]
    return [
        *filled,
        _delete(EVERYWHERE),
        *(_delete(f"{NOTES}?dryRun=All{query}") for query in DRY),
        *(_delete(NOTES, body) for body in COLLECTION_BODIES),
        *(_delete(f"{NOTES}?dryRun=All", Accept=media) for media in (TABLE, PARTIALS, PARTIAL, "application/yaml", "text/html")),
        Step("GET", EVERYWHERE),
        *(step for query in REAL for step in (_delete(f"{NOTES}{query}"), Step("GET", EVERYWHERE))),
        _delete(ELSEWHERE),
        _delete(ELSEWHERE),
        _delete(f"/apis/{GROUP}/v1/namespaces/missing/notes?limit=3"),
        Step("GET", EVERYWHERE),
    ]


SEQUENCES: Final[dict[str, list[Step]]] = {
    "bodies": [Step("POST", NOTES, note("b", HOLD)), *(_delete(f"{NOTES}/b", body) for body in BODIES), Step("GET", f"{NOTES}/b")],
    "without finalizers": _each(
        *(_delete(f"{NOTES}/d", body) for body in DELETING),
        *(_delete(f"{NOTES}/d?{query}") for query in QUERIES if "=x" not in query),
        *MEDIA[-5:],
        finalizers=(),
    ),
    "queries": _each(*(_delete(f"{NOTES}/q?{query}") for query in QUERIES)),
    "query and body": _each(
        _delete(f"{NOTES}/w?dryRun=All", {}),
        _delete(f"{NOTES}/w?dryRun=x&gracePeriodSeconds=x", _V1),
        _delete(f"{NOTES}/w?propagationPolicy=Foreground", {"propagationPolicy": "Orphan"}),
        _delete(f"{NOTES}/w?orphanDependents=true&uid=x", {"propagationPolicy": "Orphan"}),
    ),
    "media": _each(*MEDIA),
    "life": _life(),
    "collection": _collection(),
}

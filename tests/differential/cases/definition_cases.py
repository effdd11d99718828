"""Valid and invalid definitions for dry-run creation on both servers."""

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tests.support.builders import crds
from tests.support.builders.generated_definitions import KEYWORDS

PATH: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DOMAIN: Final = "defs.example.com"
"""Suffix of all groups of these tests."""

OPEN: Final[dict[str, Any]] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
Crd = dict[str, Any]


def version(name: Any = "v1", **more: Any) -> dict[str, Any]:
    """Return a served version, stored by default."""
    return crds.version(name, storage=True, schema=OPEN) | more


def crd(plural: str = "things", *versions: dict[str, Any], group: str = DOMAIN, kind: str = "Thing", **spec: Any) -> Crd:
    """Return a definition; `spec` replaces members of its spec."""
    names = {"plural": plural, "singular": plural[:-1], "kind": kind, "listKind": f"{kind}List"}
    return crds.crd(plural, *(versions or (version(),)), kind=kind, group=group, **{"names": names} | spec)


def of_schema(schema: Any, **more: Any) -> Crd:
    """Return a definition whose only version has the schema."""
    return crd("things", version(schema={"openAPIV3Schema": schema}, **more))


def of_spec(**schema: Any) -> Crd:
    """Return a definition whose field `spec.x` has the schema."""
    return of_schema({"type": "object", "properties": {"spec": {"type": "object", "properties": {"x": schema}}}})


def _with(obj: Crd, path: str, value: Any) -> Crd:
    changed = copy.deepcopy(obj)
    *parents, last = path.split(".")
    inner: Any = changed
    for key in parents:
        inner = inner[int(key) if isinstance(inner, list) else key]
    if value is None:
        inner.pop(last, None)
    else:
        inner[last] = value
    return changed


def _names() -> Iterator[Crd]:
    yield crd()
    for path, values in _NAMES.items():
        for value in values:
            yield _with(crd(), path, value)
    yield _with(crd(), "metadata", {"name": f"things.{DOMAIN}", "labels": {"a b": "c"}, "finalizers": ["x"]})
    yield _with(crd(), "metadata", {"name": f"things.{DOMAIN}", "namespace": "default"})
    yield crd(group="nodots")
    yield crd(group="Upper.example.com")
    yield crd(group="a" * 300)
    yield crd(group="")
    yield crd(names={})
    yield crd(names={"plural": "things", "kind": "Thing"})
    yield crd(names={"plural": "others", "kind": "Other"})


_NAMES: Final[Mapping[str, tuple[Any, ...]]] = {
    "metadata.name": ("wrong", "things.other.com", "THINGS.defs.example.com", "", None, "a/b", ".."),
    "spec.scope": ("Wrong", "", None, "cluster", "Cluster", 1, []),
    "spec.group": (None, 1, "other.com"),
    "spec.names.plural": ("Things", "", None, "a.b", "x" * 70, 1),
    "spec.names.singular": ("Thing", "", None, "-x", "things"),
    "spec.names.kind": ("thing", "", None, "Thing!", "Thing2", "9Thing", "List", "thingList"),
    "spec.names.listKind": ("Thing", "", None, "Items", "things!"),
    "spec.names.shortNames": ([], ["t", "T"], ["t!"], ["t", "t"], "t", [1], ["things"], [""]),
    "spec.names.categories": (["all", "ALL"], ["a.b"], [""], {}),
    "spec.names.unknown": ("x",),
    "spec.unknown": ("x", {"deep": 1}),
    "unknown": ("x",),
    "spec.names": ([], "x", None),
    "spec": (None, [], "x", {}),
    "status": ({"storedVersions": ["v9"], "conditions": [], "acceptedNames": {"plural": "x", "kind": "X"}}, {}, [], "x"),
    "apiVersion": ("apiextensions.k8s.io/v1beta1", "v1", "", None, "x/y/z"),
    "kind": ("Wrong", "", None),
    "spec.preserveUnknownFields": (True, False, "x"),
    "spec.versions": (None, [], {}, "x", [{}], [None], ["x"], [1]),
}


def _versions() -> Iterator[Crd]:
    yield crd("things", version("v1"), version("v2"))
    yield crd("things", version("v1", storage=False))
    yield crd("things", version("v1", served=False))
    yield crd("things", version("v1"), version("v1", storage=False))
    yield crd("things", version("v1"), version("v2beta1", storage=False, served=False))
    for name in ("V1", "", "a.b", "v1!", "1", "x" * 70, "latest", 1, None):
        yield crd("things", version(name))
    for more in _VERSIONS:
        yield crd("things", version(**more))
    for missing in ("served", "storage", "name", "schema"):
        yield crd("things", {key: value for key, value in version().items() if key != missing})
    yield crd("things", version("v1", schema=None), version("v2", storage=False))


_COLUMN_LISTS: Final[tuple[Any, ...]] = ([], {}, "x", [{}], [None], ["x"])
_FIELD_LISTS: Final[tuple[Any, ...]] = ([], {}, [{}], [None], [{"jsonPath": ""}], [{"jsonPath": 1}], [{"jsonPath": ".spec.x"}])
_VERSIONS: Final[tuple[dict[str, Any], ...]] = (
    {"schema": {}},
    {"schema": None},
    {"schema": []},
    {"schema": {"openAPIV3Schema": None}},
    {"schema": {"openAPIV3Schema": {}}},
    {"schema": {"openAPIV3Schema": []}},
    {"schema": {"openAPIV3Schema": {"type": "array", "items": {"type": "string"}}}},
    {"served": "yes"},
    {"storage": 1},
    {"served": None},
    {"deprecated": True},
    {"deprecated": True, "deprecationWarning": "use v2"},
    {"deprecated": False, "deprecationWarning": "use v2"},
    {"deprecationWarning": "use v2"},
    {"deprecated": True, "deprecationWarning": ""},
    {"deprecated": True, "deprecationWarning": "a" * 300},
    {"deprecated": True, "deprecationWarning": "line\nbreak"},
    {"deprecated": True, "deprecationWarning": "sn\u00f6w \u2603"},
    {"deprecated": True, "deprecationWarning": "bell\u0007"},
    {"deprecated": "x"},
    {"unknown": 1},
    {"subresources": {}},
    {"subresources": {"status": {}}},
    {"subresources": {"status": {"unknown": 1}}},
    {"subresources": {"status": "x"}},
    {"subresources": {"status": None}},
    {"subresources": {"scale": {}}},
    {"subresources": {"scale": None}},
    {"subresources": {"scale": {"specReplicasPath": ".spec.replicas"}}},
    {"subresources": {"scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}}},
    {"subresources": {"scale": {"specReplicasPath": ".spec.a.b", "statusReplicasPath": ".status.x", "labelSelectorPath": ".spec.s"}}},
    {"subresources": {"scale": {"specReplicasPath": "spec.replicas", "statusReplicasPath": "status.replicas"}}},
    {"subresources": {"scale": {"specReplicasPath": ".status.r", "statusReplicasPath": ".spec.r", "labelSelectorPath": ".x"}}},
    {"subresources": {"scale": {"specReplicasPath": ".spec.a[0]", "statusReplicasPath": ".status.a['b']", "labelSelectorPath": ""}}},
    {"subresources": {"scale": {"specReplicasPath": ".spec", "statusReplicasPath": ".status", "labelSelectorPath": ".status"}}},
    {"subresources": {"scale": {"specReplicasPath": 1, "statusReplicasPath": []}}},
    *({"additionalPrinterColumns": value} for value in _COLUMN_LISTS),
    *(
        {"additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ".spec.a"} | column]}
        for column in (
            {"name": ""},
            {"type": "bool"},
            {"type": ""},
            {"type": "date"},
            {"type": "integer", "format": "int32"},
            {"format": "int32"},
            {"format": "nonsense"},
            {"jsonPath": ""},
            {"jsonPath": "spec.a"},
            {"jsonPath": ".spec["},
            {"jsonPath": ".spec.a[?(@.b=='c')].d"},
            {"jsonPath": "{.spec.a}"},
            {"jsonPath": ".spec..a"},
            {"jsonPath": ".spec.a[*]"},
            {"jsonPath": ".spec.a[-1:]"},
            {"jsonPath": '.spec.a["b"]'},
            {"jsonPath": ".spec.a.b\\.c/d"},
            {"jsonPath": ".metadata.annotations.a\\.b"},
            {"priority": 5},
            {"priority": -1},
            {"priority": "x"},
            {"priority": 1.5},
            {"description": "d", "unknown": 1},
            {"name": 1},
        )
    ),
    {"additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ".a"}, {"name": "A", "type": "string", "jsonPath": ".b"}]},
    *({"selectableFields": value} for value in _FIELD_LISTS),
)


def _selectable() -> Iterator[Crd]:
    fields = {
        "text": {"type": "string"},
        "number": {"type": "integer"},
        "flag": {"type": "boolean"},
        "ratio": {"type": "number"},
        "list": {"type": "array", "items": {"type": "string"}},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "either": {"x-kubernetes-int-or-string": True},
        "deep": {"type": "object", "properties": {"er": {"type": "string", "enum": ["a"]}}},
    }
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    paths = [f".spec.{name}" for name in fields] + [
        ".spec.deep.er",
        ".spec.none",
        "spec.text",
        ".spec",
        ".",
        ".metadata.name",
        ".metadata.labels.x",
        ".apiVersion",
        ".kind",
        ".spec.list[0]",
        ".spec.map.a",
        ".spec.map['a']",
        "{.spec.text}",
        ".spec.text\\.x",
        "x" * 300,
        "..",
        ".spec..text",
        ".spec.text.",
    ]
    for path in paths:
        yield of_schema(schema, selectableFields=[{"jsonPath": path}])
    yield of_schema(schema, selectableFields=[{"jsonPath": ".spec.text"}, {"jsonPath": ".spec.text"}])
    yield of_schema(schema, selectableFields=[{"jsonPath": ".spec.text"}] * 9)
    yield of_schema(schema, selectableFields=[{"jsonPath": f".spec.{name}", "unknown": 1} for name in fields])
    yield crd("things", version(selectableFields=[{"jsonPath": ".spec.text"}]))


def _approval() -> Iterator[Crd]:
    values = (
        None,
        "",
        "https://github.com/kubernetes/kubernetes/pull/1111",
        "unapproved, experimental-only",
        "unapproved",
        "nonsense",
        "http://",
        "github.com/x",
        "https:///x",
    )
    for group in ("defs.k8s.io", "defs.kubernetes.io", "k8s.io", "x-k8s.io", "defs.x-k8s.io", "kubernetes.io", DOMAIN):
        for value in values:
            made = crd(group=group)
            if value is not None:
                made["metadata"]["annotations"] = {"api-approved.kubernetes.io": value}
            yield made


def _conversion() -> Iterator[Crd]:
    hook = {"clientConfig": {"url": "https://example.com/convert"}, "conversionReviewVersions": ["v1"]}
    yield crd(conversion={"strategy": "Webhook", "webhook": hook})
    service: dict[str, Any] = {"namespace": "ns", "name": "svc"}
    configs: tuple[Any, ...] = (
        {},
        None,
        [],
        {"url": "http://example.com"},
        {"url": "https://"},
        {"url": ""},
        {"url": "::"},
        {"url": "https://user:secret@example.com/x?y#z"},
        {"url": "https://example.com", "caBundle": "AAAA"},
        {"url": "https://example.com", "caBundle": "!!"},
        {"url": "https://example.com", "service": service},
        {"service": service},
        {"service": {**service, "port": 0, "path": "x"}},
        {"service": {**service, "port": 70000, "path": "/a//b"}},
        {"service": {**service, "path": "/ok/"}},
        {"service": {**service, "path": "/"}},
        {"service": {**service, "path": ""}},
        {"service": {**service, "path": "/A!"}},
        {"service": {"name": "", "namespace": ""}},
        {"service": {}},
        {"service": service, "unknown": 1},
        {"service": service, "caBundle": ""},
    )
    for config in configs:
        yield crd(conversion={"strategy": "Webhook", "webhook": hook | {"clientConfig": config}})
    reviews: tuple[Any, ...] = ([], None, ["v1beta1"], ["v2"], ["v2", "v1"], ["v1", "v1"], ["V1!"], [""], "v1", ["a" * 70, "v1"])
    for versions in reviews:
        yield crd(conversion={"strategy": "Webhook", "webhook": hook | {"conversionReviewVersions": versions}})
    for conversion in (*_STRATEGIES, {"strategy": "None", "webhook": hook}, {"webhook": hook}):
        yield crd(conversion=conversion)
    yield crd(conversion={"strategy": "Webhook", "webhook": hook}, preserveUnknownFields=True)


_STRATEGIES: Final[tuple[Any, ...]] = (
    {},
    {"strategy": "None"},
    {"strategy": ""},
    {"strategy": "Nonsense"},
    {"strategy": "None", "webhook": {}},
    {"strategy": "Webhook"},
    {"strategy": "Webhook", "webhook": {}},
    {"strategy": 1},
    [],
    "x",
    {"strategy": "None", "unknown": 1},
)


def _roots() -> Iterator[Crd]:
    """Return definitions with each keyword at the root of a schema beside a status subresource, and below it, also empty."""
    for keyword, values in KEYWORDS.items():
        for value in (*values, [], {}, None):
            yield of_schema({"type": "object", "properties": {"spec": {"type": "object"}}} | {keyword: value}, subresources={"status": {}})
            yield of_spec(**({"type": "object"} | {keyword: value}))


def _from(table: str) -> Callable[[], Iterator[Crd]]:
    def cases() -> Iterator[Crd]:
        from tests.differential.cases import definition_schemas

        for schema in getattr(definition_schemas, table):
            yield of_spec(**schema) if table != "WHOLE" else of_schema(schema)

    return cases


TABLES: Final[dict[str, Callable[[], Iterator[Crd]]]] = {
    "names": _names,
    "versions": _versions,
    "selectable fields": _selectable,
    "approval": _approval,
    "conversion": _conversion,
    "roots": _roots,
    "whole schemas": _from("WHOLE"),
    "keywords": _from("KEYWORDS"),
    "junctors": _from("JUNCTORS"),
    "extensions": _from("EXTENSIONS"),
    "defaults": _from("DEFAULTS"),
}

"""Stored definitions that today's validation refuses, as an older server stored them, and requests for them."""

from collections.abc import Iterator
from typing import Any, Final

from hack.lib.differential.pair import Step
from tests.differential.cases.definition_cases import PATH, Crd

GROUP: Final = "stored.example.com"
_OPEN: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_MERGE: Final = {"Content-Type": "application/merge-patch+json"}
_TIME: Final = "2024-01-01T00:00:00Z"


def stored(plural: str, group: str = GROUP, status: Any = None, **spec: Any) -> Crd:
    """Return a definition as stored, in v1beta1 with accepted names; `spec` replaces members of its spec."""
    kind = plural[:-1].title()
    names = {"plural": plural, "singular": plural[:-1], "kind": kind, "listKind": f"{kind}List"}
    own = f"{plural}.{group}"
    members = {
        "group": own,
        "version": "v1",
        "names": names,
        "scope": "Namespaced",
        "versions": [{"name": "v1", "served": True, "storage": True}],
        "conversion": {"strategy": "None"},
        "preserveUnknownFields": False,
    }
    uid = f"00000000-0000-4000-8000-{int.from_bytes(plural.encode()[:5], 'big'):012x}"
    return {
        "kind": "CustomResourceDefinition",
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "metadata": {"name": f"{plural}.{own}", "uid": uid, "generation": 1, "creationTimestamp": _TIME},
        "spec": members | spec,
        "status": {"conditions": [*_ACCEPTED], "acceptedNames": names, "storedVersions": ["v1"]} | (status or {}),
    }


def _condition(kind: str, reason: str, message: str) -> dict[str, str]:
    return {"type": kind, "status": "True", "lastTransitionTime": _TIME, "reason": reason, "message": message}


_ACCEPTED: Final = (
    _condition("NamesAccepted", "NoConflicts", "no conflicts found"),
    _condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
)


def of(**schema: Any) -> dict[str, Any]:
    """Return the validation of a version with the schema in the field `spec`."""
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}}


_ITEMS: Final = {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "string"}}}
_MAP: Final = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
_HOOK: Final = {"clientConfig": {"url": "https://example.com/convert"}, "conversionReviewVersions": ["v1"]}
_FIELDS: Final = {f"f{index}": {"type": "string"} for index in range(10)}


def _ruled(rule: str, message: str | None = None, **more: Any) -> dict[str, Any]:
    extra = {} if message is None else {"messageExpression": message}
    return {"type": "string", "x-kubernetes-validations": [{"rule": rule, **extra}]} | more


STORED: Final[dict[str, Crd]] = {
    "no structure": stored("opens", preserveUnknownFields=True, validation=of(properties={"a": {"minimum": 1}})),
    "no schema": stored("bares", preserveUnknownFields=True),
    "no schema, pruned": stored("prunes"),
    "unreadable schema": stored("ids", preserveUnknownFields=True, validation=of(id="x")),
    "unknown type": stored("types", preserveUnknownFields=True, validation=of(type="thing")),
    "structured and open": stored("halfs", preserveUnknownFields=True, validation=of(type="object")),
    "granular set": stored("sets", validation=of(type="array", items={"type": "object"}, **{"x-kubernetes-list-type": "set"})),
    "optional map keys": stored("maps", validation=of(items=_ITEMS, **_MAP)),
    "nullable items": stored("nulls", validation=of(items=_ITEMS | {"nullable": True, "required": ["k"]}, **_MAP)),
    "unpruned default": stored("drops", validation=of(type="object", properties={"a": {"type": "string"}}, default={"b": 1})),
    "invalid default": stored("wrongs", validation=of(type="object", properties={"a": {"type": "string", "default": 1}})),
    "bad pattern": stored(
        "regexs",
        validation=of(type="string", pattern="("),
        status={"conditions": [*_ACCEPTED, _condition("NonStructuralSchema", "Violations", "long ago")]},
    ),
    "many selectable fields": stored(
        "manys",
        validation=of(type="object", properties=_FIELDS),
        selectableFields=[{"jsonPath": f".spec.f{index}"} for index in range(10)],
    ),
    "unknown review version": stored(
        "hooks",
        validation={"openAPIV3Schema": _OPEN},
        conversion={"strategy": "Webhook", "webhookClientConfig": _HOOK["clientConfig"], "conversionReviewVersions": ["v9"]},
    ),
    "malformed bundle": stored(
        "cas",
        validation={"openAPIV3Schema": _OPEN},
        conversion={
            "strategy": "Webhook",
            "webhookClientConfig": {"url": "https://example.com", "caBundle": "AAAA"},
            "conversionReviewVersions": ["v1"],
        },
    ),
    "lost stored version": stored("losts", validation={"openAPIV3Schema": _OPEN}, status={"storedVersions": ["v0", "v1"]}),
    "no stored version": stored("nones", validation={"openAPIV3Schema": _OPEN}, status={"storedVersions": []}),
    "no approval": stored("frees", group="stored.k8s.io", validation={"openAPIV3Schema": _OPEN}),
    "strange columns": stored(
        "columns",
        validation={"openAPIV3Schema": _OPEN},
        additionalPrinterColumns=[{"name": "A", "type": "thing", "JSONPath": "spec.a"}],
    ),
    "costly rule": stored("rules", validation=of(properties={"a": _ruled("self.contains(self)", maxLength=9000)}, type="object")),
    "costly message": stored(
        "texts", validation=of(properties={"a": _ruled("true", "self.replace('', self) + 'a'", maxLength=4000)}, type="object")
    ),
    "costly rules in total": stored("totals", validation=of(type="array", items=_ruled("self.contains('abc')"))),
}
"""Stored definitions by their error."""


def requests(crd: Crd) -> Iterator[Step]:
    """Return the requests for a stored definition and for its objects."""
    name, group = crd["metadata"]["name"], crd["spec"]["group"]
    one = f"{PATH}/{name}"
    yield Step("GET", one, retry=True)
    if crd["spec"]["conversion"] == {"strategy": "None"}:
        yield from _objects(crd)
    yield Step("PATCH", one, {"metadata": {"labels": {"a": "b"}}}, _MERGE)
    yield Step("PATCH", one, {"spec": {"names": {"categories": ["all"]}}}, _MERGE)
    yield Step("GET", one, retry=True)
    for change in _CHANGES:
        yield Step("PATCH", f"{one}?dryRun=All", {"spec": change}, _MERGE)
    for path, value in _ADDED:
        yield Step("PATCH", f"{one}?dryRun=All", [{"op": "add", "path": path, "value": value}], _JSON)
    yield Step("PATCH", f"{one}?dryRun=All", [{"op": "remove", "path": "/spec/versions/0/selectableFields/0"}], _JSON)
    yield Step("PATCH", f"{one}/status", {"status": {"storedVersions": ["v1"]}}, _MERGE)
    yield Step("PATCH", f"{one}?dryRun=All", {"metadata": {"labels": {"a": "c"}}}, _MERGE)
    yield Step("GET", f"/openapi/v3/apis/{group}/v1", retry=True)
    yield Step("PATCH", one, {"spec": {"conversion": {"strategy": "None", "webhook": None}}}, _MERGE)
    yield Step("PATCH", one, [{"op": "add", "path": "/spec/versions/0/schema", "value": {"openAPIV3Schema": _OPEN}}], _JSON)
    yield Step("GET", one, retry=True)


def _objects(crd: Crd) -> Iterator[Step]:
    spec = crd["spec"]
    objects = f"/apis/{spec['group']}/v1/namespaces/default/{spec['names']['plural']}"
    body = {"apiVersion": f"{spec['group']}/v1", "kind": spec["names"]["kind"], "metadata": {"name": "a"}, "spec": {"a": "x"}, "more": 1}
    yield Step("GET", objects, retry=True)
    yield Step("POST", objects, body)
    yield Step("GET", f"{objects}/a")


_JSON: Final = {"Content-Type": "application/json-patch+json"}
_SECOND: Final = {"name": "v8", "served": True, "storage": False, "schema": of(type="thing", **{"$ref": "#/y"})}
_ADDED: Final = (
    ("/spec/versions/0/schema", of(type="array")),
    ("/spec/versions/0/schema/openAPIV3Schema/description", "changed"),
    ("/spec/versions/-", _SECOND),
)
_CHANGES: Final[tuple[dict[str, Any], ...]] = (
    {"preserveUnknownFields": True},
    {"preserveUnknownFields": False},
    {"scope": "Cluster"},
    {"names": {"kind": "Other"}},
    {"names": {"listKind": "Others"}},
    {"conversion": {"strategy": "Webhook", "webhook": _HOOK}},
    {"conversion": {"strategy": "Webhook", "webhook": _HOOK | {"conversionReviewVersions": ["v7"]}}},
    {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://example.com", "caBundle": "BBBB"}}}},
    {"conversion": {"strategy": "None"}},
)

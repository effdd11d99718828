"""The workload: one CRD with defaults and a CEL rule, objects of about 2 KB, and the rows of the table."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hack.lib.definitions import definition

GROUP: Final = "bench.apiext.dev"
NAMESPACE: Final = "default"
OBJECT_BYTES: Final = 2048
CLIENTS: Final = 8
WATCHERS: Final = 100
MANY_WATCHERS: Final = 1000
_MANY_EVENTS: Final = 50_000
"""Events to many watchers: more writes at once would end the watches of kube-apiserver."""


def collection(plural: str) -> str:
    """Return the path of the objects of a definition."""
    return f"/apis/{GROUP}/v1/namespaces/{NAMESPACE}/{plural}"


COLLECTION: Final = collection("loads")

_TABLE: Final = "application/json;as=Table;g=meta.k8s.io;v=v1"


_UNCHANGED: Final = 100
"""Objects of the rows without a change: an applier owns its fields from its first request on, which changes the object."""
_MANY: Final = {"Watchers": MANY_WATCHERS, "Requests": _MANY_EVENTS // MANY_WATCHERS, "Seconds": 60}


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of request."""

    name: str
    run: dict[str, Any] = field(default_factory=dict)
    unit: str = "requests"


_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["sent"],
            "x-kubernetes-validations": [{"rule": "self.minimum <= self.maximum", "message": "minimum above maximum"}],
            "properties": {
                "sent": {"type": "string"},
                "payload": {"type": "string", "maxLength": 4096},
                "minimum": {"type": "integer", "default": 1, "minimum": 0},
                "maximum": {"type": "integer", "default": 10, "maximum": 1000},
                "mode": {"type": "string", "default": "Auto", "enum": ["Auto", "Manual"]},
                "ports": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {
                            "name": {"type": "string", "pattern": "^[a-z0-9-]+$"},
                            "port": {"type": "integer", "default": 80},
                            "protocol": {"type": "string", "default": "TCP"},
                        },
                    },
                },
            },
        },
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}, "seen": {"type": "string"}}},
    },
}


def crd(plural: str = "loads", kind: str = "Load") -> dict[str, Any]:
    """Return the CRD under load."""
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _SCHEMA},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {"name": "Mode", "type": "string", "jsonPath": ".spec.mode"},
            {"name": "Max", "type": "integer", "jsonPath": ".spec.maximum"},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
    }
    return definition(GROUP, plural, kind, version)


def large_yaml() -> bytes:
    """Return a YAML body of nearly 3 MiB, the largest that kube-apiserver reads, which takes long to parse."""
    return b"apiVersion: %b/v1\nkind: Load\nmetadata: {name: large}\nspec: {sent: now}\nextra: [%b]" % (GROUP.encode(), b"1," * 300_000)


def body(prefix: str, *, revision: bool = False) -> str:
    """Return an object of about OBJECT_BYTES as a template of the load generator; its label `shard` has a hundred values."""
    metadata: dict[str, Any] = {"name": f"{prefix}-{{i}}", "namespace": NAMESPACE, "labels": {"app": "bench", "shard": "s{h}"}}
    if revision:
        metadata["resourceVersion"] = "{rv}"
    ports = [{"name": f"port-{number}", "port": 8000 + number} for number in range(10)]
    return filled("Load", metadata, {"sent": "{t}", "ports": ports})


def filled(kind: str, metadata: dict[str, Any], spec: dict[str, Any]) -> str:
    """Return an object as JSON with a payload in its spec: about OBJECT_BYTES including the server's additions."""
    spec = spec | {"payload": ""}
    obj = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata, "spec": spec}
    spec["payload"] = "x" * (OBJECT_BYTES - len(json.dumps(obj, separators=(",", ":"))) - 350)
    return json.dumps(obj, separators=(",", ":"))


def rows(objects: int, seconds: float) -> list[Row]:
    """Return the rows in the order in which they run: the first creates the objects, the last deletes them."""
    one = f"{COLLECTION}/load-{{i}}"
    timed = {"Seconds": seconds, "Objects": objects}
    writes = timed | {"Revisions": f"{COLLECTION}?resourceVersion=0"}
    merge, apply = "application/merge-patch+json", "application/apply-patch+yaml"
    patch, status = '{"spec":{"sent":"{t}"}}', '{"status":{"ready":true,"seen":"{t}"}}'
    applied, default = _configuration(sent="{t}"), _configuration(mode="Auto")
    unchanging = timed | {"Method": "PATCH", "Objects": min(objects, _UNCHANGED), "Body": default}
    return [
        Row("create", _post(objects)),
        Row("get", timed | {"Method": "GET", "Path": one}),
        Row("get of what is missing", timed | {"Method": "GET", "Path": f"{one}-missing", "Code": 404}),
        Row("discovery", timed | {"Method": "GET", "Path": f"/apis/{GROUP}/v1"}),
        Row("update", writes | {"Method": "PUT", "Path": one, "Body": body("load", revision=True), "ContentType": "application/json"}),
        Row("merge patch", timed | {"Method": "PATCH", "Path": one, "Body": patch, "ContentType": merge}),
        Row("status patch", timed | {"Method": "PATCH", "Path": f"{one}/status", "Body": status, "ContentType": merge}),
        Row("apply", timed | {"Method": "PATCH", "Path": f"{one}?fieldManager=bench&force=true", "Body": applied, "ContentType": apply}),
        Row("merge patch without a change", unchanging | {"Path": one, "ContentType": merge}),
        Row("apply without a change", unchanging | {"Path": f"{one}?fieldManager=other", "ContentType": apply}),
        Row("list of all", timed | {"Method": "GET", "Path": COLLECTION}),
        Row("list, limit=500", timed | {"Method": "GET", "Path": f"{COLLECTION}?limit=500", "Pages": True}),
        Row("list by label", timed | {"Method": "GET", "Path": f"{COLLECTION}?labelSelector=shard%3Ds{{h}}"}),
        Row("table", timed | {"Method": "GET", "Path": COLLECTION, "Accept": _TABLE}),
        Row("watch fan-out", _fanout(one, patch, merge, timed), unit="events"),
        Row("watch fan-out, beside one that reads nothing", _fanout(one, patch, merge, timed) | {"Stopped": 1}, unit="events"),
        Row(f"watch fan-out, {MANY_WATCHERS:,} watchers", _fanout(one, patch, merge, timed) | _MANY, unit="events"),
        Row("delete", {"Requests": objects, "Seconds": 300, "Objects": objects, "Method": "DELETE", "Path": one}),
    ]


def _configuration(**spec: str) -> str:
    return json.dumps({"apiVersion": f"{GROUP}/v1", "kind": "Load", "spec": spec})


def rows_of_clients(objects: int, seconds: float, numbers: Sequence[int]) -> list[Row]:
    """Return some of the rows for each number of clients, in the order in which they run."""
    chosen = ("create", "get", "merge patch", "list, limit=500", "delete")
    by_name = {row.name: row for row in rows(objects, seconds)}
    return [Row(f"{name}, {count:,} clients", by_name[name].run | {"Clients": count}) for count in numbers for name in chosen]


def fill(objects: int) -> dict[str, Any]:
    """Return a run that creates the objects of the memory figure."""
    return _post(objects)


def _post(objects: int) -> dict[str, Any]:
    return {
        "Requests": objects,
        "Seconds": 300,
        "Objects": objects,
        "Method": "POST",
        "Path": COLLECTION,
        "Body": body("load"),
        "ContentType": "application/json",
    }


def _fanout(one: str, patch: str, merge: str, timed: dict[str, Any]) -> dict[str, Any]:
    return timed | {
        "Method": "PATCH",
        "Path": one,
        "Body": patch,
        "ContentType": merge,
        "Watchers": WATCHERS,
        "WatchPath": f"{COLLECTION}?watch=true",
        "WatchList": f"{COLLECTION}?limit=1",
    }

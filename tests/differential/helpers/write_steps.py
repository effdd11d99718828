"""Builds the definitions and requests of sequences about writes."""

import json
from collections.abc import Sequence
from typing import Any, Final

from hack.lib.differential.pair import Step
from tests.support.builders.crds import crd as build_crd

DOMAIN: Final = "writes.probe.example.com"
THINGS: Final = f"/apis/{DOMAIN}/v1/namespaces/default/things"
PLAINS: Final = f"/apis/{DOMAIN}/v1/plains"

MERGE: Final = {"Content-Type": "application/merge-patch+json"}
JSON_PATCH: Final = {"Content-Type": "application/json-patch+json"}
STRATEGIC: Final = {"Content-Type": "application/strategic-merge-patch+json"}
APPLY: Final = {"Content-Type": "application/apply-patch+yaml"}
YAML: Final = {"Content-Type": "application/yaml"}
MODES: Final = ("Ignore", "Warn", "Strict")

TEXT: Final = {"type": "string"}
WHOLE: Final = {"type": "integer"}
_ITEM: Final[dict[str, Any]] = {"type": "object", "properties": {"name": TEXT, "deep": {"type": "object", "properties": {"a": WHOLE}}}}
_POD: Final[dict[str, Any]] = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"node": TEXT}}}}
_SPEC: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "size": WHOLE,
        "replicas": WHOLE,
        "text": TEXT,
        "nested": _ITEM,
        "list": {"type": "array", "items": _ITEM},
        "map": {"type": "object", "additionalProperties": _ITEM},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"known": _ITEM}},
        "pod": _POD | {"x-kubernetes-embedded-resource": True},
        "pods": {"type": "array", "items": {"type": "object", "x-kubernetes-embedded-resource": True, **_POD}},
        "anything": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        "chosen": TEXT | {"default": "first"},
    },
}
_STATUS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"phase": TEXT, "replicas": WHOLE, "selector": TEXT, "nested": _ITEM},
}
SCHEMA: Final = {"openAPIV3Schema": {"type": "object", "properties": {"spec": _SPEC, "status": _STATUS, "extra": TEXT}}}
SCALE: Final = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}
SUBRESOURCES: Final = {"status": {}, "scale": SCALE}


def crd(kind: str, versions: Sequence[dict[str, Any]], scope: str = "Namespaced") -> dict[str, Any]:
    """Return a definition whose first version is stored."""
    listed = [{"served": True, "storage": index == 0, "schema": SCHEMA} | version for index, version in enumerate(versions)]
    return build_crd(f"{kind.lower()}s", *listed, kind=kind, group=DOMAIN, scope=scope)


def crds() -> list[dict[str, Any]]:
    """Return two definitions: Thing has subresources and deprecated versions, Plain has neither and is cluster-scoped."""
    warned = {"name": "v1alpha1", "deprecated": True, "deprecationWarning": 'say "v1", \\ or é'}
    versions: list[dict[str, Any]] = [{"name": "v1"}, {"name": "v1beta1", "deprecated": True}, warned]
    return [crd("Thing", [version | {"subresources": SUBRESOURCES} for version in versions]), crd("Plain", [{"name": "v1"}], "Cluster")]


def thing(name: str = "a", /, metadata: dict[str, Any] | None = None, version: str = "v1", **members: Any) -> dict[str, Any]:
    """Return a Thing; `members` are added at its root."""
    return {"apiVersion": f"{DOMAIN}/{version}", "kind": "Thing", "metadata": {"name": name} | (metadata or {})} | members


def plain(name: str = "a", /, metadata: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
    """Return a Plain; `members` are added at its root."""
    return thing(name, metadata, **members) | {"kind": "Plain"}


def scale(name: str = "a", /, metadata: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
    """Return a Scale."""
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name} | (metadata or {})} | members


def current(path: str) -> dict[str, str]:
    """Return metadata with the current resourceVersion of the object at a path."""
    return {"resourceVersion": f"{{rv:{path}}}"}


def operations(*steps: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Return a JSON patch from tuples of operation, path and, if needed, value or from."""
    made: list[dict[str, Any]] = []
    for operation, path, *more in steps:
        made.append({"op": operation, "path": path})
        if more:
            made[-1]["from" if operation in {"move", "copy"} else "value"] = more[0]
    return made


def applied(path: str, body: Any, options: str = "fieldManager=x") -> Step:
    """Return an apply."""
    return Step("PATCH", f"{path}?{options}", body.encode() if isinstance(body, str) else body, APPLY)


def encoded(value: Any) -> bytes:
    """Return the value encoded as JSON."""
    return json.dumps(value).encode()

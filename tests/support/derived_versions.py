"""Earlier versions of real CRDs that have one, made up by taking rules back in their schema.

The rules say how objects of the earlier version become objects of the real one. `earlier_version` does the opposite with the schema of the
real version: it puts each field to where the rules find it. CEL rules of the schema, which name fields, are left out.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from apiext.resources.conversion.rules.model import API_VERSION, KIND
from hack.lib.real_crds import without_rules

Schema = dict[str, Any]
EARLIER: Final = "v1alpha0"
_TEXT: Final = {"type": "string"}

RULES: Final[dict[str, Sequence[dict[str, Any]]]] = {
    "certificates.cert-manager.io": [
        {"move": {"from": "spec.organization", "to": "spec.subject.organizations"}},
        {"move": {"from": "spec.keyAlgorithm", "to": "spec.privateKey.algorithm"}},
        {"enum": {"path": "spec.privateKey.algorithm", "map": {"rsa": "RSA", "ecdsa": "ECDSA", "ed25519": "Ed25519"}}},
        {"move": {"from": "spec.keySize", "to": "spec.privateKey.size"}},
        {"rename": {"path": "spec.issuer", "to": "issuerRef"}},
    ],
    "nodepools.karpenter.sh": [
        {"move": {"from": "spec.consolidateAfter", "to": "spec.disruption.consolidateAfter"}},
        {"listToMap": {"path": "spec.limits", "key": "resource", "value": "quantity"}},
    ],
    "ec2nodeclasses.karpenter.k8s.aws": [
        {"listToMap": {"path": "spec.tags", "key": "key", "value": "value"}},
        {"wrap": {"path": "spec.placementGroupSelector", "field": "id"}},
        {"move": {"from": "spec.httpTokens", "to": "spec.metadataOptions.httpTokens"}},
    ],
    "nodeclaims.karpenter.sh": [
        {
            "split": {
                "path": "spec.nodeClass",
                "to": ["spec.nodeClassRef.group", "spec.nodeClassRef.kind", "spec.nodeClassRef.name"],
                "separator": "/",
            }
        },
        {"unwrap": {"path": "spec.expireAfter", "field": "duration"}},
    ],
    "scaledobjects.keda.sh": [
        {"rename": {"path": "spec.scaleTargetRef.deploymentName", "to": "name"}},
        {"unwrap": {"path": "spec.pollingInterval", "field": "seconds"}},
        {"rename": {"path": "spec.triggers[*].source", "to": "metadata"}},
    ],
    "triggerauthentications.keda.sh": [
        {"mapToList": {"path": "spec.env", "key": "parameter"}},
        {"move": {"from": "spec.vaultAddress", "to": "spec.hashiCorpVault.address"}},
    ],
    "brokers.eventing.knative.dev": [
        {"move": {"from": "spec.configName", "to": "spec.config.name"}},
        {"move": {"from": "spec.retries", "to": "spec.delivery.retry"}},
    ],
}
"""From the earlier version to the real one, by CRD."""


def with_earlier_version(crd: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a CRD of RULES with an earlier version, and the Conversion between its two versions."""
    name = crd["metadata"]["name"]
    hub = without_rules(next(version for version in crd["spec"]["versions"] if version["storage"]))
    schema = without_rules(hub["schema"]["openAPIV3Schema"])
    for rule in reversed(RULES[name]):
        for kind, body in rule.items():
            _INVERSES[kind](schema, **{"source" if key == "from" else key: value for key, value in body.items()})
    # selectable fields are paths of the real version
    kept = {member: value for member, value in hub.items() if member != "selectableFields"}
    earlier = kept | {"name": EARLIER, "storage": False, "schema": {"openAPIV3Schema": schema}}
    document = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": name},
        "spec": {"hub": hub["name"], "spokes": [{"version": EARLIER, "rules": list(RULES[name])}]},
    }
    return crd | {"spec": crd["spec"] | {"versions": [hub, earlier]}}, document


def _parent(schema: Schema, path: str) -> tuple[Schema, str]:
    """Return the schema of the object around a field, made where it is missing, and the name of the field."""
    *steps, name = path.split(".")
    for step in steps:
        found = schema.setdefault("properties", {}).setdefault(step.removesuffix("[*]"), {"type": "object"})
        schema = found["items"] if step.endswith("[*]") else found
    return schema, name


def _take(schema: Schema, path: str) -> Schema:
    parent, name = _parent(schema, path)
    parent["required"] = [each for each in parent.get("required", ()) if each != name]
    if isinstance(parent.get("default"), dict):
        parent["default"] = {each: value for each, value in parent["default"].items() if each != name}
    taken: Schema = parent["properties"].pop(name)
    around = path.rpartition(".")[0]
    if not parent["properties"] and around and not around.endswith("[*]"):
        _take(schema, around)
    return taken


def _put(schema: Schema, path: str, field: Schema) -> None:
    parent, name = _parent(schema, path)
    parent.setdefault("properties", {})[name] = field


def _move(schema: Schema, source: str, to: str) -> None:
    _put(schema, source, _take(schema, to))


def _rename(schema: Schema, path: str, to: str) -> None:
    _move(schema, path, f"{path.rpartition('.')[0]}.{to}")


def _enum(schema: Schema, path: str, map: dict[str, str]) -> None:
    field = _take(schema, path)
    _put(schema, path, field | {"enum": [before for before, after in map.items() if after in field["enum"]]})


def _wrap(schema: Schema, path: str, field: str) -> None:
    _put(schema, path, _take(schema, path)["properties"][field])


def _unwrap(schema: Schema, path: str, field: str) -> None:
    _put(schema, path, {"type": "object", "properties": {field: _take(schema, path)}})


def _split(schema: Schema, path: str, to: list[str], separator: str) -> None:
    for part in to:
        _take(schema, part)
    _put(schema, path, _TEXT | {"description": f"Parts between {separator}."})


def _list_to_map(schema: Schema, path: str, key: str, value: str) -> None:
    item = {"type": "object", "required": [key], "properties": {key: _TEXT, value: _take(schema, path)["additionalProperties"]}}
    _put(schema, path, {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]})


def _map_to_list(schema: Schema, path: str, key: str) -> None:
    item = _take(schema, path)["items"]
    _take({"properties": {"item": item}}, f"item.{key}")
    _put(schema, path, {"type": "object", "additionalProperties": item})


_INVERSES: Final[dict[str, Callable[..., None]]] = {
    "move": _move,
    "rename": _rename,
    "enum": _enum,
    "wrap": _wrap,
    "unwrap": _unwrap,
    "split": _split,
    "listToMap": _list_to_map,
    "mapToList": _map_to_list,
}

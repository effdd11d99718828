"""A CRD with two versions, and its rules."""

from typing import Any, Final

from apiext.operator.conversionserver.cluster_objects import STRATEGY, WEBHOOK
from apiext.resources.conversion.rules.model import API_VERSION, KIND

Json = dict[str, Any]

V1: Final[Json] = {
    "size": {"type": "integer"},
    "region": {"type": "string"},
    "image": {"type": "string"},
    "mode": {"type": "string"},
    "tags": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string"}, "value": {"type": "string"}},
        },
    },
    "note": {"type": "string"},
}
V2: Final[Json] = {
    "capacity": {"type": "integer"},
    "placement": {"type": "object", "properties": {"region": {"type": "string"}, "zone": {"type": "string"}}},
    "repository": {"type": "string"},
    "tag": {"type": "string"},
    "mode": {"type": "string"},
    "tags": {"type": "object", "additionalProperties": {"type": "string"}},
}
RULES: Final[list[Json]] = [
    {"rename": {"path": "spec.size", "to": "capacity"}},
    {"move": {"from": "spec.region", "to": "spec.placement.region"}},
    {"split": {"path": "spec.image", "to": ["spec.repository", "spec.tag"], "separator": ":", "last": True}},
    {"enum": {"path": "spec.mode", "map": {"fast": "Fast", "slow": "Slow"}}},
    {"listToMap": {"path": "spec.tags", "key": "name", "value": "value"}},
]
"""From v1 to v2. `note` and `zone` are carried."""


def gadget_crd(group: str) -> Json:
    """Return a CRD with two versions, stored in v2, that asks for the webhook."""
    versions = [
        {
            "name": version,
            "served": True,
            "storage": version == "v2",
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}},
        }
        for version, fields in (("v1", V1), ("v2", V2))
    ]
    names = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"}
    metadata = {"name": f"gadgets.{group}", "annotations": {STRATEGY: WEBHOOK}}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": versions}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata, "spec": spec}


def gadget_rules(group: str, rules: list[Json] | None = None) -> Json:
    """Return the Conversion object of the CRD."""
    spokes = [{"version": "v1", "rules": RULES if rules is None else rules}]
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": f"gadgets.{group}"}, "spec": {"hub": "v2", "spokes": spokes}}

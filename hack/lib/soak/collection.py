"""The definition that hostile clients use, and the objects that fill it."""

from typing import Any, Final

from hack.lib import definitions

GROUP: Final = "hostile.apiext.dev"
API_VERSION: Final = f"{GROUP}/v1"
KIND: Final = "Widget"
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMESPACES: Final = "/api/v1/namespaces"
NAMESPACE: Final = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "attacked"}}
KEPT: Final = f"/apis/{GROUP}/v1/namespaces/default/widgets"
"""Permanent objects; the ordinary client reads one of them."""
ATTACKED: Final = f"/apis/{GROUP}/v1/namespaces/attacked/widgets"
"""Objects of the hostile clients, deleted after each input."""
ALL: Final = f"/apis/{GROUP}/v1/widgets"
FORMATS: Final = (
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
    "date-time",
    "k8s-short-name",
    "k8s-long-name",
)

_OPEN: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_KEYED: Final = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
_SPEC: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "shard": {"type": "string"},
        "payload": {"type": "string"},
        "count": {"type": "integer", "default": 1},
        "any": _OPEN,
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": _KEYED},
        "numbers": {"type": "array", "items": {"type": "integer", "maximum": 0}},
        "name": {"type": "string", "pattern": "^([a-z]+-?)*[a-z]$", "maxLength": 10_000_000},
        "formats": {"type": "object", "properties": {name: {"type": "string", "format": name} for name in FORMATS}},
    },
}


def definition(plural: str = "widgets", kind: str = KIND, *, spec: dict[str, Any] | None = None, **version: Any) -> dict[str, Any]:
    """Return a definition of the group; `version` adds members to its only version."""
    schema = {"type": "object", "properties": {"spec": spec or _SPEC}}
    served = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    columns = [{"name": "Shard", "type": "string", "jsonPath": ".spec.shard"}]
    selectable = [] if spec else [{"jsonPath": ".spec.shard"}]
    fields = {"additionalPrinterColumns": columns, "selectableFields": selectable}
    return definitions.definition(GROUP, plural, kind, {**served, **fields, **version})


def widget(name: str, /, kind: str = KIND, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """Return an object."""
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name, "labels": labels or {}}, "spec": spec}


def ordinary(number: int) -> dict[str, Any]:
    """Return one of the permanent objects, of about 1 KB."""
    labels = {"app": "soak", "shard": f"s{number % 100}", "number": str(number)}
    return widget(f"kept-{number}", labels=labels, shard=f"s{number % 100}", payload="x" * 700)

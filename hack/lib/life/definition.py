"""The definition that hack/life changes, in each of its states, and the conversion between its two versions."""

from typing import Any, Final

from hack.lib import definitions

GROUP: Final = "life.apiext.dev"
PLURAL: Final = "routes"
KIND: Final = "Route"
OLD: Final = "v1alpha1"
NEW: Final = "v1beta1"
NAME: Final = f"{PLURAL}.{GROUP}"
LARGEST_PORT: Final = 49_151
"""The largest port that the tightened schema allows."""
PROTOCOL_ANNOTATION: Final = f"{GROUP}/protocol"
"""The annotation in which the old version keeps the protocol, for which it has no field."""

_TAGS: Final = {"type": "object", "additionalProperties": {"type": "string"}}
_COUNTER: Final = {"type": "integer", "minimum": 0}
_STATUS: Final = {"type": "object", "properties": {"observed": {"type": "integer"}}}


def path(version: str, name: str = "", subresource: str = "") -> str:
    """Return the path of the collection in a version, or of an object or subresource in it."""
    parts = [f"/apis/{GROUP}/{version}/namespaces/default/{PLURAL}", name, subresource]
    return "/".join(part for part in parts if part)


def crd(*, stored: str, served: tuple[str, ...], dropped: str = "", tight: bool = False, webhook: dict[str, Any] | None = None) -> Any:
    """Return the definition with one stored version. `webhook` is the clientConfig of its conversion; without it there is none."""
    versions = {OLD: _version(OLD, _OLD_SPEC), NEW: _version(NEW, _new_spec(tight=tight))}
    versions.pop(dropped, None)
    for name, version in versions.items():
        version |= {"served": name in served, "storage": name == stored}
    found = definitions.definition(GROUP, PLURAL, KIND, versions[stored])
    found["spec"]["versions"] = list(versions.values())
    review = {"clientConfig": webhook, "conversionReviewVersions": ["v1"]}
    found["spec"]["conversion"] = {"strategy": "Webhook", "webhook": review} if webhook else {"strategy": "None"}
    return found


def conversion() -> dict[str, Any]:
    """Return the Conversion whose rules do the same as `convert`."""
    address = {"path": "spec.address", "to": ["spec.host", "spec.port"], "separator": ":", "last": True}
    protocol = {"from": f"metadata.annotations['{PROTOCOL_ANNOTATION}']", "to": "spec.protocol"}
    return {
        "apiVersion": "conversions.apiext.dev/v1alpha1",
        "kind": "Conversion",
        "metadata": {"name": NAME},
        "spec": {"hub": NEW, "spokes": [{"version": OLD, "rules": [{"split": address}, {"move": protocol}]}]},
    }


def _version(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "required": ["spec"], "properties": {"spec": spec, "status": _STATUS}}
    columns = [{"name": "Counter", "type": "integer", "jsonPath": ".spec.counter"}]
    return {
        "name": name,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": columns,
    }


_OLD_SPEC: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["address"],
    "properties": {
        "address": {"type": "string", "pattern": "^[a-z0-9.-]+:[0-9]{1,5}$"},
        "counter": _COUNTER,
        "tags": _TAGS,
    },
}


def _new_spec(*, tight: bool) -> dict[str, Any]:
    port: dict[str, Any] = {"type": "integer", "minimum": 1, "maximum": LARGEST_PORT if tight else 65_535}
    spec: dict[str, Any] = {
        "type": "object",
        "required": ["host", "port"],
        "properties": {
            "host": {"type": "string", "maxLength": 253},
            "port": port,
            "protocol": {"type": "string", "enum": ["TCP", "UDP"], "default": "TCP"},
            "counter": _COUNTER,
            "tags": _TAGS,
        },
    }
    if tight:
        rule = "!has(self.counter) || !has(oldSelf.counter) || self.counter >= oldSelf.counter"
        spec["x-kubernetes-validations"] = [{"rule": rule, "message": "the counter must not go back"}]
    return spec


def convert(obj: dict[str, Any], version: str) -> dict[str, Any]:
    """Return an object in another version; no field is lost on the way back."""
    spec, metadata = dict(obj.get("spec") or {}), dict(obj["metadata"])
    annotations = dict(metadata.get("annotations") or {})
    if version == NEW and "address" in spec:
        host, _, port = spec.pop("address").rpartition(":")
        spec |= {"host": host, "port": int(port)}
        if protocol := annotations.pop(PROTOCOL_ANNOTATION, ""):
            spec["protocol"] = protocol
    elif version == OLD and "host" in spec:
        spec["address"] = f"{spec.pop('host')}:{spec.pop('port', 0)}"
        if protocol := spec.pop("protocol", ""):
            annotations[PROTOCOL_ANNOTATION] = protocol
    if annotations:
        metadata["annotations"] = annotations
    else:
        metadata.pop("annotations", None)
    return obj | {"apiVersion": f"{GROUP}/{version}", "metadata": metadata, "spec": spec}

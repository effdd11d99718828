"""CompositeResourceDefinitions of Crossplane."""

from typing import Any

Json = dict[str, Any]


def xrd_version(name: str, *fields: str, served: bool = True, referenceable: bool = True) -> Json:
    """Return a version with fields of type string in its spec."""
    spec = {"type": "object", "properties": {field: {"type": "string"} for field in fields}}
    schema = {"type": "object", "properties": {"spec": spec}}
    return {"name": name, "served": served, "referenceable": referenceable, "schema": {"openAPIV3Schema": schema}}


def xrd(*versions: Json, claim: bool = False, version: str = "v1", scope: str | None = None) -> Json:
    """Return the XRD xservers.example.com; `version` is that of Crossplane's API."""
    spec: Json = {"group": "example.com", "names": {"kind": "XServer", "plural": "xservers"}, "versions": list(versions)}
    if claim:
        spec["claimNames"] = {"kind": "Server", "plural": "servers"}
    if scope is not None:
        spec["scope"] = scope
    head = {"apiVersion": f"apiextensions.crossplane.io/{version}", "kind": "CompositeResourceDefinition"}
    return {**head, "metadata": {"name": "xservers.example.com"}, "spec": spec}

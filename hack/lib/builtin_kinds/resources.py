"""The built-in resources of the reference, from its discovery."""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from hack.lib.servers.caller import Caller

_SUBRESOURCES: Final = ("approval", "ephemeralcontainers", "resize", "scale", "status")
"""Subresources that are reads and updates of a stored object."""
_OTHER_FORMS: Final = (
    ("autoscaling", "v1", "horizontalpodautoscalers"),
    ("events.k8s.io", "v1", "events"),
)
"""Resources whose objects are stored in the form of another version."""
_DEFINITIONS: Final = "apiextensions.k8s.io"
"""The group of CRDs, which apiext always serves."""
_AGGREGATOR: Final = {"group": "apiregistration.k8s.io", "version": "v1", "groupPriorityMinimum": 20000, "versionPriority": 1}
"""The group of APIServices has none itself, and is listed first."""


def read_resources(client: Caller, kinds: Iterable[str]) -> list[dict[str, Any]]:
    """Return all group versions with stored resources; `kinds` are all that the reference's scheme knows."""
    hashes = {_hash(kind): kind for kind in sorted(kinds)}
    services = client.must("GET", "/apis/apiregistration.k8s.io/v1/apiservices")["items"]
    found = []
    for spec in (_AGGREGATOR, *(service["spec"] for service in services if service["spec"].get("group") != _DEFINITIONS)):
        group, version = spec.get("group", ""), spec["version"]
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        listed = client.must("GET", path)["resources"]
        resources = [_resource(one, listed, group, version, hashes) for one in listed if _is_stored(one, group, version)]
        if resources:
            priorities = {"groupPriority": spec["groupPriorityMinimum"], "versionPriority": spec["versionPriority"]}
            found.append({"group": group, "version": version, **priorities, "resources": resources})
    return sorted(found, key=lambda one: (-one["groupPriority"], one["group"], -one["versionPriority"]))


def _is_stored(resource: Mapping[str, Any], group: str, version: str) -> bool:
    name = resource["name"]
    return "/" not in name and {"create", "list"} <= set(resource["verbs"]) and (group, version, name) not in _OTHER_FORMS


def _resource(
    resource: Mapping[str, Any], listed: Iterable[Mapping[str, Any]], group: str, version: str, hashes: Mapping[str, str]
) -> dict[str, Any]:
    """Return the data of a resource. `hashed` is the kind that its storageVersionHash stands for."""
    hashed = hashes[resource["storageVersionHash"]]
    data = {
        "plural": resource["name"],
        "singular": resource["singularName"],
        "kind": resource["kind"],
        "namespaced": resource["namespaced"],
        "verbs": sorted(resource["verbs"]),
        "shortNames": resource.get("shortNames", []),
        "categories": resource.get("categories", []),
        "subresources": list(_subresources(resource["name"], listed)),
        "hashed": hashed if hashed != f"{group}/{version}/{resource['kind']}" else "",
    }
    return {name: member for name, member in data.items() if member not in ([], "")}


def _subresources(plural: str, listed: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for one in listed:
        parent, _, name = one["name"].partition("/")
        if parent == plural and name in _SUBRESOURCES:
            yield {"name": name, "verbs": sorted(one["verbs"]), "kind": one["kind"]}


def _hash(kind: str) -> str:
    """Return a storageVersionHash."""
    return base64.b64encode(hashlib.sha256(kind.encode()).digest()[:8]).decode()

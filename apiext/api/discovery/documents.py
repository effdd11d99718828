"""The discovery documents as JSON objects, with the fields in the order of the reference.

Mirrors meta/v1 (APIVersions, APIGroupList, APIGroup, APIResourceList) and apidiscovery.k8s.io/v2 (APIGroupDiscoveryList).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from apiext.api.discovery.resources import APIGroup, APIResource, APISubresource, APIVersion
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.gvk import GroupVersion, GroupVersionKind

AGGREGATED: Final = GroupVersionKind("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList")
"""The kind of the aggregated document."""


def api_versions(core: APIGroup) -> Object:
    """Return the document at /api, without the addresses of the server."""
    return {"kind": "APIVersions", "versions": [served.version for served in core.versions]}


def server_addresses(address: str) -> Object:
    """Return the field of the document at /api with the server's host and port."""
    return {"serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]}


def api_group_list(groups: Iterable[APIGroup]) -> Object:
    """Return the document at /apis, without the core group."""
    ordered = sorted((group for group in groups if group.name), key=_sort_key)
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(group) for group in ordered]}


def _sort_key(group: APIGroup) -> tuple[int, str]:
    """Return the sort key of a group: its priority, then the first name of its APIServices, as kube-aggregator sorts."""
    return -group.priority, min(f"{served.version}.{group.name}" for served in group.versions)


def api_group(group: APIGroup) -> Object:
    """Return the document at /apis/<group>."""
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(group)}


def _group(group: APIGroup) -> Object:
    versions = [{"groupVersion": f"{group.name}/{served.version}", "version": served.version} for served in group.versions]
    return {"name": group.name, "versions": versions, "preferredVersion": versions[0]}


def api_resource_list(group: str, served: APIVersion) -> Object:
    """Return the document at /apis/<group>/<version>; the core group's document has no apiVersion, as upstream."""
    resources: list[Object] = []
    for resource in served.resources:
        resources.append(_resource(resource))
        resources += [_subresource(resource, sub) for sub in resource.subresources]
    return {
        "kind": "APIResourceList",
        **({"apiVersion": "v1"} if group else {}),
        "groupVersion": str(GroupVersion(group, served.version)),
        "resources": resources,
    }


def _resource(resource: APIResource) -> Object:
    return {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.response_kind.kind,
        "verbs": resource.verbs,
        **_names(resource),
        **({"storageVersionHash": resource.storage_version_hash} if resource.storage_version_hash else {}),
    }


def _names(resource: APIResource) -> Object:
    names = {"shortNames": resource.short_names, "categories": resource.categories}
    return {field: listed for field, listed in names.items() if listed}


def _subresource(resource: APIResource, sub: APISubresource) -> Object:
    foreign = sub.response_kind[:2] not in {resource.response_kind[:2], ("", "")}
    return {
        "name": f"{resource.plural}/{sub.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        **({"group": sub.response_kind.group, "version": sub.response_kind.version} if foreign else {}),
        "kind": sub.response_kind.kind,
        "verbs": sub.verbs,
    }


def group_discovery_list(groups: Iterable[APIGroup]) -> Object:
    """Return the aggregated document."""
    items = [_group_discovery(group) for group in groups]
    return {"kind": AGGREGATED.kind, "apiVersion": AGGREGATED.api_version, "metadata": {}, "items": items}


def _group_discovery(group: APIGroup) -> Object:
    return {
        "metadata": {"name": group.name} if group.name else {},
        "versions": [
            {
                "version": served.version,
                "resources": [_resource_discovery(resource) for resource in served.resources],
                "freshness": "Current",
            }
            for served in group.versions
        ],
    }


def _resource_discovery(resource: APIResource) -> Object:
    subresources = [
        {"subresource": sub.name, "responseKind": sub.response_kind._asdict(), "verbs": sub.verbs} for sub in resource.subresources
    ]
    return {
        "resource": resource.plural,
        "responseKind": resource.response_kind._asdict(),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": resource.verbs,
        **_names(resource),
        **({"subresources": subresources} if subresources else {}),
    }

"""The built-in resources of the data, beside those that apiext always serves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.builtin_resources import BuiltinGroupVersion, BuiltinResource, BuiltinSubresource
from apiext.base.meta.generated import archive
from apiext.base.meta.gvk import GroupVersion, GroupVersionKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SCALE: Final = GroupVersionKind("autoscaling", "v1", "Scale")
_STORED_GROUPS: Final = frozenset({"apiregistration.k8s.io"})
"""Groups with a server of their own in kube-apiserver."""
_STORED_NAMES: Final = {
    "endpoints": "services/endpoints",
    "ingresses": "ingress",
    "nodes": "minions",
    "replicationcontrollers": "controllers",
    "services": "services/specs",
}
"""Resources that are stored under another name (kubernetes pkg/kubeapiserver/default_storage_factory_builder.go)."""

_RETURNED_ON_DELETION: Final = frozenset(
    {
        *("persistentvolumeclaims", "persistentvolumes", "pods", "podtemplates", "resourcequotas", "services"),
        *("csidrivers", "csinodes", "storageclasses", "volumeattachments", "volumeattributesclasses"),
        *("deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices"),
    }
)
"""Resources whose deletion returns the object (ReturnDeletedObject in kubernetes pkg/registry)."""


def further_resources(served: Iterable[BuiltinGroupVersion]) -> tuple[BuiltinGroupVersion, ...]:
    """Return the group versions of the data without the resources of `served`."""
    own = {resource.resource for one in served for resource in one.resources}
    found = []
    for data in archive.read("resources"):
        version = GroupVersion(data["group"], data["version"])
        resources = tuple(resource for each in data["resources"] if (resource := _resource(version, each)).resource not in own)
        if resources:
            found.append(BuiltinGroupVersion(version, data["groupPriority"], data["versionPriority"], resources))
    return tuple(found)


def joined(served: Iterable[BuiltinGroupVersion], further: Iterable[BuiltinGroupVersion]) -> tuple[BuiltinGroupVersion, ...]:
    """Return the group versions with the resources of both."""
    found = {one.group_version: one for one in further}
    for one in served:
        more = found.get(one.group_version)
        resources = one.resources if more is None else tuple(sorted((*one.resources, *more.resources), key=lambda each: each.plural))
        found[one.group_version] = BuiltinGroupVersion(one.group_version, one.group_priority, one.version_priority, resources)
    return tuple(found.values())


def _resource(version: GroupVersion, data: Mapping[str, Any]) -> BuiltinResource:
    kind = GroupVersionKind(*version, data["kind"])
    return BuiltinResource(
        kind=kind,
        plural=data["plural"],
        singular=data["singular"],
        namespaced=data["namespaced"],
        verbs=tuple(data["verbs"]),
        short_names=tuple(data.get("shortNames", ())),
        categories=tuple(data.get("categories", ())),
        subresources=tuple(
            BuiltinSubresource(each["name"], tuple(each["verbs"]), SCALE if each["kind"] == SCALE.kind else kind)
            for each in sorted(data.get("subresources", ()), key=lambda each: each["name"])
        ),
        delete_returns_object=data["plural"] in _RETURNED_ON_DELETION,
        stored_group=version.group if version.group in _STORED_GROUPS else "",
        stored_name=_STORED_NAMES.get(data["plural"], ""),
        hashed_kind=GroupVersionKind(*data["hashed"].split("/")) if "hashed" in data else None,
    )

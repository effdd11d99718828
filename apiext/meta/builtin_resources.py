"""The resources that are part of the server itself, described as plain data.

Whoever serves, discovers or documents built-in resources reads them here; custom resources come from definitions.
Mirrors what kube-apiserver's storage providers and apiextensions-apiserver install, as its discovery reports it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from apiext.meta.gvk import GroupVersion, GroupVersionKind, GroupVersionResource

_ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_STATUS_VERBS: Final = ("get", "patch", "update")


@dataclass(frozen=True, slots=True)
class BuiltinSubresource:
    """A path below an object of a built-in resource."""

    name: str
    verbs: tuple[str, ...]
    """Sorted, as discovery lists them."""
    kind: GroupVersionKind
    """What its bodies are."""


@dataclass(frozen=True, slots=True)
class BuiltinResource:
    """One built-in resource in the one version it has."""

    kind: GroupVersionKind
    plural: str
    singular: str
    namespaced: bool
    verbs: tuple[str, ...] = _ALL_VERBS
    """Sorted, as discovery lists them."""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[BuiltinSubresource, ...] = ()
    """Sorted by name."""
    hashed_kind: GroupVersionKind | None = None
    """What discovery's storageVersionHash is made of, where that is not `kind`."""

    @property
    def list_kind(self) -> str:
        """The kind of a list of it."""
        return f"{self.kind.kind}List"

    @property
    def resource(self) -> GroupVersionResource:
        """The resource as a path names it."""
        return GroupVersionResource(self.kind.group, self.kind.version, self.plural)

    def subresource(self, name: str) -> BuiltinSubresource | None:
        """The subresource of that name."""
        return next((sub for sub in self.subresources if sub.name == name), None)


@dataclass(frozen=True, slots=True)
class BuiltinGroupVersion:
    """A group and version that the server has on its own, with its place among all groups."""

    group_version: GroupVersion
    group_priority: int
    """Groups of a higher number are listed first; custom groups have 1000."""
    version_priority: int
    resources: tuple[BuiltinResource, ...]
    """Sorted by plural."""


_NAMESPACE: Final = GroupVersionKind("", "v1", "Namespace")
_CRD: Final = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")

EVENTS: Final = BuiltinResource(
    kind=GroupVersionKind("", "v1", "Event"),
    plural="events",
    singular="event",
    namespaced=True,
    short_names=("ev",),
)

NAMESPACES: Final = BuiltinResource(
    kind=_NAMESPACE,
    plural="namespaces",
    singular="namespace",
    namespaced=False,
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
    short_names=("ns",),
    subresources=(
        BuiltinSubresource("finalize", ("update",), _NAMESPACE),
        BuiltinSubresource("status", _STATUS_VERBS, _NAMESPACE),
    ),
)

CUSTOM_RESOURCE_DEFINITIONS: Final = BuiltinResource(
    kind=_CRD,
    plural="customresourcedefinitions",
    singular="customresourcedefinition",
    namespaced=False,
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    subresources=(BuiltinSubresource("status", _STATUS_VERBS, _CRD),),
    # the reference still hashes the version it stored first
    hashed_kind=GroupVersionKind("apiextensions.k8s.io", "v1beta1", "CustomResourceDefinition"),
)

CORE_V1: Final = BuiltinGroupVersion(GroupVersion("", "v1"), 18000, 1, (EVENTS, NAMESPACES))
APIEXTENSIONS_V1: Final = BuiltinGroupVersion(GroupVersion("apiextensions.k8s.io", "v1"), 16700, 15, (CUSTOM_RESOURCE_DEFINITIONS,))

BUILTINS: Final = (CORE_V1, APIEXTENSIONS_V1)
"""All that the server has standing alone."""
AGGREGATED_BUILTINS: Final = (APIEXTENSIONS_V1,)
"""What it has behind a kube-apiserver, which has namespaces and events itself."""


def find(resource: GroupVersionResource, builtins: tuple[BuiltinGroupVersion, ...] = BUILTINS) -> BuiltinResource | None:
    """The built-in resource that a path names."""
    for group_version in builtins:
        if group_version.group_version == resource.group_version:
            return next((member for member in group_version.resources if member.plural == resource.resource), None)
    return None

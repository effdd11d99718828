"""The groups, versions and resources of the server, in the order of discovery.

Mirrors apiextensions-apiserver pkg/apiserver/customresource_discovery_controller.go.
"""

from __future__ import annotations

import base64
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from apiext.base.meta.builtin_resources import BuiltinGroupVersion, BuiltinResource
from apiext.base.meta.gvk import GroupVersionKind
from apiext.base.meta.kube_version import kube_aware_key
from apiext.resources.definitions.definition import Definition, Version

_CUSTOM_GROUP_PRIORITY: Final = 1000
_CUSTOM_VERSION_PRIORITY: Final = 100
# in the reference's order
_VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_TERMINATING_VERBS: Final = ("delete", "deletecollection", "get", "list", "watch")
_SUBRESOURCE_VERBS: Final = ("get", "patch", "update")
_SCALE: Final = GroupVersionKind("autoscaling", "v1", "Scale")


@dataclass(frozen=True, slots=True)
class APISubresource:
    """A subresource in one version."""

    name: str
    response_kind: GroupVersionKind
    """Group and version are empty for a built-in resource, as upstream."""
    verbs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class APIResource:
    """A resource in one version."""

    plural: str
    singular: str
    response_kind: GroupVersionKind
    """As in APISubresource."""
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    storage_version_hash: str
    subresources: tuple[APISubresource, ...]


@dataclass(frozen=True, slots=True)
class APIVersion:
    """A version of a group with its resources, sorted by plural."""

    version: str
    resources: tuple[APIResource, ...]


@dataclass(frozen=True, slots=True)
class APIGroup:
    """A group with its versions, the preferred one first."""

    name: str
    priority: int
    versions: tuple[APIVersion, ...]


def storage_version_hash(kind: GroupVersionKind) -> str:
    """Return a hash that changes with the storage version of a resource."""
    digest = hashlib.sha256(f"{kind.group}/{kind.version}/{kind.kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


def collect(definitions: Iterable[Definition], builtins: Sequence[BuiltinGroupVersion]) -> tuple[APIGroup, ...]:
    """Return all groups by priority and name. The core group has an empty name.

    A built-in version replaces a custom one of the same name.
    """
    versions: dict[str, dict[str, list[APIResource]]] = defaultdict(lambda: defaultdict(list))
    group_priority: dict[str, int] = {}
    version_priority: dict[tuple[str, str], int] = {}
    for definition in definitions:
        if not definition.is_established:
            continue
        for served in definition.served_versions:
            versions[definition.group][served.name].append(_custom(definition, served))
            group_priority[definition.group] = _CUSTOM_GROUP_PRIORITY
    for builtin in builtins:
        group, version = builtin.group_version
        versions[group][version] = [_builtin(resource) for resource in builtin.resources]
        group_priority[group] = builtin.group_priority
        version_priority[group, version] = builtin.version_priority
    return tuple(
        APIGroup(name, group_priority[name], _ordered(name, versions[name], version_priority))
        for name in sorted(versions, key=lambda group: (-group_priority[group], group))
    )


def _ordered(group: str, versions: dict[str, list[APIResource]], priorities: dict[tuple[str, str], int]) -> tuple[APIVersion, ...]:
    names = sorted(versions, key=kube_aware_key)
    names.sort(key=lambda name: -priorities.get((group, name), _CUSTOM_VERSION_PRIORITY))
    return tuple(APIVersion(name, tuple(sorted(versions[name], key=lambda resource: resource.plural))) for name in names)


def _custom(definition: Definition, served: Version) -> APIResource:
    names = definition.names
    kind = GroupVersionKind(definition.group, served.name, names.kind)
    subresources = []
    if served.has_status:
        subresources.append(APISubresource("status", kind, _SUBRESOURCE_VERBS))
    if served.scale is not None:
        subresources.append(APISubresource("scale", _SCALE, _SUBRESOURCE_VERBS))
    return APIResource(
        plural=names.plural,
        singular=names.singular,
        response_kind=kind,
        namespaced=definition.namespaced,
        verbs=_TERMINATING_VERBS if definition.is_terminating else _VERBS,
        short_names=names.short_names,
        categories=names.categories,
        storage_version_hash=_custom_hash(definition),
        subresources=tuple(subresources),
    )


def _custom_hash(definition: Definition) -> str:
    """Return the storage version hash, empty if the storage version is not served, as upstream."""
    stored = definition.storage_version
    if not stored.served:
        return ""
    kind = definition.head["spec"]["names"]["kind"]
    return storage_version_hash(GroupVersionKind(definition.group, stored.name, kind))


def _builtin(resource: BuiltinResource) -> APIResource:
    # what is not stored has no storage version
    stored = "get" in resource.verbs
    return APIResource(
        plural=resource.plural,
        singular=resource.singular,
        response_kind=GroupVersionKind("", "", resource.kind.kind),
        namespaced=resource.namespaced,
        verbs=resource.verbs,
        short_names=resource.short_names,
        categories=resource.categories,
        storage_version_hash=storage_version_hash(resource.hashed_kind or resource.kind) if stored else "",
        subresources=tuple(APISubresource(sub.name, _response_kind(resource, sub.kind), sub.verbs) for sub in resource.subresources),
    )


def _response_kind(resource: BuiltinResource, kind: GroupVersionKind) -> GroupVersionKind:
    """Return the kind of a subresource; of the resource's own group and version, only the kind is shown."""
    return GroupVersionKind("", "", kind.kind) if kind.group_version == resource.kind.group_version else kind

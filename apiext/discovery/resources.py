"""All groups, versions and resources of the server, in the order in which discovery lists them.

Mirrors apiextensions-apiserver pkg/apiserver/customresource_discovery_controller.go.
"""

from __future__ import annotations

import base64
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from apiext.definitions.definition import Definition, Version
from apiext.meta.builtin_resources import BuiltinGroupVersion, BuiltinResource
from apiext.meta.gvk import GroupVersionKind
from apiext.meta.version import kube_aware_key

CUSTOM_GROUP_PRIORITY: Final = 1000
CUSTOM_VERSION_PRIORITY: Final = 100
# in the order in which the reference lists them for custom resources
_VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_TERMINATING_VERBS: Final = ("delete", "deletecollection", "get", "list", "watch")
_SUBRESOURCE_VERBS: Final = ("get", "patch", "update")
_SCALE: Final = GroupVersionKind("autoscaling", "v1", "Scale")


@dataclass(frozen=True, slots=True)
class Subresource:
    """A path below an object."""

    name: str
    kind: str
    response_kind: GroupVersionKind
    verbs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource in one version."""

    plural: str
    singular: str
    kind: str
    response_kind: GroupVersionKind
    """Group and version are empty for a built-in resource."""
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    storage_version_hash: str
    subresources: tuple[Subresource, ...]


@dataclass(frozen=True, slots=True)
class ServedVersion:
    """A version of a group with its resources, sorted by plural."""

    version: str
    resources: tuple[Resource, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """A group with its versions, the preferred one first."""

    name: str
    priority: int
    versions: tuple[ServedVersion, ...]

    def version(self, name: str) -> ServedVersion | None:
        """The version of that name."""
        return next((served for served in self.versions if served.version == name), None)


def storage_version_hash(kind: GroupVersionKind) -> str:
    """What tells clients that the stored version changed; a client must not read anything else from it."""
    digest = hashlib.sha256(f"{kind.group}/{kind.version}/{kind.kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


def collect(definitions: Iterable[Definition], builtins: Sequence[BuiltinGroupVersion]) -> tuple[Group, ...]:
    """All groups by their priority; a built-in version hides a custom one of the same name.

    The core group, whose name is empty, is among them.
    """
    versions: dict[str, dict[str, list[Resource]]] = defaultdict(lambda: defaultdict(list))
    group_priority: dict[str, int] = {}
    version_priority: dict[tuple[str, str], int] = {}
    for definition in definitions:
        if not definition.is_established:
            continue
        for served in definition.served_versions:
            versions[definition.group][served.name].append(_custom(definition, served))
            group_priority[definition.group] = CUSTOM_GROUP_PRIORITY
    for builtin in builtins:
        group, version = builtin.group_version
        versions[group][version] = [_builtin(resource) for resource in builtin.resources]
        group_priority[group] = builtin.group_priority
        version_priority[group, version] = builtin.version_priority
    return tuple(
        Group(name, group_priority[name], _ordered(name, versions[name], version_priority))
        for name in sorted(versions, key=lambda group: (-group_priority[group], group))
    )


def _ordered(group: str, versions: dict[str, list[Resource]], priorities: dict[tuple[str, str], int]) -> tuple[ServedVersion, ...]:
    names = sorted(versions, key=kube_aware_key)
    names.sort(key=lambda name: -priorities.get((group, name), CUSTOM_VERSION_PRIORITY))
    return tuple(ServedVersion(name, tuple(sorted(versions[name], key=lambda resource: resource.plural))) for name in names)


def _custom(definition: Definition, served: Version) -> Resource:
    names = definition.names
    kind = GroupVersionKind(definition.group, served.name, names.kind)
    subresources = []
    if served.has_status:
        subresources.append(Subresource("status", names.kind, kind, _SUBRESOURCE_VERBS))
    if served.scale is not None:
        subresources.append(Subresource("scale", _SCALE.kind, _SCALE, _SUBRESOURCE_VERBS))
    return Resource(
        plural=names.plural,
        singular=names.singular,
        kind=names.kind,
        response_kind=kind,
        namespaced=definition.namespaced,
        verbs=_TERMINATING_VERBS if definition.is_terminating else _VERBS,
        short_names=names.short_names,
        categories=names.categories,
        storage_version_hash=_custom_hash(definition),
        subresources=tuple(subresources),
    )


def _custom_hash(definition: Definition) -> str:
    """Empty where the stored version is not served: the reference looks for it among the served ones only."""
    stored = definition.storage_version
    if not stored.served:
        return ""
    kind = definition.head["spec"]["names"]["kind"]
    return storage_version_hash(GroupVersionKind(definition.group, stored.name, kind))


def _builtin(resource: BuiltinResource) -> Resource:
    return Resource(
        plural=resource.plural,
        singular=resource.singular,
        kind=resource.kind.kind,
        response_kind=GroupVersionKind("", "", resource.kind.kind),
        namespaced=resource.namespaced,
        verbs=resource.verbs,
        short_names=resource.short_names,
        categories=resource.categories,
        storage_version_hash=storage_version_hash(resource.hashed_kind or resource.kind),
        subresources=tuple(
            Subresource(sub.name, sub.kind.kind, GroupVersionKind("", "", sub.kind.kind), sub.verbs) for sub in resource.subresources
        ),
    )

"""The operations of built-in resources and of discovery.

Mirrors apiserver pkg/endpoints (installer.go, discovery/*.go) and pkg/server/routes/version.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from apiext.meta.builtin_resources import BuiltinGroupVersion, BuiltinResource
from apiext.openapi import naming
from apiext.openapi.operations import BUILTIN_TYPES, DocumentedResource, Operation

_ACTIONS: Final = {
    "list": ("list",),
    "create": ("post",),
    "deletecollection": ("deletecollection",),
    "get": ("get",),
    "update": ("put",),
    "delete": ("delete",),
    "patch": ("patch",),
}


def documented(group_version: BuiltinGroupVersion) -> list[DocumentedResource]:
    """Return the resources of a group and version."""
    return [_documented(resource) for resource in group_version.resources]


def _documented(resource: BuiltinResource) -> DocumentedResource:
    subresources = tuple((sub.name, naming.builtin_model_name(sub.kind), _actions(sub.verbs)) for sub in resource.subresources)
    return DocumentedResource(
        kind=resource.kind,
        plural=resource.plural,
        namespaced=resource.namespaced,
        model=naming.builtin_model_name(resource.kind),
        list_model=naming.builtin_model_name(resource.kind._replace(kind=resource.list_kind)),
        subresources=subresources,
        actions=_actions(resource.verbs),
        builtin=True,
    )


def discovery(group_versions: Iterable[BuiltinGroupVersion]) -> dict[str, tuple[Operation, ...]]:
    """Return the operations of discovery by the path of their v3 document."""
    found: dict[str, tuple[Operation, ...]] = {
        "version": (_discovery("/version/", "getCodeVersion", "version", naming.VERSION_INFO, types=BUILTIN_TYPES[:1]),),
        "apis": (_discovery("/apis/", "getAPIVersions", "apis", f"{naming.META}.APIGroupList"),),
    }
    for builtin in group_versions:
        group_version = builtin.group_version
        group, version = naming.group_name(group_version.group), group_version.version
        path = naming.document_path(group_version)
        operation = f"get{naming.capitalized(group)}"
        if group_version.group:
            above = f"apis/{group_version.group}"
            found[above] = (_discovery(f"/{above}/", f"{operation}APIGroup", group, f"{naming.META}.APIGroup"),)
        else:
            found["api"] = (_discovery("/api/", f"{operation}APIVersions", group, f"{naming.META}.APIVersions"),)
        identifier = f"{operation}{naming.capitalized(version)}APIResources"
        found[path] = (_discovery(f"/{path}/", identifier, naming.tag(group_version), f"{naming.META}.APIResourceList"),)
    return found


def _discovery(path: str, identifier: str, tag: str, model: str, *, types: tuple[str, ...] = BUILTIN_TYPES) -> Operation:
    return Operation(
        path=path,
        method="get",
        action="",
        id=identifier,
        tag=tag,
        description="get what is served",
        response=model,
        consumes=types,
        produces=types,
    )


def _actions(verbs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(action for verb, actions in _ACTIONS.items() if verb in verbs for action in actions)

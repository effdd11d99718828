"""The operations of built-in resources and of discovery.

Mirrors apiserver pkg/endpoints (installer.go, discovery/*.go) and pkg/server/routes/version.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from apiext.api.openapi import naming
from apiext.api.openapi.operations import BUILTIN_TYPES, STATUS, DocumentedResource, Operation
from apiext.base.meta.builtin_resources import BuiltinGroupVersion, BuiltinResource
from apiext.base.meta.gvk import GroupVersion

_ACTIONS: Final = {
    "list": "list",
    "create": "post",
    "deletecollection": "deletecollection",
    "get": "get",
    "update": "put",
    "delete": "delete",
    "patch": "patch",
}
"""Actions by verb, in the order of the documents."""


def documented(resource: BuiltinResource) -> DocumentedResource:
    """Return the documented form of a resource."""
    subresources = tuple((sub.name, naming.builtin_model_name(sub.kind), _actions(sub.verbs), sub.kind) for sub in resource.subresources)
    model = naming.builtin_model_name(resource.kind)
    return DocumentedResource(
        kind=resource.kind,
        plural=resource.plural,
        namespaced=resource.namespaced,
        model=model,
        list_model=naming.builtin_model_name(resource.kind._replace(kind=resource.list_kind)),
        subresources=subresources,
        actions=_actions(resource.verbs),
        delete_model=model if resource.delete_returns_object else STATUS,
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
        group = group_version.group
        path, above = naming.document_path(group_version), f"apis/{group}" if group else "api"
        model = "APIGroup" if group else "APIVersions"
        identifier = naming.operation_id("get", model, GroupVersion(group, ""))
        found[above] = (_discovery(f"/{above}/", identifier, naming.group_tag(group), f"{naming.META}.{model}"),)
        identifier = naming.operation_id("get", "APIResources", group_version)
        found[path] = (_discovery(f"/{path}/", identifier, naming.tag(group_version), f"{naming.META}.APIResourceList"),)
    return found


def _discovery(path: str, identifier: str, tag: str, model: str, *, types: tuple[str, ...] = BUILTIN_TYPES) -> Operation:
    return Operation(path, identifier, tag, "get what is served", model, consumes=types, produces=types)


def _actions(verbs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(action for verb, action in _ACTIONS.items() if verb in verbs)

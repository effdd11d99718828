"""The operations of a resource, independent of OpenAPI v2 and v3.

Mirrors apiextensions-apiserver pkg/controller/openapi/builder (generateBuilder, buildRoute).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from apiext.api.endpoints.scopes.dialect import BUILTIN_PATCHES, PATCHES
from apiext.api.openapi import naming, parameters
from apiext.api.openapi.parameters import Parameter
from apiext.base.meta.gvk import GroupVersionKind

STATUS: Final = f"{naming.META}.Status"
PATCH: Final = f"{naming.META}.Patch"
DELETE_OPTIONS: Final = f"{naming.META}.DeleteOptions"
OBJECT_TYPES: Final = ("application/json", "application/yaml")
BUILTIN_TYPES: Final = (*OBJECT_TYPES, "application/vnd.kubernetes.protobuf")
_STREAM_TYPES: Final = ("application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
_WATCH_EVENT: Final = f"{naming.META}.WatchEvent"
_METHODS_AND_VERBS: Final = {
    "list": ("get", "list"),
    "post": ("post", "create"),
    "deletecollection": ("delete", "delete"),
    "get": ("get", "read"),
    "put": ("put", "replace"),
    "patch": ("patch", "patch"),
    "delete": ("delete", "delete"),
    "watch": ("get", "watch"),
    "watchlist": ("get", "watch"),
}
"""The HTTP method, and the first word of the operation ID, by action."""
_OF_COLLECTIONS: Final = frozenset({"list", "post", "deletecollection"})
_CODES: Final = {
    "post": ((200, "OK"), (201, "Created"), (202, "Accepted")),
    "put": ((200, "OK"), (201, "Created")),
    "delete": ((200, "OK"), (202, "Accepted")),
}
_BUILTIN_PATCH_CODES: Final = ((200, "OK"), (201, "Created"))


@dataclass(frozen=True, slots=True)
class DocumentedResource:
    """A resource in one version."""

    kind: GroupVersionKind
    plural: str
    namespaced: bool
    model: str
    """Definition name of the kind."""
    list_model: str
    subresources: tuple[tuple[str, str, tuple[str, ...], GroupVersionKind | None], ...]
    """Name, definition name, actions, and kind of each. None stands for the kind of the resource."""
    actions: tuple[str, ...] = ("list", "post", "deletecollection", "get", "put", "delete", "patch")
    delete_model: str = STATUS
    """Definition name of the response to a delete."""
    builtin: bool = False
    """Whether the kind is built in: upstream documents more parameters and media types for it."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One method at one path."""

    path: str
    id: str
    tag: str
    description: str
    response: str
    """Definition name of a successful response."""
    method: str = "get"
    action: str = ""
    """Empty for a non-resource path."""
    kind: GroupVersionKind | None = None
    """None for a non-resource path."""
    parameters: tuple[Parameter, ...] = ()
    """Sorted by name."""
    body: str = ""
    """Definition name of the request body, empty without one."""
    consumes: tuple[str, ...] = OBJECT_TYPES
    """Media types of the request body."""
    produces: tuple[str, ...] = OBJECT_TYPES
    """Media types of the response."""
    codes: tuple[tuple[int, str], ...] = ((200, "OK"),)
    """Status codes of success and their descriptions."""

    @property
    def body_required(self) -> bool:
        """Whether the request needs a body."""
        return self.action not in {"delete", "deletecollection"}


def operations(resource: DocumentedResource) -> Iterator[Operation]:
    """Yield all operations of a resource."""
    root = f"/{naming.document_path(resource.kind.group_version)}"
    plain = f"{root}/{resource.plural}"
    if resource.namespaced:
        if "list" in resource.actions:
            yield _operation(resource, plain, "list", f"{resource.kind.kind}ForAllNamespaces")
        plain = f"{root}/namespaces/{{namespace}}/{resource.plural}"
    scope = f"Namespaced{resource.kind.kind}" if resource.namespaced else resource.kind.kind
    for action in resource.actions:
        path = plain if action in _OF_COLLECTIONS else f"{plain}/{{name}}"
        yield _operation(resource, path, action, f"Collection{scope}" if action == "deletecollection" else scope)
    for name, model, actions, kind in resource.subresources:
        for action in actions:
            yield _operation(resource, f"{plain}/{{name}}/{name}", action, scope + name.title(), sub=name, model=model, kind=kind)
    if not resource.builtin or "list" not in resource.actions:
        return
    # the deprecated operations below /watch
    watched = plain.replace(root, f"{root}/watch")
    if resource.namespaced:
        yield _operation(resource, f"{root}/watch/{resource.plural}", "watchlist", f"{resource.kind.kind}ListForAllNamespaces")
    yield _operation(resource, watched, "watchlist", f"{scope}List")
    yield _operation(resource, f"{watched}/{{name}}", "watch", scope)


def _operation(
    resource: DocumentedResource, path: str, action: str, rest: str, *, sub: str = "", model: str = "", kind: GroupVersionKind | None = None
) -> Operation:
    model, kind = model or resource.model, kind or resource.kind
    builtin = resource.builtin
    by_action = parameters.BY_BUILTIN_ACTION if builtin else parameters.BY_ACTION
    own = [parameters.PRETTY, *by_action[action]]
    if "{namespace}" in path:
        own.append(parameters.NAMESPACE)
    if "{name}" in path:
        own.append(parameters.name_of(kind.kind))
    bodies = {"post": model, "put": model, "patch": PATCH, "delete": DELETE_OPTIONS}
    if builtin:
        bodies["deletecollection"] = DELETE_OPTIONS
    responses = {
        "list": resource.list_model,
        "delete": resource.delete_model,
        "deletecollection": STATUS,
        "watch": _WATCH_EVENT,
        "watchlist": _WATCH_EVENT,
    }
    method, verb = _METHODS_AND_VERBS[action]
    return Operation(
        path=path,
        method=method,
        action=action,
        id=naming.operation_id(verb, rest, resource.kind.group_version),
        tag=naming.tag(resource.kind.group_version),
        description=_description(action, verb, resource.kind.kind, sub),
        kind=kind,
        parameters=tuple(sorted(own)),
        body=bodies.get(action, ""),
        response=responses.get(action, model),
        consumes=_consumes(action, builtin=builtin),
        produces=_produces(action, builtin=builtin),
        codes=_BUILTIN_PATCH_CODES if builtin and action == "patch" else _CODES.get(action, ((200, "OK"),)),
    )


def _consumes(action: str, *, builtin: bool) -> tuple[str, ...]:
    if action == "patch":
        return BUILTIN_PATCHES if builtin else PATCHES
    return ("*/*",) if builtin else OBJECT_TYPES


def _produces(action: str, *, builtin: bool) -> tuple[str, ...]:
    if not builtin:
        return OBJECT_TYPES
    return (*BUILTIN_TYPES, *_STREAM_TYPES) if action in {"list", "watch", "watchlist"} else BUILTIN_TYPES


def _description(action: str, verb: str, kind: str, sub: str) -> str:
    of = f" {sub} of" if sub else ""
    match action:
        case "list":
            return f"list objects of kind {kind}"
        case "post" | "delete":
            return f"{verb}{of}{naming.article(kind)}{kind}"
        case "deletecollection":
            return f"delete collection of {kind}"
        case "watch":
            return f"Deprecated: list with watch. Changes of{naming.article(kind)}{kind}"
        case "watchlist":
            return f"Deprecated: list with watch. Changes of objects of kind {kind}"
        case "patch":
            return f"partially update{of} the specified {kind}"
        case _:
            return f"{verb}{of} the specified {kind}"

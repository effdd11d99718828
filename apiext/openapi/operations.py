"""What can be done with a resource: its operations, apart from how OpenAPI v2 and v3 write them down.

Mirrors apiextensions-apiserver pkg/controller/openapi/builder (generateBuilder, buildRoute).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from apiext.meta.gvk import GroupVersionKind

from . import naming, parameters
from .parameters import Parameter

STATUS: Final = f"{naming.META}.Status"
PATCH: Final = f"{naming.META}.Patch"
DELETE_OPTIONS: Final = f"{naming.META}.DeleteOptions"
OBJECT_TYPES: Final = ("application/json", "application/yaml")
PATCH_TYPES: Final = ("application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml")
_METHODS: Final = {"get": "get", "list": "get", "put": "put", "patch": "patch", "post": "post"}
_CODES: Final = {
    "post": ((200, "OK"), (201, "Created"), (202, "Accepted")),
    "put": ((200, "OK"), (201, "Created")),
    "delete": ((200, "OK"), (202, "Accepted")),
}


@dataclass(frozen=True, slots=True)
class Documented:
    """A resource in one version, as its operations are documented."""

    kind: GroupVersionKind
    plural: str
    namespaced: bool
    model: str
    """Definition of its objects."""
    list_model: str
    subresources: tuple[tuple[str, str, tuple[str, ...]], ...]
    """Name, definition of its bodies, and actions of each."""
    actions: tuple[str, ...] = ("list", "post", "deletecollection", "get", "put", "delete", "patch")


@dataclass(frozen=True, slots=True)
class Operation:
    """One method at one path."""

    path: str
    method: str
    action: str
    id: str
    tag: str
    description: str
    kind: GroupVersionKind
    parameters: tuple[Parameter, ...]
    """Sorted by name."""
    body: str
    """Definition of the body, empty for none."""
    response: str
    """Definition of an answer of success."""

    @property
    def consumes(self) -> tuple[str, ...]:
        """Media types of the body."""
        return PATCH_TYPES if self.action == "patch" else OBJECT_TYPES

    @property
    def produces(self) -> tuple[str, ...]:
        """Media types of the answer."""
        return OBJECT_TYPES

    @property
    def body_required(self) -> bool:
        """Whether there must be a body."""
        return self.action != "delete"

    @property
    def codes(self) -> tuple[tuple[int, str], ...]:
        """Status codes of success, with their descriptions."""
        return _CODES.get(self.action, ((200, "OK"),))


def operations(resource: Documented) -> Iterator[Operation]:
    """All operations of a resource."""
    group_version = resource.kind.group_version
    root = f"/apis/{group_version}" if group_version.group else f"/api/{group_version}"
    plain = f"{root}/{resource.plural}"
    if resource.namespaced:
        yield _operation(resource, plain, "list", "list", f"{resource.kind.kind}ForAllNamespaces")
        plain = f"{root}/namespaces/{{namespace}}/{resource.plural}"
    scope = f"Namespaced{resource.kind.kind}" if resource.namespaced else resource.kind.kind
    for action in resource.actions:
        match action:
            case "list":
                yield _operation(resource, plain, action, "list", scope)
            case "post":
                yield _operation(resource, plain, action, "create", scope)
            case "deletecollection":
                yield _operation(resource, plain, action, "delete", f"Collection{scope}")
            case _:
                yield _operation(resource, f"{plain}/{{name}}", action, _VERBS[action], scope)
    for name, model, actions in resource.subresources:
        for action in actions:
            path = f"{plain}/{{name}}/{name}"
            yield _operation(resource, path, action, _VERBS[action], scope + name.title(), sub=name, model=model)


_VERBS: Final = {"get": "read", "put": "replace", "patch": "patch", "delete": "delete"}


def _operation(resource: Documented, path: str, action: str, verb: str, rest: str, *, sub: str = "", model: str = "") -> Operation:
    model = model or resource.model
    own = [parameters.PRETTY, *parameters.BY_ACTION[action]]
    if "{namespace}" in path:
        own.append(parameters.NAMESPACE)
    if "{name}" in path:
        own.append(parameters.name_of(resource.kind.kind))
    bodies = {"post": model, "put": model, "patch": PATCH, "delete": DELETE_OPTIONS}
    responses = {"list": resource.list_model, "delete": STATUS, "deletecollection": STATUS}
    group_version = resource.kind.group_version
    return Operation(
        path=path,
        method=_METHODS.get(action, "delete"),
        action=action,
        id=naming.operation_id(verb, rest, group_version),
        tag=naming.tag(group_version),
        description=_description(action, resource.kind.kind, sub),
        kind=resource.kind,
        parameters=tuple(sorted(own)),
        body=bodies.get(action, ""),
        response=responses.get(action, model),
    )


def _description(action: str, kind: str, sub: str) -> str:
    of = f" {sub} of" if sub else ""
    match action:
        case "list":
            return f"list objects of kind {kind}"
        case "post":
            return f"create{of}{naming.article(kind)}{kind}"
        case "delete":
            return f"delete{of}{naming.article(kind)}{kind}"
        case "deletecollection":
            return f"delete collection of {kind}"
        case "patch":
            return f"partially update{of} the specified {kind}"
        case _:
            return f"{_VERBS[action]}{of} the specified {kind}"

"""Built-in resources as OpenAPI describes them."""

from __future__ import annotations

from typing import Final

from apiext.meta.builtin import BuiltinGroupVersion, BuiltinResource

from . import naming
from .operations import Documented

_ACTIONS: Final = {
    "list": ("list",),
    "create": ("post",),
    "deletecollection": ("deletecollection",),
    "get": ("get",),
    "update": ("put",),
    "delete": ("delete",),
    "patch": ("patch",),
}


def documented(group_version: BuiltinGroupVersion) -> list[Documented]:
    """The resources of a group and version, for their operations."""
    return [_documented(resource) for resource in group_version.resources]


def _documented(resource: BuiltinResource) -> Documented:
    subresources = tuple((sub.name, naming.builtin_model_name(sub.kind), _actions(sub.verbs)) for sub in resource.subresources)
    return Documented(
        kind=resource.kind,
        plural=resource.plural,
        namespaced=resource.namespaced,
        model=naming.builtin_model_name(resource.kind),
        list_model=naming.builtin_model_name(resource.kind._replace(kind=resource.list_kind)),
        subresources=subresources,
        actions=_actions(resource.verbs),
    )


def _actions(verbs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(action for verb, actions in _ACTIONS.items() if verb in verbs for action in actions)

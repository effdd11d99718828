"""Values of the variables of admission expressions (activation.go and condition.go of apiserver pkg/admission/plugin/cel)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from apiext.schema.cel.policies.environments import (
    AUTHORIZER_NAME,
    NAMESPACE_NAME,
    OBJECT,
    OLD_OBJECT,
    PARAMS,
    REQUEST_NAME,
    REQUEST_RESOURCE,
)

if TYPE_CHECKING:
    from apiext.base.meta.gvk import GroupVersionKind, GroupVersionResource
    from apiext.base.meta.request import AdmissionOperation, UserInfo
    from apiext.schema.cel.libraries.authorization import Authorizer, ResourceCheck

_SHOWN_METADATA: Final = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "finalizers",
)


@dataclass(slots=True, kw_only=True)
class Inputs:
    """The values of one evaluation. Objects are JSON of the version that the expression's owner has matched, and are never changed."""

    object: Any = None
    old_object: Any = None
    params: Any = None
    namespace: Any = None
    """What `namespaceObject` is; see `shown_namespace`. Match conditions get none."""
    request: Callable[[], dict[str, Any]]
    """Returns what `request` is; see `RequestValue`. Called once, if an expression needs it."""
    authorizer: Authorizer | None = None
    request_resource: ResourceCheck | None = None
    """What `authorizer.requestResource` is."""
    _made: dict[str, Any] | None = field(default=None, init=False)

    def without_authorizer(self) -> Inputs:
        """Return the same values, but no authorizer, as for messages and audit annotations."""
        return Inputs(object=self.object, old_object=self.old_object, params=self.params, namespace=self.namespace, request=self.request)

    def value(self, name: str) -> Any:
        """Return the value of a variable."""
        match name:
            case "object":
                return self.object
            case "oldObject":
                return self.old_object
            case "request":
                if self._made is None:
                    self._made = self.request()
                return self._made
            case "params":
                return self.params
            case "namespaceObject":
                return self.namespace
            case "authorizer":
                return self.authorizer
            case _:
                return self.request_resource


NAMES: Final = frozenset({OBJECT, OLD_OBJECT, PARAMS, REQUEST_NAME, NAMESPACE_NAME, AUTHORIZER_NAME, REQUEST_RESOURCE})


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestValue:
    """What `request` is: the fields of an AdmissionRequest that are no object."""

    operation: AdmissionOperation
    kind: GroupVersionKind
    """The kind of the object that expressions see."""
    resource: GroupVersionResource
    """The resource that the rule has matched."""
    request_kind: GroupVersionKind
    request_resource: GroupVersionResource
    user: UserInfo
    subresource: str = ""
    name: str = ""
    namespace: str = ""
    dry_run: bool = False
    options: Mapping[str, Any] | None = None

    def make(self) -> dict[str, Any]:
        """Return the value. As in Go's JSON, empty fields are absent."""
        texts = {
            "subResource": self.subresource,
            "requestSubResource": self.subresource,
            "name": self.name,
            "namespace": self.namespace,
        }
        return {
            "uid": "",
            "kind": self.kind._asdict(),
            "resource": self.resource._asdict(),
            "requestKind": self.request_kind._asdict(),
            "requestResource": self.request_resource._asdict(),
            **{name: text for name, text in texts.items() if text},
            "operation": str(self.operation),
            "userInfo": _user(self.user),
            "object": None,
            "oldObject": None,
            "dryRun": self.dry_run,
            "options": None if self.options is None else dict(self.options),
        }


def _user(user: UserInfo) -> dict[str, Any]:
    extra = {key: list(values) for key, values in user.extra.items()}
    members = {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
    return {name: value for name, value in members.items() if value}


def shown_namespace(namespace: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return what `namespaceObject` is: the parts of a namespace that expressions may see."""
    if namespace is None:
        return None
    metadata = namespace.get("metadata") or {}
    return {
        "metadata": {name: metadata[name] for name in _SHOWN_METADATA if metadata.get(name)},
        "spec": namespace.get("spec") or {},
        "status": namespace.get("status") or {},
    }

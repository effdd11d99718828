"""Types with declared fields: the request, the namespace, the variables of a policy, and the types of patches.

Mirrors apiserver pkg/admission/plugin/cel (BuildRequestType, BuildNamespaceType, composition.go) and pkg/cel/mutation/typeresolver.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from apiext.schema.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    CelType,
    list_of,
    map_of,
)
from apiext.schema.cel.values.structs import JSON_PATCH, OBJECT

REQUEST: Final = CelType("kubernetes.AdmissionRequest")
NAMESPACE: Final = CelType("kubernetes.Namespace")
VARIABLES: Final = CelType("kubernetes.variables")
OBJECT_TYPE: Final = CelType(OBJECT)
JSON_PATCH_TYPE: Final = CelType(JSON_PATCH)
_KIND: Final = CelType("kubernetes.GroupVersionKind")
_RESOURCE: Final = CelType("kubernetes.GroupVersionResource")
_USER: Final = CelType("kubernetes.UserInfo")
_NAMESPACE_METADATA: Final = CelType("kubernetes.NamespaceMetadata")
_NAMESPACE_SPEC: Final = CelType("kubernetes.NamespaceSpec")
_NAMESPACE_STATUS: Final = CelType("kubernetes.NamespaceStatus")
_NAMESPACE_CONDITION: Final = CelType("kubernetes.NamespaceCondition")
_TEXTS: Final = list_of(STRING)

_FIELDS: Final[Mapping[str, Mapping[str, CelType]]] = {
    REQUEST.name: {
        "kind": _KIND,
        "resource": _RESOURCE,
        "subResource": STRING,
        "requestKind": _KIND,
        "requestResource": _RESOURCE,
        "requestSubResource": STRING,
        "name": STRING,
        "namespace": STRING,
        "operation": STRING,
        "userInfo": _USER,
        "dryRun": BOOL,
        "options": DYN,
    },
    _KIND.name: {"group": STRING, "version": STRING, "kind": STRING},
    _RESOURCE.name: {"group": STRING, "version": STRING, "resource": STRING},
    _USER.name: {"username": STRING, "uid": STRING, "groups": _TEXTS, "extra": map_of(STRING, _TEXTS)},
    NAMESPACE.name: {"metadata": _NAMESPACE_METADATA, "spec": _NAMESPACE_SPEC, "status": _NAMESPACE_STATUS},
    _NAMESPACE_METADATA.name: {
        "name": STRING,
        "generateName": STRING,
        "namespace": STRING,
        "labels": map_of(STRING, STRING),
        "annotations": map_of(STRING, STRING),
        # the reference's typing error: no namespace has this field, and its uid cannot be read
        "UID": STRING,
        "creationTimestamp": TIMESTAMP,
        "deletionGracePeriodSeconds": INT,
        "deletionTimestamp": TIMESTAMP,
        "generation": INT,
        "resourceVersion": STRING,
        "finalizers": _TEXTS,
    },
    _NAMESPACE_SPEC.name: {"finalizers": _TEXTS},
    _NAMESPACE_STATUS.name: {"conditions": list_of(_NAMESPACE_CONDITION), "phase": STRING},
    _NAMESPACE_CONDITION.name: {
        "status": STRING,
        "type": STRING,
        "lastTransitionTime": TIMESTAMP,
        "message": STRING,
        "reason": STRING,
    },
}
_OPERATION_FIELDS: Final = {"op": STRING, "path": STRING, "from": STRING, "value": DYN}
_NO_TYPE: Final = CelType("")
"""The type of fields that JSONPatch does not have: the reference knows them, without a type."""
_KEPT: Final = frozenset({BOOL, BYTES, DOUBLE, DURATION, INT, NULL, STRING, TIMESTAMP, UINT})
_CONTAINERS: Final = frozenset({"list", "map"})


class AdmissionTypes:
    """The types with fields in an environment of admission; see `environment.ObjectTypes`."""

    def __init__(self, variables: Mapping[str, CelType] | None, *, patches: bool) -> None:
        """Declare the types. Later changes of `variables` are seen. `patches`: Object, what is below it, and JSONPatch."""
        self._fields = _FIELDS if variables is None else {**_FIELDS, VARIABLES.name: variables}
        self._patches = patches

    def __contains__(self, name: object, /) -> bool:
        """Tell whether a type with this name has declared fields."""
        return name in self._fields or (self._patches and isinstance(name, str) and is_patch_type(name))

    def field(self, name: str, field_name: str, /) -> CelType | None:
        """Return the type of a field of a type, None if there is no such field."""
        if name in self._fields:
            return self._fields[name].get(field_name)
        return _OPERATION_FIELDS.get(field_name, _NO_TYPE) if name == JSON_PATCH else DYN

    def is_named(self, name: str, /) -> bool:
        """Tell whether expressions may refer to a type by its name."""
        return name in self


def is_patch_type(name: str) -> bool:
    """Tell whether a type is JSONPatch, Object, or one below it such as `Object.spec`."""
    return name in {JSON_PATCH, OBJECT} or name.startswith(f"{OBJECT}.")


def variable_type(kind: CelType) -> CelType:
    """Return the type that other expressions see of a variable: dyn for types of libraries and objects."""
    if kind in _KEPT:
        return kind
    if kind.name in _CONTAINERS:
        return CelType(kind.name, tuple([variable_type(part) for part in kind.parameters]))
    return DYN

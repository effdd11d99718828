"""Merge types of built-in kinds, from the Go types of the package.

Equals the merge types from the reference's OpenAPI document: lists are atomic unless the table says otherwise, times are not
checked.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from apiext.base.meta.golang.struct_type import Field, Struct
from apiext.base.meta.golang.type_model import Bool, Float, GoType, Int, Map, Pointer, Raw, Slice, String
from apiext.base.meta.golang.value_types import Bytes, Time
from apiext.base.meta.objectmeta.canonical import OBJECT_META
from apiext.resources.managedfields.merge_types import (
    BOOLEAN,
    DEDUCED,
    NUMERIC,
    STRING,
    UNTYPED,
    ListType,
    MapType,
    MergeType,
)

_ATOMIC_STRUCTS: Final = frozenset(
    {
        *("OwnerReference", "ObjectReference", "LocalObjectReference", "LabelSelector", "Subject", "RoleRef"),
        *("MatchResources", "NamedRuleWithOperations", "ParamKind", "ParamRef", "Variable"),
    }
)
_LIST_KEYS: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("ObjectMeta", "finalizers"): (),
    ("ObjectMeta", "ownerReferences"): ("uid",),
    ("NamespaceStatus", "conditions"): ("type",),
    ("CustomResourceDefinitionStatus", "conditions"): ("type",),
    ("StorageVersionMigrationStatus", "conditions"): ("type",),
    ("StorageVersionStatus", "storageVersions"): ("apiServerID",),
    ("StorageVersionStatus", "conditions"): ("type",),
    ("ServiceAccount", "secrets"): ("name",),
    ("ServerStorageVersion", "decodableVersions"): (),
    ("ServerStorageVersion", "servedVersions"): (),
    ("JSONSchemaProps", "x-kubernetes-validations"): ("rule",),
    ("ValidatingWebhookConfiguration", "webhooks"): ("name",),
    ("MutatingWebhookConfiguration", "webhooks"): ("name",),
    ("ValidatingWebhook", "matchConditions"): ("name",),
    ("MutatingWebhook", "matchConditions"): ("name",),
    ("ValidatingAdmissionPolicySpec", "matchConditions"): ("name",),
    ("ValidatingAdmissionPolicySpec", "variables"): ("name",),
    ("ValidatingAdmissionPolicyStatus", "conditions"): ("type",),
    ("ValidatingAdmissionPolicyBindingSpec", "validationActions"): (),
    ("MutatingAdmissionPolicySpec", "matchConditions"): ("name",),
}
"""Keys of lists whose items have their own owners, () for a set; by struct and field."""
_RAW_OBJECTS: Final = frozenset({"v1.FieldsV1"})
"""Types of arbitrary objects."""
_REQUIRED_TEXT: Final = MergeType(STRING, default="")
_ANY_MAP: Final = MergeType(map=MapType(lambda: ({}, DEDUCED)))


def from_go_type(go_type: GoType, keys: tuple[str, ...] | None = None) -> MergeType:
    """Return the merge type of a Go type. `keys` are the keys of a list whose items have their own owners."""
    if isinstance(go_type, Pointer):
        return from_go_type(go_type.to, keys)
    if isinstance(go_type, Struct):
        return _struct(go_type)
    if isinstance(go_type, Map):
        return MergeType(map=MapType(lambda: ({}, from_go_type(go_type.of))))
    if isinstance(go_type, Slice):
        return MergeType(list=ListType(lambda: from_go_type(go_type.of), associative=keys is not None, keys=keys or ()))
    if isinstance(go_type, String | Bytes):
        return MergeType(STRING)
    if isinstance(go_type, Bool):
        return MergeType(BOOLEAN)
    if isinstance(go_type, Int | Float):
        return MergeType(NUMERIC)
    if isinstance(go_type, Time):
        return MergeType(UNTYPED)
    return _ANY_MAP if isinstance(go_type, Raw) and go_type.name in _RAW_OBJECTS else DEDUCED


@cache
def _struct(struct: Struct) -> MergeType:
    """Return the type of a struct, always the same object: types refer to themselves."""

    def make() -> tuple[dict[str, MergeType], MergeType | None]:
        fields = {name: _field(field, _LIST_KEYS.get((struct.struct, name))) for name, field in struct.by_name.items()}
        return fields, None if fields else DEDUCED

    return MergeType(map=MapType(make, atomic=struct.struct in _ATOMIC_STRUCTS))


def _field(field: Field, keys: tuple[str, ...] | None) -> MergeType:
    # An absent key of a list map has the default of a required string.
    return _REQUIRED_TEXT if isinstance(field.type, String) and not field.omit_empty else from_go_type(field.type, keys)


OBJECT_META_TYPE: Final = from_go_type(OBJECT_META)
"""The merge type of metadata."""

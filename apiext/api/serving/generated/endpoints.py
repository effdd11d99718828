"""The endpoints of kinds from generated data. Each is made on its first request."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, cast

from apiext.api.endpoints.handlers.strategic_keys import keys_from_openapi
from apiext.api.endpoints.parameters.options import known_field_labels, meta_field_label
from apiext.api.endpoints.responsewriters.table import NAME, TableConvertor
from apiext.api.serving.admitted.builtin_objects import ObjectType, TypedObjects
from apiext.api.serving.builtin.endpoints import BuiltinEndpoint, DeferredScopes
from apiext.api.serving.builtin.printing import AGE, PLAIN_TABLE, number
from apiext.api.serving.builtin.served_kind import ServedKind, ServedSubresource
from apiext.api.serving.generated.other_columns import OTHER_COLUMNS
from apiext.api.serving.generated.workload_columns import WORKLOAD_COLUMNS
from apiext.base.meta.generated import archive
from apiext.base.meta.generated.go_types import definition_name, struct_of
from apiext.base.meta.generated.resources import SCALE
from apiext.resources.managedfields.field_manager import FieldManager
from apiext.resources.managedfields.field_set import from_paths
from apiext.resources.managedfields.openapi_types import OpenAPITypes
from apiext.resources.managedfields.scale import ScaleManagers
from apiext.resources.managedfields.versions import BuiltinVersions
from apiext.resources.registry.builtin.kind import BuiltinKind, metadata_fields
from apiext.resources.registry.customresources.scale import ScaleCodec
from apiext.resources.registry.generated.defaults import STRUCT_DEFAULTS
from apiext.resources.registry.generated.strategies import (
    STATUS_MEMBERS,
    STATUS_METADATA,
    ApprovalStrategy,
    EphemeralContainersStrategy,
    GeneratedStatusStrategy,
    GeneratedStrategy,
    ResizeStrategy,
)
from apiext.resources.registry.generated.verbs import PriorityClassRest, WorkloadScaleRest
from apiext.resources.registry.protobuf.kinds import message_of
from apiext.resources.registry.rest import ResourceRest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from apiext.api.admission.attributes import Admission
    from apiext.api.endpoints.parameters.options import FieldLabel
    from apiext.api.endpoints.scopes.open_watches import Watches
    from apiext.api.endpoints.scopes.scope import CollectionRest, Scope
    from apiext.base.meta.builtin_resources import BuiltinGroupVersion, BuiltinResource
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.storage.factory import StoreFactory

_STRATEGIES: Final = {
    "approval": ApprovalStrategy,
    "ephemeralcontainers": EphemeralContainersStrategy,
    "resize": ResizeStrategy,
    "status": GeneratedStatusStrategy,
}
_CREATED_ON_UPDATE: Final = frozenset({"endpoints", "limitranges", "runtimeclasses", "services"})
_REPLICAS: Final = from_paths(("f:spec", "f:replicas"))
_SCALE_COLUMNS: Final = (
    NAME._replace(format=""),
    number("Desired", "spec.replicas", "How many pods are wanted."),
    number("Available", "status.replicas", "How many pods there are."),
    AGE,
)
_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "certificatesigningrequests": ("spec.signerName",),
    "clustertrustbundles": ("spec.signerName",),
    "nodes": ("spec.unschedulable",),
    "podcertificaterequests": ("spec.signerName", "spec.podName", "spec.nodeName"),
    "pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "replicasets": ("status.replicas",),
    "replicationcontrollers": ("status.replicas",),
    "resourceslices": ("spec.nodeName", "spec.driver"),
    "services": ("spec.clusterIP", "spec.type"),
}
_SWITCHES: Final = frozenset({"spec.unschedulable", "spec.hostNetwork"})
_NUMBERS: Final = frozenset({"status.replicas"})
_METADATA_FIELDS: Final = ("metadata.name", "metadata.namespace")


def _field_label(plural: str) -> FieldLabel:
    """Return the check of the labels of a resource."""
    fields = _FIELDS.get(plural)
    return meta_field_label if fields is None else known_field_labels(frozenset({*_METADATA_FIELDS, *fields}))


def _selectable(plural: str) -> Callable[[Object], dict[str, str]]:
    """Return the function that returns the selectable fields of an object."""
    fields = tuple((name, *name.split(".")) for name in _FIELDS.get(plural, ()))
    if not fields:
        return metadata_fields

    def selectable(obj: Object) -> dict[str, str]:
        return metadata_fields(obj) | {name: _field_text(name, (obj.get(parent) or {}).get(field)) for name, parent, field in fields}

    return selectable


def _field_text(name: str, value: Any) -> str:
    if name in _SWITCHES:
        return "true" if value else "false"
    return str(value or 0) if name in _NUMBERS else value or ""


def table_of(plural: str) -> TableConvertor:
    """Return the table of a resource; the reference's default one if it has no columns of its own."""
    columns = WORKLOAD_COLUMNS.get(plural) or OTHER_COLUMNS.get(plural)
    return TableConvertor(columns) if columns is not None else PLAIN_TABLE


@cache
def _schemas() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = archive.read("schemas")
    return found


@cache
def _merge_types() -> OpenAPITypes:
    return OpenAPITypes(_schemas())


def further_endpoints(
    groups: Iterable[BuiltinGroupVersion], stores: StoreFactory, admission: Admission, watches: Watches
) -> Iterator[BuiltinEndpoint]:
    """Yield the endpoints of all resources of the group versions."""
    for group in groups:
        for resource in group.resources:
            yield BuiltinEndpoint(resource, DeferredScopes(partial(_scopes, resource, stores, admission, watches)))


def _scopes(resource: BuiltinResource, stores: StoreFactory, admission: Admission, watches: Watches) -> Mapping[str, Scope]:
    store = stores.store(resource.stored_resource, shown=resource.resource.group_resource)
    scopes = dict(_served(resource).endpoint(store, admission, watches).scopes)
    if resource.subresource("scale") is not None:
        scopes["scale"] = _scale_scope(scopes[""], resource)
    return scopes


def _served(resource: BuiltinResource) -> ServedKind:
    plural, struct = resource.plural, struct_of(resource.kind)
    name = definition_name(struct)
    kind = BuiltinKind(
        resource=resource,
        struct=struct,
        strategy=GeneratedStrategy(resource, struct),
        selectable=_selectable(plural),
        default=STRUCT_DEFAULTS.of(struct),
        rest_type=PriorityClassRest if plural == "priorityclasses" else ResourceRest,
    )
    return ServedKind(
        kind=kind,
        table=table_of(plural),
        field_label=_field_label(plural),
        strategic_keys=keys_from_openapi(_schemas(), name),
        creates_on_update=plural in _CREATED_ON_UPDATE,
        returns_deleted=resource.delete_returns_object,
        merge_type=_merge_types().of(name),
        subresources={
            sub.name: ServedSubresource(strategy=_STRATEGIES[sub.name](resource), reset=_reset(plural, sub.name))
            for sub in resource.subresources
            if sub.name in _STRATEGIES
        },
    )


def _reset(plural: str, subresource: str) -> tuple[str, ...]:
    """Return the fields that the reference's strategy resets."""
    if subresource == "status":
        members = tuple(f"metadata.{name}" for name in STATUS_MEMBERS.get(plural, ()))
        return ("spec", "metadata") if plural in STATUS_METADATA else ("spec", *members)
    return ("spec",) if subresource == "approval" else ()


def _scale_managers(resource: BuiltinResource) -> ScaleManagers:
    version = resource.kind.api_version
    return ScaleManagers(version, {version: _REPLICAS})


def _scale_scope(main: Scope, resource: BuiltinResource) -> Scope:
    codec = ScaleCodec()
    struct = struct_of(SCALE)

    def empty() -> Object:
        return {"apiVersion": SCALE.api_version, "kind": SCALE.kind, "metadata": {}, "spec": {}, "status": {"replicas": 0}}

    def complete(obj: Object) -> Object:
        completed = dict(obj)
        codec.decode_body(completed, False)  # noqa: FBT003
        return completed

    versions = BuiltinVersions(_merge_types().of(definition_name(struct)), empty, complete)
    return dataclasses.replace(
        main,
        subresource="scale",
        kind=SCALE,
        rest=cast("CollectionRest", WorkloadScaleRest(cast("ResourceRest", main.rest), resource.kind, _scale_managers(resource))),
        codec=codec,
        objects=TypedObjects(ObjectType(SCALE, codec, None)),
        fields=FieldManager(SCALE, versions, subresource="scale"),
        dialect=dataclasses.replace(
            main.dialect, table=TableConvertor(_SCALE_COLUMNS), package=SCALE.group, message=message_of(struct), strategic_keys={}
        ),
    )

"""Endpoints of the built-in resources, with the same handlers as custom resources.

Mirrors apiserver pkg/endpoints/installer.go (the routes of a resource) and go-restful's responses for other routes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, cast

from aiohttp import web

from apiext.definitions.types import DEFINITION
from apiext.endpoints.handlers.strategic_merge import OBJECT_META_KEYS
from apiext.endpoints.parameters.options import FieldLabel, known_field_labels, meta_field_label
from apiext.endpoints.request import INFO
from apiext.endpoints.responsewriters.table import TableConvertor
from apiext.endpoints.scopes.scope import BUILTIN_PATCHES, BodyCodec, Scope
from apiext.endpoints.serializers.negotiation import BUILTIN_OFFERS, TABLELESS_OFFERS, check_route, route_types
from apiext.managedfields.field_manager import FieldManager
from apiext.managedfields.field_set import from_paths
from apiext.managedfields.go_merge_types import from_go_type
from apiext.managedfields.versions import BuiltinVersions
from apiext.meta import errors
from apiext.meta.builtin_resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    EVENTS,
    FLOW_SCHEMAS,
    NAMESPACES,
    PRIORITY_LEVEL_CONFIGURATIONS,
    STORAGE_VERSION_MIGRATIONS,
    STORAGE_VERSIONS,
    BuiltinResource,
)
from apiext.meta.encoding import json_values
from apiext.meta.gvk import GroupVersionResource
from apiext.registry.builtin.core_types import EVENT, NAMESPACE
from apiext.registry.builtin.event import FIELD_LABELS, event_codec, event_rest
from apiext.registry.builtin.flowcontrol import (
    FLOW_SCHEMA,
    PRIORITY_LEVEL,
    flow_schema_rest,
    priority_level_rest,
)
from apiext.registry.builtin.namespace import NamespaceFinalizeStrategy, NamespaceRest, NamespaceStatusStrategy, namespace_codec
from apiext.registry.builtin.storageversion import STORAGE_VERSION, StorageVersionStatusStrategy, storage_version_rest
from apiext.registry.builtin.storageversionmigration import (
    STORAGE_VERSION_MIGRATION,
    StorageVersionMigrationStatusStrategy,
    storage_version_migration_rest,
)
from apiext.registry.customresourcedefinition import CustomResourceDefinitionRest, CustomResourceDefinitionStatusStrategy
from apiext.registry.protobuf.customresourcedefinition import DEFINITION_WIRE
from apiext.registry.protobuf.kinds import Message, message_of
from apiext.serving.builtin_printers import (
    DEFINITION_COLUMNS,
    EVENT_COLUMNS,
    FLOW_SCHEMA_COLUMNS,
    NAMESPACE_COLUMNS,
    PRIORITY_LEVEL_COLUMNS,
    STORAGE_VERSION_COLUMNS,
    STORAGE_VERSION_MIGRATION_COLUMNS,
    flow_schema_order,
)
from apiext.serving.verbs import RESOURCE_VERBS

if TYPE_CHECKING:
    from apiext.admission.attributes import Admission
    from apiext.definitions.codec import CRDCodec
    from apiext.endpoints.scopes.open_watches import Watches
    from apiext.meta.encoding.json_codec import Object
    from apiext.meta.golang.type_model import Struct
    from apiext.meta.request import RequestInfo
    from apiext.registry.prune_guard import PruneGuard
    from apiext.registry.rest import ResourceRest
    from apiext.storage.factory import StoreFactory
    from apiext.storage.interface import Item, Store

_NOT_ALLOWED: Final = "the server does not allow this method on the requested resource"
_STREAMED: Final = frozenset({"list", "watch"})
_COLLECTION: Final = frozenset({"list", "watch", "create", "deletecollection"})
_NAMESPACE_LABELS: Final = frozenset({"metadata.name", "status.phase", "name"})


@dataclass(frozen=True, slots=True)
class BuiltinEndpoint:
    """A built-in resource with the scopes of its subresources."""

    resource: BuiltinResource
    scopes: Mapping[str, Scope]
    """Scopes by subresource; "" is the resource itself."""


class BuiltinEndpoints:
    """Answers requests for built-in resources."""

    def __init__(self, endpoints: Iterable[BuiltinEndpoint]) -> None:
        self._by_resource: dict[GroupVersionResource, BuiltinEndpoint] = {endpoint.resource.resource: endpoint for endpoint in endpoints}
        self._groups = frozenset(resource.group for resource in self._by_resource)

    def serves(self, info: RequestInfo) -> bool:
        """Report whether a request is for one of the built-in groups."""
        return info.group in self._groups and (info.api_prefix == "api") == (not info.group)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request for a built-in resource.

        Raises:
            StatusError: the resource is unknown (404), has no such verb (405), or the verb fails.
        """
        info = request[INFO]
        endpoint = self._by_resource.get(GroupVersionResource(info.group, info.version, info.resource))
        scope = endpoint.scopes.get(info.subresource) if endpoint else None
        if endpoint is None or scope is None or (info.namespace and not scope.namespaced and not scope.is_namespaces):
            raise errors.path_not_found()
        if not _has_route(request, info, endpoint.resource):
            raise errors.StatusError(405, "MethodNotAllowed", _NOT_ALLOWED, {})
        check_route(request, route_types(request, streamed=info.verb in _STREAMED))
        return await RESOURCE_VERBS[info.verb](request, scope)


def _has_route(request: web.BaseRequest, info: RequestInfo, resource: BuiltinResource) -> bool:
    verbs: Sequence[str] = resource.verbs
    if info.subresource:
        subresource = resource.subresource(info.subresource)
        verbs = subresource.verbs if subresource else ()
    if request.method == "HEAD" or info.verb not in verbs or info.verb not in RESOURCE_VERBS:
        return False
    named = len(info.parts) > 1
    return info.verb == "watch" or (info.verb in _COLLECTION) != named


# --- resources ------------------------------------------------------------------------------------------------------


def core_endpoints(stores: StoreFactory, admission: Admission, watches: Watches) -> list[BuiltinEndpoint]:
    """Return the endpoints of the core/v1 resources: namespaces, then events."""
    return [
        namespaces_endpoint(stores.store(NAMESPACES.resource.group_resource), admission, watches),
        events_endpoint(stores.store(EVENTS.resource.group_resource), admission, watches),
    ]


def namespace_rest(stores: StoreFactory) -> NamespaceRest:
    """Return the REST storage of namespaces."""
    return NamespaceRest(store=stores.store(NAMESPACES.resource.group_resource), codec=namespace_codec())


def namespaces_endpoint(store: Store, admission: Admission, watches: Watches) -> BuiltinEndpoint:
    """Return the endpoint of namespaces with the subresources status and finalize."""
    codec = namespace_codec()
    rest = NamespaceRest(store=store, codec=codec)
    scope = _scope(
        NAMESPACES,
        rest=rest,
        struct=NAMESPACE,
        field_label=known_field_labels(_NAMESPACE_LABELS),
        admission=admission,
        watches=watches,
        table=TableConvertor(NAMESPACE_COLUMNS),
    )
    main = dataclasses.replace(scope, returns_deleted=True, strategic_keys={**OBJECT_META_KEYS, "status.conditions": "type"})
    status = dataclasses.replace(rest, strategy=NamespaceStatusStrategy())
    finalize = dataclasses.replace(rest, strategy=NamespaceFinalizeStrategy())
    fields = partial(_fields, NAMESPACES, NAMESPACE, codec)
    return BuiltinEndpoint(
        NAMESPACES,
        {
            "": main,
            "status": dataclasses.replace(main, subresource="status", rest=status, fields=fields(("spec",), "status")),
            "finalize": dataclasses.replace(
                main, subresource="finalize", rest=finalize, offers=TABLELESS_OFFERS, fields=fields(("status",), "finalize")
            ),
        },
    )


def events_endpoint(store: Store, admission: Admission, watches: Watches) -> BuiltinEndpoint:
    """Return the endpoint of events."""
    scope = _scope(
        EVENTS,
        rest=event_rest(store, event_codec()),
        struct=EVENT,
        field_label=known_field_labels(FIELD_LABELS),
        admission=admission,
        watches=watches,
        table=TableConvertor(EVENT_COLUMNS),
    )
    return BuiltinEndpoint(EVENTS, {"": dataclasses.replace(scope, creates_on_update=True)})


def storage_versions_endpoint(store: Store, admission: Admission, watches: Watches) -> BuiltinEndpoint:
    """Return the endpoint of StorageVersions with the subresource status."""
    rest = storage_version_rest(store)
    main = _scope(
        STORAGE_VERSIONS,
        rest=rest,
        struct=STORAGE_VERSION,
        field_label=meta_field_label,
        admission=admission,
        watches=watches,
        table=TableConvertor(STORAGE_VERSION_COLUMNS),
    )
    return _with_status(STORAGE_VERSIONS, STORAGE_VERSION, main, dataclasses.replace(rest, strategy=StorageVersionStatusStrategy()))


def flow_control_endpoints(stores: StoreFactory, admission: Admission, watches: Watches) -> list[BuiltinEndpoint]:
    """Return the endpoints of FlowSchemas and PriorityLevelConfigurations. Both are read-only and have the subresource status."""
    found = []
    for resource, rest, struct, table in (
        (FLOW_SCHEMAS, flow_schema_rest, FLOW_SCHEMA, TableConvertor(FLOW_SCHEMA_COLUMNS, order=flow_schema_order)),
        (PRIORITY_LEVEL_CONFIGURATIONS, priority_level_rest, PRIORITY_LEVEL, TableConvertor(PRIORITY_LEVEL_COLUMNS)),
    ):
        main = _scope(
            resource,
            rest=rest(stores.store(resource.resource.group_resource)),
            struct=struct,
            field_label=meta_field_label,
            admission=admission,
            watches=watches,
            table=table,
        )
        found.append(BuiltinEndpoint(resource, {"": main, "status": dataclasses.replace(main, subresource="status")}))
    return found


def storage_version_migrations_endpoint(store: Store, admission: Admission, watches: Watches) -> BuiltinEndpoint:
    """Return the endpoint of StorageVersionMigrations with the subresource status."""
    rest = storage_version_migration_rest(store)
    scope = _scope(
        STORAGE_VERSION_MIGRATIONS,
        rest=rest,
        struct=STORAGE_VERSION_MIGRATION,
        field_label=meta_field_label,
        admission=admission,
        watches=watches,
        table=TableConvertor(STORAGE_VERSION_MIGRATION_COLUMNS),
    )
    main = dataclasses.replace(scope, other_versions=("v1beta1",), strategic_keys={**OBJECT_META_KEYS, "status.conditions": "type"})
    status = dataclasses.replace(rest, strategy=StorageVersionMigrationStatusStrategy())
    return _with_status(STORAGE_VERSION_MIGRATIONS, STORAGE_VERSION_MIGRATION, main, status)


def _with_status(resource: BuiltinResource, struct: Struct, main: Scope, status: ResourceRest) -> BuiltinEndpoint:
    """Return the endpoint of a resource with a subresource status that resets metadata and spec."""
    fields = _fields(resource, struct, main.codec, ("metadata", "spec"), "status")
    return BuiltinEndpoint(resource, {"": main, "status": dataclasses.replace(main, subresource="status", rest=status, fields=fields)})


class ObservedDefinitions(Protocol):
    """A store of definitions. Its catalog sees each write at once."""

    @property
    def store(self) -> Store:
        """Return the store."""
        ...

    @property
    def codec(self) -> CRDCodec:
        """Return the codec of the catalog's definitions."""
        ...

    def observe(self, item: Item) -> None:
        """Put a definition into the catalog."""
        ...

    def forget(self, name: str, revision: int) -> None:
        """Remove a deleted definition from the catalog."""
        ...


def definitions_endpoint(definitions: ObservedDefinitions, guard: PruneGuard, admission: Admission, watches: Watches) -> BuiltinEndpoint:
    """Return the endpoint of CustomResourceDefinitions with the subresource status. Each write updates the catalog at once."""
    codec = definitions.codec
    rest = CustomResourceDefinitionRest(
        store=definitions.store, codec=codec, observe=definitions.observe, forget=definitions.forget, guard=guard
    )
    scope = _scope(
        CUSTOM_RESOURCE_DEFINITIONS,
        rest=rest,
        struct=DEFINITION,
        field_label=meta_field_label,
        admission=admission,
        watches=watches,
        message=DEFINITION_WIRE,
        table=TableConvertor(DEFINITION_COLUMNS),
    )
    main = dataclasses.replace(scope, other_versions=("v1beta1",), null_rows=True)
    status = dataclasses.replace(rest, strategy=CustomResourceDefinitionStatusStrategy())
    fields = _fields(CUSTOM_RESOURCE_DEFINITIONS, DEFINITION, codec, ("spec",), "status")
    status_scope = dataclasses.replace(main, subresource="status", rest=status, offers=TABLELESS_OFFERS, fields=fields)
    return BuiltinEndpoint(CUSTOM_RESOURCE_DEFINITIONS, {"": main, "status": status_scope})


def _fields(resource: BuiltinResource, struct: Struct, codec: BodyCodec, reset: Sequence[str], subresource: str = "") -> FieldManager:
    """Return the field manager of a kind. Its strategy resets the fields `reset`."""
    kind = resource.kind

    def empty() -> Object:
        obj: Object = struct.canonical({})
        return obj | {"apiVersion": kind.api_version, "kind": kind.kind}

    def complete(obj: Object) -> Object:
        completed: Object = json_values.copy(obj)
        codec.decode_body(completed, False)  # noqa: FBT003
        return completed

    fields = {kind.api_version: from_paths(*((f"f:{name}",) for name in reset))} if reset else {}
    return FieldManager(kind, BuiltinVersions(from_go_type(struct), empty, complete), fields, subresource=subresource)


def _scope(
    resource: BuiltinResource,
    *,
    rest: ResourceRest,
    struct: Struct,
    field_label: FieldLabel,
    admission: Admission,
    watches: Watches,
    table: TableConvertor,
    message: Message | None = None,
) -> Scope:
    """Return the scope of a resource, with the common settings of built-in resources."""
    codec = cast("BodyCodec", rest.codec)
    return Scope(
        kind=resource.kind,
        resource=resource.resource,
        rest=rest,
        codec=codec,
        fields=_fields(resource, struct, codec, ("status",) if resource.subresources else ()),
        field_label=field_label,
        admission=admission,
        watches=watches,
        namespaced=resource.namespaced,
        list_kind=resource.list_kind,
        typed=True,
        offers=BUILTIN_OFFERS,
        message=message or message_of(struct),
        package=resource.kind.group.partition(".")[0] or "core",
        table=table,
        patch_types=BUILTIN_PATCHES,
        strategic_keys=OBJECT_META_KEYS,
    )

"""The rows of the built-in kinds that every standalone server serves, and the endpoints made from them.

Definitions and reviews have endpoints of their own, which need more than a store.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from apiext.api.endpoints.handlers.strategic_merge import OBJECT_META_KEYS
from apiext.api.endpoints.parameters.options import known_field_labels
from apiext.api.endpoints.responsewriters.table import NAME, Cell, Column, TableConvertor
from apiext.api.endpoints.serializers.negotiation import TABLELESS_OFFERS
from apiext.api.serving.builtin.endpoints import BuiltinEndpoint, DeferredScopes
from apiext.api.serving.builtin.events import EVENTS, EVENTS_V1
from apiext.api.serving.builtin.flowcontrol import FLOW_SCHEMAS, PRIORITY_LEVEL_CONFIGURATIONS
from apiext.api.serving.builtin.printing import AGE, PLAIN_TABLE, at, text
from apiext.api.serving.builtin.served_kind import WITH_CONDITIONS, ServedKind, ServedSubresource
from apiext.base.meta.builtin_resources import ADMISSIONREGISTRATION_V1
from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.registry.builtin import rbac
from apiext.resources.registry.builtin.core import CONFIG_MAP_KIND, SECRET_KIND, SERVICE_ACCOUNT_KIND
from apiext.resources.registry.builtin.lease import LEASE_KIND
from apiext.resources.registry.builtin.namespace import NAMESPACE_KIND, NamespaceFinalizeStrategy, NamespaceStatusStrategy
from apiext.resources.registry.builtin.storageversion import STORAGE_VERSION_KIND, StorageVersionStatusStrategy
from apiext.resources.registry.builtin.storageversionmigration import (
    FAILED,
    RUNNING,
    STORAGE_VERSION_MIGRATION_KIND,
    SUCCEEDED,
    StorageVersionMigrationStatusStrategy,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from apiext.api.admission.attributes import Admission
    from apiext.api.endpoints.scopes.open_watches import Watches
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.base.meta.builtin_resources import BuiltinGroupVersion, BuiltinResource
    from apiext.storage.factory import StoreFactory

# --- namespaces -----------------------------------------------------------------------------------------------------

_NAMESPACE_COLUMNS: Final = (
    NAME,
    text("Status", "The status of the namespace", at("status", "phase")),
    AGE,
)

_NAMESPACES: Final = ServedKind(
    kind=NAMESPACE_KIND,
    table=TableConvertor(_NAMESPACE_COLUMNS),
    field_label=known_field_labels(frozenset({"metadata.name", "status.phase", "name"})),
    strategic_keys=WITH_CONDITIONS,
    pins_deleted=True,
    returns_deleted=True,
    subresources={
        "status": ServedSubresource(strategy=NamespaceStatusStrategy(), reset=("spec",)),
        "finalize": ServedSubresource(strategy=NamespaceFinalizeStrategy(), reset=("status",), offers=TABLELESS_OFFERS),
    },
)


# --- service accounts -----------------------------------------------------------------------------------------------


_SERVICE_ACCOUNTS: Final = ServedKind(
    kind=SERVICE_ACCOUNT_KIND,
    table=TableConvertor((NAME, AGE)),
    strategic_keys={**OBJECT_META_KEYS, ".secrets": "name"},
    returns_deleted=True,
)


# --- config maps and secrets ----------------------------------------------------------------------------------------


_CONFIG_MAP_DATA: Final = (
    "Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'. Values with non-UTF-8 "
    "byte sequences must use the BinaryData field. The keys stored in Data must not overlap with the keys in the BinaryData field, "
    "this is enforced during validation process."
)
_ENTRIES: Final = (
    "Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or '.'. The serialized form of the "
    "secret data is a base64 encoded string, representing the arbitrary (possibly non-string) data value here. Described in "
    "https://tools.ietf.org/html/rfc4648#section-4"
)
_PURPOSE: Final = (
    "Used to facilitate programmatic handling of secret data. More info: "
    "https://kubernetes.io/docs/concepts/configuration/secret/#secret-types"
)


def _entries(obj: Object, _now: datetime) -> int:
    return len(obj.get("data", {})) + len(obj.get("binaryData", {}))


_CONFIG_MAPS: Final = ServedKind(kind=CONFIG_MAP_KIND, table=TableConvertor((NAME, text("Data", _CONFIG_MAP_DATA, _entries), AGE)))
_SECRETS: Final = ServedKind(
    kind=SECRET_KIND,
    table=TableConvertor((NAME, text("Type", _PURPOSE, at("type")), text("Data", _ENTRIES, _entries), AGE)),
    field_label=known_field_labels(frozenset({"metadata.name", "metadata.namespace", "type"})),
)


# --- leases ---------------------------------------------------------------------------------------------------------

_HOLDER: Final = (
    "holderIdentity contains the identity of the holder of a current lease. If Coordinated Leader Election is used, the holder identity "
    "must be equal to the elected LeaseCandidate.metadata.name field."
)
_LEASES: Final = ServedKind(
    kind=LEASE_KIND,
    table=TableConvertor((NAME, text("Holder", _HOLDER, at("spec", "holderIdentity")), AGE)),
    creates_on_update=True,
)


# --- RBAC -----------------------------------------------------------------------------------------------------------

_ROLE: Final = (
    "roleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the RoleRef cannot be "
    "resolved, the Authorizer must return an error."
)
_CLUSTER_ROLE: Final = (
    "roleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must "
    "return an error."
)


def _role(obj: Object, _now: datetime) -> str:
    return f"{obj['roleRef']['kind']}/{obj['roleRef']['name']}"


def _subjects(kind: str) -> Cell:
    """Return a cell function that prints the subjects of a kind."""

    def cell(obj: Object, _now: datetime) -> str:
        found = [subject for subject in obj.get("subjects", ()) if subject["kind"] == kind]
        return ", ".join(f"{one.get('namespace', '')}/{one['name']}" if kind == rbac.SERVICE_ACCOUNT else one["name"] for one in found)

    return cell


def _binding_columns(kind: str, role: str) -> tuple[Column, ...]:
    return (
        NAME,
        text("Role", role, _role),
        AGE,
        text("Users", f"Users in the {kind}", _subjects(rbac.USER), priority=1),
        text("Groups", f"Groups in the {kind}", _subjects(rbac.GROUP_KIND), priority=1),
        text("ServiceAccounts", f"ServiceAccounts in the {kind}", _subjects(rbac.SERVICE_ACCOUNT), priority=1),
    )


_ROLES: Final = ServedKind(kind=rbac.ROLE_KIND, table=PLAIN_TABLE, null_rows=True, creates_on_update=True)
_CLUSTER_ROLES: Final = ServedKind(kind=rbac.CLUSTER_ROLE_KIND, table=PLAIN_TABLE, null_rows=True, creates_on_update=True)
_ROLE_BINDINGS: Final = ServedKind(
    kind=rbac.ROLE_BINDING_KIND, table=TableConvertor(_binding_columns("roleBinding", _ROLE)), creates_on_update=True
)
_CLUSTER_ROLE_BINDINGS: Final = ServedKind(
    kind=rbac.CLUSTER_ROLE_BINDING_KIND, table=TableConvertor(_binding_columns("clusterRoleBinding", _CLUSTER_ROLE)), creates_on_update=True
)


# --- storage versions -----------------------------------------------------------------------------------------------

_SERVERS_SHOWN: Final = 3


def _common_encoding(obj: Object, _now: datetime) -> str:
    common: str | None = obj["status"].get("commonEncodingVersion")
    return "<unset>" if common is None else common


def _encodings(obj: Object, _now: datetime) -> str:
    servers = obj["status"].get("storageVersions") or ()
    shown = ",".join(f"{one.get('apiServerID', '')}={one.get('encodingVersion', '')}" for one in servers[:_SERVERS_SHOWN])
    more = len(servers) - _SERVERS_SHOWN
    return f"{shown} + {more} more..." if more > 0 else shown or "<unset>"


_STORAGE_VERSION_COLUMNS: Final = (
    NAME,
    text(
        "CommonEncodingVersion",
        "commonEncodingVersion is set to an encoding storage version if all API server instances share that same version. "
        "If they don't share one storage version, this field is left empty. API servers should finish updating its storageVersionStatus "
        "entry before serving write operations, so that this field will be in sync with the reality.",
        _common_encoding,
    ),
    text("StorageVersions", "storageVersions lists the reported versions per API server instance.", _encodings),
    AGE,
)
_STORAGE_VERSIONS: Final = ServedKind(
    kind=STORAGE_VERSION_KIND,
    table=TableConvertor(_STORAGE_VERSION_COLUMNS),
    subresources={"status": ServedSubresource(strategy=StorageVersionStatusStrategy())},
)


# --- storage version migrations -------------------------------------------------------------------------------------


def _group_resource(obj: Object, _now: datetime) -> str:
    resource = obj["spec"]["resource"]
    return f"{resource['resource']}.{resource['group']}" if resource["group"] else str(resource["resource"])


def _migration_state(obj: Object, _now: datetime) -> str:
    """Return the last known condition that is true."""
    state = "Unknown"
    for condition in obj["status"].get("conditions") or ():
        if condition["status"] == "True" and condition["type"] in {RUNNING, SUCCEEDED, FAILED}:
            state = condition["type"]
    return state


_MIGRATION_COLUMNS: Final = (
    Column("Name", "string", description=NAME.description, value=NAME.value),
    text("Resource", "GroupResource to migrate", _group_resource),
    text("Status", "Status of the migration", _migration_state),
)
_STORAGE_VERSION_MIGRATIONS: Final = ServedKind(
    kind=STORAGE_VERSION_MIGRATION_KIND,
    table=TableConvertor(_MIGRATION_COLUMNS),
    other_versions=("v1beta1",),
    strategic_keys=WITH_CONDITIONS,
    subresources={"status": ServedSubresource(strategy=StorageVersionMigrationStatusStrategy())},
)


# --- endpoints ------------------------------------------------------------------------------------------------------

_KINDS: Final = {
    served.kind.resource.resource: served
    for served in (
        *(_NAMESPACES, EVENTS, EVENTS_V1, _SERVICE_ACCOUNTS, _CONFIG_MAPS, _SECRETS, _LEASES),
        *(_ROLES, _CLUSTER_ROLES, _ROLE_BINDINGS, _CLUSTER_ROLE_BINDINGS),
        *(_STORAGE_VERSIONS, _STORAGE_VERSION_MIGRATIONS, FLOW_SCHEMAS, PRIORITY_LEVEL_CONFIGURATIONS),
    )
}
_DEFERRED: Final = frozenset(ADMISSIONREGISTRATION_V1.resources)
"""Resources that few servers use. Their kinds are imported and their scopes made at the first use."""


def served_kind(resource: BuiltinResource) -> ServedKind | None:
    """Return the row of a kind, None for definitions."""
    if resource in _DEFERRED:
        from apiext.api.serving.builtin.admissionregistration import KINDS

        return KINDS[resource.plural]
    return _KINDS.get(resource.resource)


def endpoints_of(
    groups: Iterable[BuiltinGroupVersion], stores: StoreFactory, admission: Admission, watches: Watches
) -> list[BuiltinEndpoint]:
    """Return the endpoints of group versions, without that of definitions. Some have scopes that are made at their first use."""
    return [
        _endpoint(resource, stores, admission, watches)
        for group in groups
        for resource in group.resources
        if resource in _DEFERRED or served_kind(resource) is not None
    ]


def _endpoint(resource: BuiltinResource, stores: StoreFactory, admission: Admission, watches: Watches) -> BuiltinEndpoint:
    def scopes() -> Mapping[str, Scope]:
        served = served_kind(resource)
        store = stores.store(resource.stored_resource, shown=resource.resource.group_resource)
        return {} if served is None else served.endpoint(store, admission, watches).scopes

    return BuiltinEndpoint(resource, DeferredScopes(scopes) if resource in _DEFERRED else scopes())

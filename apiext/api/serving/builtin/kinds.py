"""The rows of the built-in kinds that every standalone server serves, and the endpoints made from them.

Definitions and reviews have endpoints of their own, which need more than a store.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from apiext.api.endpoints.handlers.strategic_merge import OBJECT_META_KEYS
from apiext.api.endpoints.parameters.options import known_field_labels
from apiext.api.endpoints.responsewriters.human_duration import age
from apiext.api.endpoints.responsewriters.table import NAME, Cell, Column, TableConvertor
from apiext.api.endpoints.serializers.negotiation import TABLELESS_OFFERS
from apiext.api.serving.builtin.endpoints import BuiltinEndpoint, DeferredScopes
from apiext.api.serving.builtin.printing import AGE, PLAIN_TABLE, at, text
from apiext.api.serving.builtin.served_kind import WITH_CONDITIONS, ServedKind, ServedSubresource
from apiext.base.meta import builtin_resources as resources
from apiext.base.meta.builtin_resources import ADMISSIONREGISTRATION_V1, BuiltinResource
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.generated.go_types import struct_of
from apiext.resources.registry.builtin import rbac
from apiext.resources.registry.builtin.core import CONFIG_MAP_KIND, SECRET_KIND, SERVICE_ACCOUNT_KIND
from apiext.resources.registry.builtin.events import EVENT_KIND, EVENT_LABELS, EVENT_V1_KIND, EVENT_V1_LABELS, from_core, to_core
from apiext.resources.registry.builtin.kind import BuiltinKind
from apiext.resources.registry.builtin.lease import LEASE_KIND
from apiext.resources.registry.builtin.namespace import NAMESPACE_KIND, NamespaceFinalizeStrategy, NamespaceStatusStrategy
from apiext.resources.registry.builtin.storageversion import (
    FAILED,
    RUNNING,
    STORAGE_VERSION_KIND,
    STORAGE_VERSION_MIGRATION_KIND,
    SUCCEEDED,
    StorageVersionMigrationStatusStrategy,
    StorageVersionStatusStrategy,
)
from apiext.resources.registry.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from apiext.api.admission.attributes import Admission
    from apiext.api.endpoints.scopes.open_watches import Watches
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.base.meta.builtin_resources import BuiltinGroupVersion
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


_FIELD_PATH: Final = (
    "If referring to a piece of an object instead of an entire object, this string should contain a valid JSON/Go field access "
    "statement, such as desiredState.manifest.containers[2]. For example, if the object reference is to a container within a pod, "
    'this would take on a value like: "spec.containers{name}" (where "name" refers to the name of the container that triggered '
    'the event) or if no container name is specified "spec.containers[2]" (container with index 2 in this pod). This syntax is '
    "chosen only to have some well-defined way of referencing a part of an object."
)
_REASON: Final = (
    "This should be a short, machine understandable string that gives the reason for the transition into the object's current status."
)


def _distinguisher(obj: Object, _now: datetime) -> str:
    method = obj["spec"].get("distinguisherMethod")
    return "<none>" if method is None else str(method["type"])


def _dangling(obj: Object, _now: datetime) -> str:
    conditions = obj["status"].get("conditions") or ()
    return next((str(condition["status"]) for condition in conditions if condition["type"] == "Dangling"), "?")


def _limit(*path: str) -> Cell:
    """Return a cell function that prints a member of a limited priority level."""
    cell = at("spec", "limited", *path)

    def limit(obj: Object, now: datetime) -> Any:
        found = cell(obj, now)
        return "<none>" if found == "" else found

    return limit


_LEVEL_NAME: Final = "`name` is the name of the priority level configuration being referenced Required."
_PRECEDENCE: Final = (
    "`matchingPrecedence` is used to choose among the FlowSchemas that match a given request. The chosen FlowSchema is among those "
    "with the numerically lowest (which we take to be logically highest) MatchingPrecedence.  Each MatchingPrecedence value must be "
    "ranged in [1,10000]. Note that if the precedence is not specified, it will be set to 1000 as default."
)
_DISTINGUISHER: Final = (
    "`distinguisherMethod` defines how to compute the flow distinguisher for requests that match this schema. `nil` specifies that "
    "the distinguisher is disabled and thus will always be the empty string."
)
_LEVEL_TYPE: Final = (
    '`type` indicates whether this priority level is subject to limitation on request execution.  A value of `"Exempt"` means that '
    "requests of this priority level are not subject to a limit (and thus are never queued) and do not detract from the capacity "
    'made available to other priority levels.  A value of `"Limited"` means that (a) requests of this priority level _are_ subject '
    "to limits and (b) some of the server's limited capacity is made available exclusively to this priority level. Required."
)
_SHARES: Final = (
    "`nominalConcurrencyShares` (NCS) contributes to the computation of the NominalConcurrencyLimit (NominalCL) of this level. This "
    "is the number of execution seats available at this priority level. This is used both for requests dispatched from this priority "
    "level as well as requests dispatched from other priority levels borrowing seats from this level. The server's concurrency limit "
    "(ServerCL) is divided among the Limited priority levels in proportion to their NCS values:\n\nNominalCL(i)  = ceil( ServerCL * "
    "NCS(i) / sum_ncs ) sum_ncs = sum[priority level k] NCS(k)\n\nBigger numbers mean a larger nominal concurrency limit, at the "
    "expense of every other priority level.\n\nIf not specified, this field defaults to a value of 30.\n\nSetting this field to zero "
    'supports the construction of a "jail" for this priority level that is used to hold some request(s)'
)
_QUEUES: Final = (
    "`queues` is the number of queues for this priority level. The queues exist independently at each apiserver. The value must be "
    "positive.  Setting it to 1 effectively precludes shufflesharding and thus makes the distinguisher method of associated flow "
    "schemas irrelevant.  This field has a default value of 64."
)
_HAND_SIZE: Final = (
    "`handSize` is a small positive number that configures the shuffle sharding of requests into queues.  When enqueuing a request "
    "at this priority level the request's flow identifier (a string pair) is hashed and the hash value is used to shuffle the list "
    "of queues and deal a hand of the size specified here.  The request is put into one of the shortest queues in that hand. "
    "`handSize` must be no larger than `queues`, and should be significantly smaller (so that a few heavy flows do not saturate most "
    "of the queues).  See the user-facing documentation for more extensive guidance on setting this field.  This field has a default "
    "value of 8."
)
_QUEUE_LENGTH: Final = (
    "`queueLengthLimit` is the maximum number of requests allowed to be waiting in a given queue of this priority level at a time; "
    "excess requests are rejected.  This value must be positive.  If not specified, it will be defaulted to 50."
)

_FLOW_SCHEMA_COLUMNS: Final = (
    NAME,
    text("PriorityLevel", _LEVEL_NAME, at("spec", "priorityLevelConfiguration", "name")),
    text("MatchingPrecedence", _PRECEDENCE, at("spec", "matchingPrecedence")),
    text("DistinguisherMethod", _DISTINGUISHER, _distinguisher),
    AGE,
    text("MissingPL", "references a broken or non-existent PriorityLevelConfiguration", _dangling),
)


def _flow_schema_order(obj: Object) -> tuple[int, str]:
    """Return the sort key of FlowSchemas in a table: the order in which requests match them."""
    return obj["spec"]["matchingPrecedence"], obj["metadata"]["name"]


_QUEUING: Final = ("limitResponse", "queuing")
_PRIORITY_LEVEL_COLUMNS: Final = (
    NAME,
    text("Type", _LEVEL_TYPE, at("spec", "type")),
    text("NominalConcurrencyShares", _SHARES, _limit("nominalConcurrencyShares")),
    text("Queues", _QUEUES, _limit(*_QUEUING, "queues")),
    text("HandSize", _HAND_SIZE, _limit(*_QUEUING, "handSize")),
    text("QueueLengthLimit", _QUEUE_LENGTH, _limit(*_QUEUING, "queueLengthLimit")),
    AGE,
)

_SUBRESOURCES: Final = {"status": ServedSubresource(reset=None)}


def _served(resource: BuiltinResource, table: TableConvertor) -> ServedKind:
    kind = BuiltinKind(resource=resource, struct=struct_of(resource.kind), strategy=Strategy())
    return ServedKind(kind=kind, table=table, subresources=_SUBRESOURCES)


FLOW_SCHEMAS: Final = _served(resources.FLOW_SCHEMAS, TableConvertor(_FLOW_SCHEMA_COLUMNS, order=_flow_schema_order))
PRIORITY_LEVEL_CONFIGURATIONS: Final = _served(resources.PRIORITY_LEVEL_CONFIGURATIONS, TableConvertor(_PRIORITY_LEVEL_COLUMNS))


def _since(timestamp: Any, now: datetime) -> str:
    return age(timestamp or "", now)


def _first_seen(obj: Object, now: datetime) -> str:
    return _since(obj.get("firstTimestamp") or obj.get("eventTime"), now)


def _last_seen(obj: Object, now: datetime) -> str:
    series = obj.get("series")
    if series:
        return _since(series.get("lastObservedTime"), now)
    return _since(obj["lastTimestamp"], now) if obj.get("lastTimestamp") else _first_seen(obj, now)


def _count(obj: Object, _now: datetime) -> int:
    series = obj.get("series")
    return int(series.get("count", 0) if series else obj.get("count") or 1)


def _target(obj: Object, _now: datetime) -> str:
    involved = obj.get("involvedObject") or {}
    kind = str(involved.get("kind", "")).lower()
    return f"{kind}/{involved['name']}" if involved.get("name") else kind


def _source(obj: Object, _now: datetime) -> str:
    source = obj.get("source") or {}
    component = source.get("component") or obj.get("reportingComponent") or ""
    host = source.get("host") or obj.get("reportingInstance") or ""
    return f"{component}, {host}" if host else component


def _message(obj: Object, _now: datetime) -> str:
    return str(obj.get("message") or "").strip()


_EVENT_COLUMNS: Final = (
    text("Last Seen", "The time at which the most recent occurrence of this event was recorded.", _last_seen),
    text("Type", "Type of this event (Normal, Warning), new types could be added in the future", at("type")),
    text("Reason", _REASON, at("reason")),
    text("Object", "The object that this event is about.", _target),
    text("Subobject", _FIELD_PATH, at("involvedObject", "fieldPath"), priority=1),
    text(
        "Source",
        "The component reporting this event. Should be a short machine understandable string.",
        _source,
        priority=1,
    ),
    text("Message", "A human-readable description of the status of this operation.", _message),
    text(
        "First Seen",
        "The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)",
        _first_seen,
        priority=1,
    ),
    text("Count", "The number of times this event has occurred.", _count, priority=1),
    Column("Name", "string", description=NAME.description, format="name", priority=1, value=NAME.value),
)


def _of_core(column: Column) -> Column:
    """Return a column of the core group's events for those of events.k8s.io."""
    cell = column.cell
    return column if cell is None else column._replace(cell=lambda obj, now: cell(to_core(obj), now))


EVENTS: Final[ServedKind] = ServedKind(
    kind=EVENT_KIND,
    table=TableConvertor(_EVENT_COLUMNS),
    field_label=known_field_labels(EVENT_LABELS),
    creates_on_update=True,
    equivalents=lambda: ((EVENTS_V1, from_core, to_core),),
)
EVENTS_V1: Final[ServedKind] = ServedKind(
    kind=EVENT_V1_KIND,
    table=TableConvertor(tuple(map(_of_core, _EVENT_COLUMNS))),
    field_label=known_field_labels(EVENT_V1_LABELS),
    creates_on_update=True,
    equivalents=lambda: ((EVENTS, to_core, from_core),),
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

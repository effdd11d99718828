"""Table columns of built-in kinds.

Mirrors pkg/printers/internalversion (printers.go) of kubernetes and apiextensions-apiserver
pkg/registry/customresourcedefinition/strategy.go.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from apiext.endpoints.responsewriters.human_duration import age
from apiext.endpoints.responsewriters.table import CREATED_DESCRIPTION, NAME, Cell, Column
from apiext.meta.encoding.json_codec import Object
from apiext.registry.builtin.storageversionmigration import FAILED, RUNNING, SUCCEEDED

_FIELD_PATH: Final = (
    "If referring to a piece of an object instead of an entire object, this string should contain a valid JSON/Go field access "
    "statement, such as desiredState.manifest.containers[2]. For example, if the object reference is to a container within a pod, "
    'this would take on a value like: "spec.containers{name}" (where "name" refers to the name of the container that triggered '
    'the event) or if no container name is specified "spec.containers[2]" (container with index 2 in this pod). This syntax is '
    "chosen only to have some well-defined way of referencing a part of an object."
)
_SERVERS_SHOWN: Final = 3
_REASON: Final = (
    "This should be a short, machine understandable string that gives the reason for the transition into the object's current status."
)


def _at(*path: str) -> Cell:
    """Return a cell function that prints one field, "" if it is missing."""

    def cell(obj: Object, _now: datetime) -> Any:
        value: Any = obj
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return "" if value is None else value

    return cell


def _text(name: str, description: str, cell: Cell, *, priority: int = 0) -> Column:
    return Column(name, "string", description=description, cell=cell, priority=priority)


# --- namespaces -----------------------------------------------------------------------------------------------------


def _created(obj: Object, now: datetime) -> Any:
    return age(obj["metadata"].get("creationTimestamp") or "", now)


NAMESPACE_COLUMNS: Final = (
    NAME,
    _text("Status", "The status of the namespace", _at("status", "phase")),
    _text("Age", CREATED_DESCRIPTION, _created),
)


# --- events ---------------------------------------------------------------------------------------------------------


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


EVENT_COLUMNS: Final = (
    _text("Last Seen", "The time at which the most recent occurrence of this event was recorded.", _last_seen),
    _text("Type", "Type of this event (Normal, Warning), new types could be added in the future", _at("type")),
    _text("Reason", _REASON, _at("reason")),
    _text("Object", "The object that this event is about.", _target),
    _text("Subobject", _FIELD_PATH, _at("involvedObject", "fieldPath"), priority=1),
    _text(
        "Source",
        "The component reporting this event. Should be a short machine understandable string.",
        _source,
        priority=1,
    ),
    _text("Message", "A human-readable description of the status of this operation.", _message),
    _text(
        "First Seen",
        "The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)",
        _first_seen,
        priority=1,
    ),
    _text("Count", "The number of times this event has occurred.", _count, priority=1),
    Column("Name", "string", description=NAME.description, format="name", priority=1, value=NAME.value),
)


# --- custom resource definitions ------------------------------------------------------------------------------------


def _versions(obj: Object, _now: datetime) -> str:
    served = [version for version in obj["spec"].get("versions") or () if version.get("served")]
    return ",".join(sorted(version["name"] + ("(storage)" if version.get("storage") else "") for version in served))


def _short_names(obj: Object, _now: datetime) -> str:
    return ",".join(obj["spec"]["names"].get("shortNames") or ())


def _established(obj: Object, _now: datetime) -> bool:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(item.get("type") == "Established" and item.get("status") == "True" for item in conditions)


DEFINITION_COLUMNS: Final = (
    NAME,
    _text("Scope", "Cluster/Namespaced", _at("spec", "scope")),
    _text("Versions", "Served versions", _versions),
    Column("Created At", "date", description=CREATED_DESCRIPTION, cell=_at("metadata", "creationTimestamp")),
    _text("Group", "API group", _at("spec", "group"), priority=1),
    _text("Kind", "CustomResource kind", _at("spec", "names", "kind"), priority=1),
    _text("ShortNames", "Short names", _short_names, priority=1),
    Column("Established", "boolean", description="Established status", priority=1, cell=_established),
)


# --- storage versions -----------------------------------------------------------------------------------------------


def _common_encoding(obj: Object, _now: datetime) -> str:
    common: str | None = obj["status"].get("commonEncodingVersion")
    return "<unset>" if common is None else common


def _encodings(obj: Object, _now: datetime) -> str:
    servers = obj["status"].get("storageVersions") or ()
    shown = ",".join(f"{one.get('apiServerID', '')}={one.get('encodingVersion', '')}" for one in servers[:_SERVERS_SHOWN])
    more = len(servers) - _SERVERS_SHOWN
    return f"{shown} + {more} more..." if more > 0 else shown or "<unset>"


STORAGE_VERSION_COLUMNS: Final = (
    NAME,
    _text(
        "CommonEncodingVersion",
        "commonEncodingVersion is set to an encoding storage version if all API server instances share that same version. "
        "If they don't share one storage version, this field is left empty. API servers should finish updating its storageVersionStatus "
        "entry before serving write operations, so that this field will be in sync with the reality.",
        _common_encoding,
    ),
    _text("StorageVersions", "storageVersions lists the reported versions per API server instance.", _encodings),
    _text("Age", CREATED_DESCRIPTION, _created),
)


# --- flow control ---------------------------------------------------------------------------------------------------


def _distinguisher(obj: Object, _now: datetime) -> str:
    method = obj["spec"].get("distinguisherMethod")
    return "<none>" if method is None else str(method["type"])


def _dangling(obj: Object, _now: datetime) -> str:
    conditions = obj["status"].get("conditions") or ()
    return next((str(condition["status"]) for condition in conditions if condition["type"] == "Dangling"), "?")


def _limit(obj: Object, *path: str) -> Any:
    """Return a member of a limited priority level."""
    found = obj["spec"].get("limited")
    for name in path:
        found = found and found.get(name)
    return "<none>" if found is None else found


def _shares(obj: Object, _now: datetime) -> Any:
    return _limit(obj, "nominalConcurrencyShares")


def _queues(obj: Object, _now: datetime) -> Any:
    return _limit(obj, "limitResponse", "queuing", "queues")


def _hand_size(obj: Object, _now: datetime) -> Any:
    return _limit(obj, "limitResponse", "queuing", "handSize")


def _queue_length(obj: Object, _now: datetime) -> Any:
    return _limit(obj, "limitResponse", "queuing", "queueLengthLimit")


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

FLOW_SCHEMA_COLUMNS: Final = (
    NAME,
    _text("PriorityLevel", _LEVEL_NAME, _at("spec", "priorityLevelConfiguration", "name")),
    _text("MatchingPrecedence", _PRECEDENCE, _at("spec", "matchingPrecedence")),
    _text("DistinguisherMethod", _DISTINGUISHER, _distinguisher),
    _text("Age", CREATED_DESCRIPTION, _created),
    _text("MissingPL", "references a broken or non-existent PriorityLevelConfiguration", _dangling),
)


def flow_schema_order(obj: Object) -> tuple[int, str]:
    """Return the sort key of FlowSchemas in a table: the order in which requests match them."""
    return obj["spec"]["matchingPrecedence"], obj["metadata"]["name"]


PRIORITY_LEVEL_COLUMNS: Final = (
    NAME,
    _text("Type", _LEVEL_TYPE, _at("spec", "type")),
    _text("NominalConcurrencyShares", _SHARES, _shares),
    _text("Queues", _QUEUES, _queues),
    _text("HandSize", _HAND_SIZE, _hand_size),
    _text("QueueLengthLimit", _QUEUE_LENGTH, _queue_length),
    _text("Age", CREATED_DESCRIPTION, _created),
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


STORAGE_VERSION_MIGRATION_COLUMNS: Final = (
    Column("Name", "string", description=NAME.description, value=NAME.value),
    _text("Resource", "GroupResource to migrate", _group_resource),
    _text("Status", "Status of the migration", _migration_state),
)

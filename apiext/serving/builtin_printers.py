"""Table columns of built-in kinds.

Mirrors pkg/printers/internalversion (printers.go) of kubernetes and apiextensions-apiserver
pkg/registry/customresourcedefinition/strategy.go.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from apiext.endpoints.responsewriters.human_duration import age
from apiext.endpoints.responsewriters.table import CREATED_DESCRIPTION, NAME, Cell, Column
from apiext.meta.json_codec import Object
from apiext.registry.storageversionmigration import FAILED, RUNNING, SUCCEEDED

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


# --- storage version migrations -------------------------------------------------------------------------------------


def _group_resource(obj: Object, _now: datetime) -> str:
    resource = obj["spec"]["resource"]
    return f"{resource['resource']}.{resource['group']}" if resource["group"] else str(resource["resource"])


def _migration_state(obj: Object, _now: datetime) -> str:
    """Return the last of the known conditions that are true."""
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

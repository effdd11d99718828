"""Events, in the form of core/v1 and of events.k8s.io/v1."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import Any, Final

from apiext.api.endpoints.parameters.options import known_field_labels
from apiext.api.endpoints.responsewriters.human_duration import age
from apiext.api.endpoints.responsewriters.table import NAME, Column, TableConvertor
from apiext.api.serving.builtin.printing import at, text
from apiext.api.serving.builtin.served_kind import ServedKind
from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.registry.builtin.events import EVENT_KIND, EVENT_LABELS, EVENT_V1_KIND, EVENT_V1_LABELS, from_core, to_core

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
    return column if cell is None else dataclasses.replace(column, cell=lambda obj, now: cell(to_core(obj), now))


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

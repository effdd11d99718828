"""events.k8s.io/v1 Events: the events of the core group in another form, with stricter rules for writes in this form.

Mirrors kubernetes pkg/apis/events/v1/conversion.go, and of pkg/apis/core/validation/events.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as field_of
from typing import TYPE_CHECKING, Final

from apiext.base.meta import field, names
from apiext.base.meta.builtin_resources import EVENTS, EVENTS_V1
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.golang.struct_table import struct
from apiext.base.meta.gvk import GroupKind
from apiext.base.meta.objectmeta.canonical import OBJECT_META
from apiext.resources.registry.builtin.codec import TypedCodec
from apiext.resources.registry.builtin.core_metadata import core_metadata_errors, finalizer_errors
from apiext.resources.registry.builtin.core_types import EVENT, EVENT_SOURCE, OBJECT_REFERENCE
from apiext.resources.registry.builtin.event import EVENT_KIND, EventStrategy, event_errors
from apiext.resources.registry.builtin.kind import BuiltinKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError
    from apiext.resources.registry.request_context import RequestContext
    from apiext.storage.interface import EncodedObject

_TYPES: Final = ("Normal", "Warning")
_MIN_SERIES: Final = 2
_CORE_NAMES: Final = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
"""Names in the core group, by those here."""
_NAMES: Final = {core: name for name, core in _CORE_NAMES.items()}
_IMMUTABLE: Final = {
    "involvedObject": "",
    "reason": "",
    "message": "",
    "source": "",
    "firstTimestamp": "",
    "lastTimestamp": "",
    "count": "",
    "type": "",
    "eventTime": "",
    "action": "",
    "related": "",
    "reportingComponent": "reportingController",
    "reportingInstance": "",
}
"""Fields that no update changes, with their name in errors if it is another one."""

_NULL: Final = field.Printed("null")
_REFERENCE: Final = {name: "UID" if name == "uid" else name[0].upper() + name[1:] for name in OBJECT_REFERENCE.by_name} | {
    "apiVersion": "APIVersion"
}
_GO_NAMES: Final = {"involvedObject": _REFERENCE, "related": _REFERENCE, "source": {"component": "Component", "host": "Host"}}
"""Names of the fields of structs in Go, in their order."""

EVENT_V1: Final = struct(
    "Event",
    "TypeMeta, 1 metadata! ObjectMeta, 2 eventTime! MicroTime, 3 series *EventSeries, 4 reportingController, 5 reportingInstance,"
    "6 action, 7 reason, 8 regarding! ObjectReference, 9 related *ObjectReference, 10 note, 11 type, 12 deprecatedSource! EventSource,"
    "13 deprecatedFirstTimestamp! Time, 14 deprecatedLastTimestamp! Time, 15 deprecatedCount int32",
    OBJECT_META,
    OBJECT_REFERENCE,
    EVENT_SOURCE,
    struct("EventSeries", "1 count! int32, 2 lastObservedTime! MicroTime"),
)


def to_core(event: Object) -> Object:
    """Return an event in the form of the core group."""
    core: Object = EVENT.canonical({_CORE_NAMES.get(name, name): value for name, value in event.items()})
    return core | {"apiVersion": EVENTS.kind.api_version}


def from_core(event: Object) -> Object:
    """Return an event of the core group in the form of events.k8s.io."""
    obj: Object = EVENT_V1.canonical({_NAMES.get(name, name): value for name, value in event.items()})
    return obj | {"apiVersion": EVENTS_V1.kind.api_version}


def _fields(event: Object) -> dict[str, str]:
    core = EVENT_KIND.selectable(to_core(event))
    renamed = {name.replace("involvedObject", "regarding"): value for name, value in core.items()}
    return renamed | {"reportingController": core["reportingComponent"]}


FIELD_LABELS: Final = frozenset(
    {*(f"regarding.{name}" for name in OBJECT_REFERENCE.by_name), "reason", "reportingController", "type"}
    | {"metadata.name", "metadata.namespace"}
)
"""The fields that field selectors may use."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, kw_only=True)
class EventCodec(TypedCodec):
    """Stores events in the form of the core group."""

    stored: TypedCodec = field_of(default_factory=EVENT_KIND.codec)

    def decode(self, data: bytes) -> Object:
        """Return a stored object.

        Raises:
            ValueError: the data cannot be decoded.
        """
        return from_core(self.stored.decode(data))

    def encode(self, obj: Object) -> EncodedObject:
        """Implement Codec.encode."""
        return self.stored.encode(to_core(obj))


class EventV1Strategy(EventStrategy):
    """Events in this form have an eventTime, and only their series and metadata change."""

    error_kind = GroupKind(EVENTS.kind.group, EVENTS.kind.kind)

    def validate(self, ctx: RequestContext, obj: Object) -> list[FieldError]:
        """Validate the event and its metadata."""
        event = to_core(obj)
        problems = event_errors(event, reporter="reportingController")
        problems += core_metadata_errors(obj["metadata"], namespaced=True, name_rule=names.name_is_dns_subdomain)
        problems += _series_errors(event)
        if event.get("eventTime") is None:
            problems.append(field.required(field.Path("eventTime")))
        if event.get("type") not in _TYPES:
            problems.append(field.invalid(field.Path("type"), "", f"has invalid value: {event.get('type', '')}"))
        unset = [name for name in ("firstTimestamp", "lastTimestamp", "count", "source") if event.get(name)]
        return problems + [field.invalid(field.Path(name), "", "needs to be unset") for name in unset]

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Validate the event; what is not its series or metadata must be as before."""
        event, before = to_core(obj), to_core(old)
        problems = [*event_errors(event, reporter="reportingController"), *metadata_errors, *finalizer_errors(obj["metadata"])]
        if event.get("series") != before.get("series"):
            problems += _series_errors(event)
        for name, shown in _IMMUTABLE.items():
            if event.get(name) != before.get(name):
                problems.append(field.invalid(field.Path(shown or name), _shown(name, event), "field is immutable"))
        return problems


def _series_errors(event: Object) -> list[FieldError]:
    series = event.get("series")
    if series is None:
        return []
    problems = []
    if series.get("count", 0) < _MIN_SERIES:
        problems.append(field.invalid("series.count", "", f"should be at least {_MIN_SERIES}"))
    if series.get("lastObservedTime") is None:
        problems.append(field.required("series.lastObservedTime"))
    return problems


def _shown(name: str, event: Object) -> object:
    """Return a field's value as messages show it: structs with the names that their fields have in Go."""
    value = event.get(name)
    if name in _GO_NAMES:
        if value is None:
            return _NULL
        struct_value = {go_name: value.get(json_name, "") for json_name, go_name in _GO_NAMES[name].items()}
        return field.Printed(json_codec.dumps(struct_value, sort_keys=False).decode())
    if name.endswith(("Time", "Timestamp")):
        return value or _NULL
    return value or (0 if name == "count" else "")


EVENT_V1_KIND: Final = BuiltinKind(
    resource=EVENTS_V1, struct=EVENT_V1, strategy=EventV1Strategy(), selectable=_fields, codec_type=EventCodec
)

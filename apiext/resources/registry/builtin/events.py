"""Events for standalone use, in the form of core/v1 and of events.k8s.io/v1, which has stricter rules for writes in this form.

Mirrors kubernetes pkg/registry/core/event, pkg/apis/events/v1/conversion.go and pkg/apis/core/validation/events.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as field_of
from typing import TYPE_CHECKING, Final

from apiext.base.meta import field, names
from apiext.base.meta.builtin_resources import EVENTS, EVENTS_V1
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.generated.go_types import named_struct, struct_of
from apiext.base.meta.gvk import GroupKind
from apiext.base.meta.objectmeta import validation
from apiext.resources.registry.builtin.kind import BuiltinKind, TypedCodec, metadata_fields
from apiext.resources.registry.builtin.shared_rules import core_metadata_errors, finalizer_errors
from apiext.resources.registry.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError
    from apiext.resources.registry.request_context import RequestContext
    from apiext.storage.interface import EncodedObject

_MAX_FIELD_CHARACTERS: Final = 128
_MAX_MESSAGE_CHARACTERS: Final = 1024
_INVOLVED_NAMESPACE: Final = field.Path("involvedObject", "namespace")
_INVOLVED: Final = tuple(named_struct("core/v1.ObjectReference").by_name)
_OWN_FIELDS: Final = ("reason", "reportingComponent", "type")
EVENT_LABELS: Final = frozenset(
    {*(f"involvedObject.{name}" for name in _INVOLVED), *_OWN_FIELDS, "source", "metadata.name", "metadata.namespace"}
)
"""The fields that field selectors may use."""
_EVENT: Final = struct_of(EVENTS.kind)


def _core_fields(obj: Object) -> dict[str, str]:
    involved = obj["involvedObject"]
    fields = {f"involvedObject.{name}": involved.get(name, "") for name in _INVOLVED}
    fields |= {name: obj.get(name, "") for name in _OWN_FIELDS}
    fields["source"] = obj["source"].get("component") or obj["reportingComponent"]
    return fields | metadata_fields(obj)


class EventStrategy(Strategy):
    """Updates need no resourceVersion."""

    allow_unconditional_update = True
    garbage_collected = False
    distinct_errors = True

    def validate(self, ctx: RequestContext, obj: Object) -> list[FieldError]:
        """Validate the event; if it is valid, its metadata."""
        return event_errors(obj) or validation.validate(obj["metadata"], namespaced=True, name_rule=names.path_segment)

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Validate the event."""
        return event_errors(obj)


def event_errors(event: Object, *, reporter: str = "reportingComponent") -> list[FieldError]:
    """Return the errors of an event in the form of the core group (legacyValidateEvent). Messages name the reporter's field so."""
    namespace = event["metadata"].get("namespace", "")
    involved = event["involvedObject"].get("namespace", "")
    series = event.get("eventTime") is not None
    problems: list[FieldError] = []
    if involved and not series:
        agrees = involved == namespace
    else:
        agrees = bool(involved) or namespace in (("default", "kube-system") if series else ("", "default"))
    if not agrees:
        problems.append(field.invalid(_INVOLVED_NAMESPACE, involved, "does not match event.namespace"))
    if series:
        problems += _dated_errors(event, reporter)
    return problems


def _dated_errors(event: Object, reporter: str) -> list[FieldError]:
    name, where = event.get("reportingComponent", ""), field.Path(reporter)
    problems = [] if name else [field.required(where)]
    problems += [field.invalid(where, name, message) for message in names.label_key(name)]
    for name in ("reportingInstance", "action", "reason"):
        text = event.get(name, "")
        if not text:
            problems.append(field.required(field.Path(name)))
        if names.size(text) > _MAX_FIELD_CHARACTERS:
            problems.append(field.invalid(field.Path(name), "", f"can have at most {_MAX_FIELD_CHARACTERS} characters"))
    if names.size(event.get("message", "")) > _MAX_MESSAGE_CHARACTERS:
        detail = f"can have at most {_MAX_MESSAGE_CHARACTERS} characters"
        problems.append(field.invalid(field.Path("message"), "", detail))
    return problems


EVENT_KIND: Final = BuiltinKind(resource=EVENTS, struct=_EVENT, strategy=EventStrategy(), selectable=_core_fields)


# --- events.k8s.io/v1 -----------------------------------------------------------------------------------------------

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
_REFERENCE: Final = {name: "UID" if name == "uid" else name[0].upper() + name[1:] for name in _INVOLVED} | {"apiVersion": "APIVersion"}
_GO_NAMES: Final = {"involvedObject": _REFERENCE, "related": _REFERENCE, "source": {"component": "Component", "host": "Host"}}
"""Names of the fields of structs in Go, in their order."""
_EVENT_V1: Final = struct_of(EVENTS_V1.kind)


def to_core(event: Object) -> Object:
    """Return an event in the form of the core group."""
    core: Object = _EVENT.canonical({_CORE_NAMES.get(name, name): value for name, value in event.items()})
    return core | {"apiVersion": EVENTS.kind.api_version}


def from_core(event: Object) -> Object:
    """Return an event of the core group in the form of events.k8s.io."""
    obj: Object = _EVENT_V1.canonical({_NAMES.get(name, name): value for name, value in event.items()})
    return obj | {"apiVersion": EVENTS_V1.kind.api_version}


def _v1_fields(event: Object) -> dict[str, str]:
    core = EVENT_KIND.selectable(to_core(event))
    renamed = {name.replace("involvedObject", "regarding"): value for name, value in core.items()}
    return renamed | {"reportingController": core["reportingComponent"]}


EVENT_V1_LABELS: Final = frozenset(
    {*(f"regarding.{name}" for name in _INVOLVED), "reason", "reportingController", "type"} | {"metadata.name", "metadata.namespace"}
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
    resource=EVENTS_V1, struct=_EVENT_V1, strategy=EventV1Strategy(), selectable=_v1_fields, codec_type=EventCodec
)

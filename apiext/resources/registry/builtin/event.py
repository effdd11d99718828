"""core/v1 Events for standalone use (kubernetes pkg/registry/core/event, pkg/apis/core/validation/events.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import field, names
from apiext.base.meta.builtin_resources import EVENTS
from apiext.base.meta.objectmeta import validation
from apiext.resources.registry.builtin.core_types import EVENT
from apiext.resources.registry.builtin.kind import BuiltinKind
from apiext.resources.registry.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError
    from apiext.resources.registry.request_context import RequestContext

_MAX_FIELD_CHARACTERS: Final = 128
_MAX_MESSAGE_CHARACTERS: Final = 1024
_INVOLVED_NAMESPACE: Final = field.Path("involvedObject", "namespace")
_INVOLVED: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_OWN_FIELDS: Final = ("reason", "reportingComponent", "type")
FIELD_LABELS: Final = frozenset(
    {*(f"involvedObject.{name}" for name in _INVOLVED), *_OWN_FIELDS, "source", "metadata.name", "metadata.namespace"}
)
"""The fields that field selectors may use."""


def _fields(obj: Object) -> dict[str, str]:
    metadata, involved = obj["metadata"], obj["involvedObject"]
    fields = {f"involvedObject.{name}": involved.get(name, "") for name in _INVOLVED}
    fields |= {name: obj.get(name, "") for name in _OWN_FIELDS}
    fields["source"] = obj["source"].get("component") or obj["reportingComponent"]
    return fields | {
        "metadata.name": metadata.get("name", ""),
        "metadata.namespace": metadata.get("namespace", ""),
    }


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
        problems += _series_errors(event, reporter)
    return problems


def _series_errors(event: Object, reporter: str) -> list[FieldError]:
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


EVENT_KIND: Final = BuiltinKind(resource=EVENTS, struct=EVENT, strategy=EventStrategy(), selectable=_fields)

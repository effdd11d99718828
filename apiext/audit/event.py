"""One audit event, and its forms: JSON of audit.k8s.io/v1 and a line of text (apiserver pkg/audit/format.go)."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import orjson

from apiext.audit.levels import LEVEL_NAMES, AuditLevel, AuditStage
from apiext.audit.policy import AuditSettings
from apiext.meta.encoding import json_codec, utf8
from apiext.meta.golang import formatting

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from apiext.audit.request_record import RequestRecord
    from apiext.meta.request import RequestInfo, UserInfo

_TRUNCATED: Final = "audit.k8s.io/truncated"
_TYPE_META: Final = b'{"kind":"Event","apiVersion":"audit.k8s.io/v1",'
_MAX_KEPT: Final = 512
T = TypeVar("T")
_LIST_HEAD: Final = b'{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":['


class RequestFacts:
    """What is known of a request. Attributes of the class are its defaults: most requests set few of them."""

    audit_id: str
    received: float
    """The time of its arrival, in seconds since 1970."""
    settings = AuditSettings(AuditLevel.METADATA)
    """Those of the policy; before it is evaluated, annotations are collected."""
    info: RequestInfo | None = None
    user: UserInfo | None = None
    """None if authentication has failed."""
    uri = ""
    user_agent = ""
    source_ips: tuple[str, ...] = ()
    impersonated: UserInfo | None = None
    constraint = ""
    """The mode of constrained impersonation."""
    record: RequestRecord | None = None
    """What the execution of a write records."""
    status: dict[str, Any] | None = None
    """The response's Status, or its code only."""
    response: Sequence[bytes] | None = None
    """The JSON of the response's object, in parts."""
    annotations: dict[str, str] | None = None
    latencies: dict[str, float] | None = None
    """Seconds by the part of the server that took them."""
    texts: tuple[str, str, str, str, str] | None = None
    """JSON that all events of the request have, once one is encoded."""

    def all_annotations(self) -> dict[str, str] | None:
        """Return a copy of the annotations of filters and of admission; None without any."""
        record = self.record
        if record is not None and record.annotations:
            return {**record.annotations, **(self.annotations or {})}
        return dict(self.annotations) if self.annotations else None


class AuditEvent:
    """The event of a request at one stage. Its JSON is made once, in the thread that asks for it first; threads may share the event."""

    __slots__ = (
        "_parts",
        "annotations",
        "context",
        "impersonated",
        "moment",
        "record",
        "request_object",
        "response_object",
        "stage",
        "status",
    )

    def __init__(self, context: RequestFacts, stage: AuditStage, moment: float) -> None:
        self.context = context
        self.stage = stage
        self.moment = moment
        """The time of the stage, in seconds since 1970."""
        self.status = context.status
        self.impersonated = context.impersonated
        self.record = record = context.record
        self.response_object = context.response
        self._parts: Sequence[bytes] | None = None
        if record is None:
            self.request_object: bytes | None = None
            annotations = context.annotations
            self.annotations = annotations and dict(annotations)
        else:
            self.request_object, self.annotations = record.body, context.all_annotations()

    @property
    def is_last(self) -> bool:
        """Return whether no event of the request follows."""
        return self.stage is AuditStage.RESPONSE_COMPLETE or self.stage is AuditStage.PANIC

    def truncated(self) -> AuditEvent:
        """Return the event without the objects of request and response, marked as truncated."""
        event = AuditEvent(self.context, self.stage, self.moment)
        event.impersonated, event.record = self.impersonated, self.record
        event.status, event.annotations = self.status, {**(self.annotations or {}), _TRUNCATED: "true"}
        event.request_object = event.response_object = None
        return event

    @property
    def has_objects(self) -> bool:
        """Return whether truncation may make the event smaller."""
        return self.context.settings.level >= AuditLevel.REQUEST

    def line(self) -> bytes:
        """Return the event as a line of JSON."""
        return b"".join((_TYPE_META, *self.members(), b"}\n"))

    @property
    def size(self) -> int:
        """Return the length of the line."""
        return len(_TYPE_META) + sum(map(len, self.members())) + 2

    def text(self) -> bytes:
        """Return the event as a line of the format `legacy`."""
        return _legacy(self).encode(errors="replace")

    def members(self) -> Sequence[bytes]:
        """Return the JSON without its braces and its type, in parts: objects may be large, and are not copied."""
        parts = self._parts
        if parts is None:
            parts = self._parts = _encode(self)
        return parts


def event_list(events: Sequence[AuditEvent]) -> bytes:
    """Return the JSON of a list of events."""
    pieces = [_LIST_HEAD]
    for number, event in enumerate(events):
        pieces += [b",{" if number else b"{", *event.members(), b"}"]
    pieces.append(b"]}")
    return b"".join(pieces)


def _encode(event: AuditEvent) -> Sequence[bytes]:
    """Return the members of an event without its type, in the order of the reference's struct."""
    context = event.context
    info, status = context.info, event.status
    texts = context.texts
    if texts is None:
        texts = context.texts = _common(context)
    head, user, client, reference, received = texts
    impersonated = _impersonation(event) if event.impersonated is not None else ""
    if event.record is not None and info is not None and info.is_resource:
        reference = f',"objectRef":{_reference_text(info, event.record)}'
    response = ""
    if status is not None:
        shown = f'{{"metadata":{{}},"code":{status["code"]}}}' if len(status) == 1 and "code" in status else _status(status)
        response = f',"responseStatus":{shown}'
    moment = received if event.moment == context.received else micro_time(event.moment)
    notes = f',"annotations":{_json(event.annotations)}' if event.annotations else ""
    # a list of pieces only for events with objects, since most have none
    text = f"{head}{event.stage}{user}{impersonated}{client}{reference}{response}"
    tail = f',"requestReceivedTimestamp":"{received}","stageTimestamp":"{moment}"{notes}'
    if event.request_object is None and event.response_object is None:
        return (f"{text}{tail}".encode(),)
    pieces = [text.encode()]
    if event.request_object is not None:
        pieces += [b',"requestObject":', event.request_object]
    if event.response_object is not None:
        *first, last = event.response_object
        pieces += [b',"responseObject":', *first, last.rstrip(b"\n")]
    return (*pieces, tail.encode())


def _impersonation(event: AuditEvent) -> str:
    constraint = event.context.constraint
    mode = f',"authenticationMetadata":{{"impersonationConstraint":{_quoted(constraint)}}}' if constraint else ""
    return f',"impersonatedUser":{_user(event.impersonated)}{mode}'


def _status(status: dict[str, Any]) -> str:
    return _json({"metadata": {}, **status})


def _common(context: RequestFacts) -> tuple[str, str, str, str, str]:
    """Return what all events of a request have.

    These are the members before the stage, those after it, those after the users, the object's reference before a write is decoded, and
    the time of the arrival.
    """
    info = context.info
    verb = info.verb if info is not None else ""
    return (
        f'"level":"{LEVEL_NAMES[context.settings.level]}","auditID":{_quoted(context.audit_id)},"stage":"',
        f'","requestURI":{_quoted(context.uri)},"verb":{_quoted(verb)},"user":{_user(context.user)}',
        _client(context.source_ips, context.user_agent),
        f',"objectRef":{_REFERENCES.text(info)}' if info is not None and info.is_resource else "",
        micro_time(context.received),
    )


@lru_cache(maxsize=_MAX_KEPT)
def _client(source_ips: tuple[str, ...], user_agent: str) -> str:
    addresses = f',"sourceIPs":{_json(source_ips)}' if source_ips else ""
    return f'{addresses},"userAgent":{_quoted(user_agent)}' if user_agent else addresses


def _quoted(text: str) -> str:
    try:
        return orjson.dumps(text).decode()
    except orjson.JSONEncodeError:
        return orjson.dumps(utf8.replaced(text)).decode()


def _json(value: Any) -> str:
    """Return the JSON of texts and whole numbers. orjson alone is several times as fast as json_codec, which minds floats too."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return json_codec.dumps(value, sort_keys=False).decode()


class _Kept(Generic[T]):
    """The JSON of objects that many requests share: users of connections, and attributes of paths.

    Threads may use it at the same time: a text that one of them drops is made again.
    """

    def __init__(self, make: Callable[[T], str]) -> None:
        self._make = make
        self._kept: dict[int, tuple[T, str]] = {}

    def text(self, of: T) -> str:
        found = self._kept.get(id(of))
        if found is not None and found[0] is of:
            return found[1]
        if len(self._kept) >= _MAX_KEPT:
            self._kept.clear()
        text = self._make(of)
        self._kept[id(of)] = of, text
        return text


def _user(user: UserInfo | None) -> str:
    return "{}" if user is None else _USERS.text(user)


def _user_text(user: UserInfo) -> str:
    members: dict[str, Any] = {"username": user.name, "uid": user.uid, "groups": user.groups, "extra": dict(user.extra)}
    return _json({name: member for name, member in members.items() if member})


def _reference_text(info: RequestInfo, record: RequestRecord | None = None) -> str:
    members = {
        "resource": info.resource,
        "namespace": info.namespace or (record.namespace if record is not None else ""),
        "name": info.name or (record.name if record is not None else ""),
        "uid": record.uid if record is not None else "",
        "apiGroup": info.group,
        "apiVersion": info.version,
        "resourceVersion": record.resource_version if record is not None else "",
        "subresource": info.subresource,
    }
    return _json({name: member for name, member in members.items() if member})


_USERS: Final = _Kept(_user_text)
_REFERENCES: Final = _Kept(_reference_text)


def micro_time(moment: float) -> str:
    """Return a time in seconds since 1970 as Kubernetes' MicroTime."""
    second = int(moment)
    return f"{_second(second)}.{int((moment - second) * 1_000_000):06d}Z"


_LAST: Final = [(0, "")]
"""The last second and its text. A tuple is replaced at once, so that threads may share it."""


def _second(second: int) -> str:
    known, text = _LAST[0]
    if known != second:
        text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        _LAST[0] = (second, text)
    return text


def _legacy(event: AuditEvent) -> str:
    quote, context = formatting.quote, event.context
    info, user, other = context.info, context.user, event.impersonated
    name = user.name if user is not None and user.name else "<none>"
    groups = _texts(user.groups) if user is not None and user.name and user.groups else "<none>"
    as_user, as_groups = "<self>", "<lookup>"
    if other is not None:
        as_user, as_groups = other.name, _texts(other.groups) if other.groups else as_groups
    namespace = info.namespace if info is not None else ""
    if not namespace and event.record is not None:
        namespace = event.record.namespace
    response = str(event.status.get("code", 0)) if event.status is not None else "<deferred>"
    ip = context.source_ips[0] if context.source_ips else "<unknown>"
    return (
        f"{_local_time(context.received)} AUDIT: id={quote(context.audit_id)} stage={quote(event.stage.value)} ip={quote(ip)} "
        f"method={quote(info.verb if info is not None else '')} user={quote(name)} groups={quote(groups)} as={quote(as_user)} "
        f"asgroups={quote(as_groups)} user-agent={quote(context.user_agent)} namespace={quote(namespace or '<none>')} "
        f'uri={quote(context.uri)} response="{response}"\n'
    )


def _local_time(moment: float) -> str:
    """Return a time in the local zone, as Go's RFC3339Nano: without final zeros."""
    local = datetime.fromtimestamp(moment).astimezone()
    fraction = f".{local.microsecond:06d}".rstrip("0").rstrip(".")
    zone = local.strftime("%z")
    return f"{local:%Y-%m-%dT%H:%M:%S}{fraction}{'Z' if zone == '+0000' else f'{zone[:3]}:{zone[3:]}'}"


def _texts(items: Sequence[str]) -> str:
    return ",".join(map(formatting.quote, items))

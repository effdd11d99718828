"""One audit event, and its forms: JSON of audit.k8s.io/v1 and a line of text (apiserver pkg/audit/format.go)."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import orjson

from apiext.audit.levels import LEVEL_NAMES, AuditLevel, AuditStage
from apiext.audit.policy import AuditSettings
from apiext.meta.encoding import json_codec, utf8
from apiext.meta.golang import formatting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.audit.request_record import RequestRecord
    from apiext.meta.request import RequestInfo, UserInfo

_TRUNCATED: Final = "audit.k8s.io/truncated"
_TYPE_META: Final = len('{"kind":"Event","apiVersion":"audit.k8s.io/v1",')
"""The length of the beginning of a line that events in lists have not."""
_LINE_HEADS: Final = [f'{{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"{name}","auditID":' for name in LEVEL_NAMES]
"""The beginning of a line by level."""
_MAX_KEPT: Final = 512
_LIST_HEAD: Final = b'{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":['


_BEFORE_POLICY: Final = AuditSettings(AuditLevel.METADATA)
"""Before the policy is evaluated, annotations are collected."""
_LAST: Final = frozenset({AuditStage.RESPONSE_COMPLETE, AuditStage.PANIC})


class RequestFacts:
    """What is known of a request."""

    __slots__ = (
        "annotations",
        "audit_id",
        "constraint",
        "impersonated",
        "info",
        "latencies",
        "received",
        "record",
        "response",
        "settings",
        "source_ips",
        "status",
        "texts",
        "uri",
        "user",
        "user_agent",
    )

    def __init__(self, audit_id: str, received: int) -> None:
        self.audit_id = audit_id
        self.received = received
        """The time of its arrival, in nanoseconds since 1970."""
        self.settings = _BEFORE_POLICY
        self.info: RequestInfo | None = None
        self.user: UserInfo | None = None
        """None if authentication has failed."""
        self.uri = self.user_agent = ""
        self.source_ips: tuple[str, ...] = ()
        self.impersonated: UserInfo | None = None
        self.constraint = ""
        """The mode of constrained impersonation."""
        self.record: RequestRecord | None = None
        """What the execution of a write records."""
        self.status: dict[str, Any] | None = None
        """The response's Status, or its code only."""
        self.response: Sequence[bytes] | None = None
        """The JSON of the response's object, in parts."""
        self.annotations: dict[str, str] | None = None
        self.latencies: dict[str, float] | None = None
        """Seconds by the part of the server that took them."""
        self.texts: tuple[str, str, str, str, str] | None = None
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
        "_pieces",
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

    def __init__(self, context: RequestFacts, stage: AuditStage, moment: int) -> None:
        self.context = context
        self.stage = stage
        self.moment = moment
        """The time of the stage, in nanoseconds since 1970."""
        self.status = context.status
        self.impersonated = context.impersonated
        self.record = record = context.record
        self.response_object = context.response
        self._pieces: Sequence[bytes] | None = None
        if record is None:
            self.request_object: bytes | None = None
            annotations = context.annotations
            self.annotations = annotations and dict(annotations)
        else:
            self.request_object, self.annotations = record.body, context.all_annotations()

    @property
    def is_last(self) -> bool:
        """Return whether no event of the request follows."""
        return self.stage in _LAST

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
        pieces = self.pieces()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    @property
    def size(self) -> int:
        """Return the length of the line."""
        return sum(map(len, self.pieces()))

    def text(self) -> bytes:
        """Return the event as a line of the format `legacy`."""
        return _legacy(self).encode(errors="replace")

    def pieces(self) -> Sequence[bytes]:
        """Return the line in pieces: objects may be large, and are not copied. An event without objects has one piece."""
        pieces = self._pieces
        if pieces is None:
            pieces = self._pieces = _encode(self)
        return pieces


def event_list(events: Sequence[AuditEvent]) -> bytes:
    """Return the JSON of a list of events."""
    found = [_LIST_HEAD]
    for number, event in enumerate(events):
        first, *more = event.pieces()
        found += [b",{" if number else b"{", first[_TYPE_META:], *more]
    found.append(b"]}")
    return b"".join(found)


def _encode(event: AuditEvent) -> Sequence[bytes]:
    """Return the line of an event in pieces. Its members have the order of the reference's struct."""
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
    head = f"{head}{event.stage}{user}{impersonated}{client}{reference}{response}"
    tail = f',"requestReceivedTimestamp":"{received}","stageTimestamp":"{moment}"{notes}}}\n'
    if event.request_object is None and event.response_object is None:
        # most events
        return (f"{head}{tail}".encode(),)
    pieces = [head.encode()]
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
    target, reference = _target(context.info, context.uri)
    return (
        f'{_LINE_HEADS[context.settings.level]}{_quoted(context.audit_id)},"stage":"',
        f"{target}{_user(context.user)}",
        _client(context.source_ips, context.user_agent),
        reference,
        micro_time(context.received),
    )


_TARGETS: Final[dict[int, tuple[RequestInfo, str, tuple[str, str]]]] = {}
"""URIs, verbs and references by the attributes of paths, which many requests share."""


def _target(info: RequestInfo | None, uri: str) -> tuple[str, str]:
    """Return the members from the stage's end to the user, and the reference to the object before a write is decoded."""
    known = _TARGETS.get(id(info))
    if known is not None and known[0] is info and known[1] == uri:
        return known[2]
    verb, reference = "", ""
    if info is not None:
        verb = info.verb
        reference = f',"objectRef":{_reference_text(info)}' if info.is_resource else ""
    found = f'","requestURI":{_quoted(uri)},"verb":{_quoted(verb)},"user":', reference
    if info is not None:
        if len(_TARGETS) >= _MAX_KEPT:
            _TARGETS.clear()
        _TARGETS[id(info)] = info, uri, found
    return found


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


_USERS: Final[dict[int, tuple[UserInfo, str]]] = {}
"""The JSON of the users of connections. Threads may use it at the same time: a text that one of them drops is made again."""


def _user(user: UserInfo | None) -> str:
    if user is None:
        return "{}"
    known = _USERS.get(id(user))
    if known is not None and known[0] is user:
        return known[1]
    if len(_USERS) >= _MAX_KEPT:
        _USERS.clear()
    text = _user_text(user)
    _USERS[id(user)] = user, text
    return text


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


_SECONDS: Final[dict[str, str]] = {}
"""The text of the last second. Threads may use it at the same time: a text that one of them drops is made again."""
_DIGITS: Final = 19
"""Digits of the nanoseconds from 2001 to 2286."""


def micro_time(moment: int) -> str:
    """Return a time in nanoseconds since 1970 as Kubernetes' MicroTime."""
    digits = str(moment)
    if len(digits) != _DIGITS:
        digits = digits.zfill(_DIGITS)
    second = digits[:10]
    text = _SECONDS.get(second)
    if text is None:
        _SECONDS.clear()
        text = _SECONDS[second] = datetime.fromtimestamp(int(second), UTC).strftime("%Y-%m-%dT%H:%M:%S.")
    return f"{text}{digits[10:16]}Z"


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


def _local_time(moment: int) -> str:
    """Return a time in the local zone, as Go's RFC3339Nano: without final zeros."""
    local = datetime.fromtimestamp(moment / 1e9).astimezone()
    fraction = f".{local.microsecond:06d}".rstrip("0").rstrip(".")
    zone = local.strftime("%z")
    return f"{local:%Y-%m-%dT%H:%M:%S}{fraction}{'Z' if zone == '+0000' else f'{zone[:3]}:{zone[3:]}'}"


def _texts(items: Sequence[str]) -> str:
    return ",".join(map(formatting.quote, items))

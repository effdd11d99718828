"""One audit event, and its forms: JSON of audit.k8s.io/v1 and a line of text (apiserver pkg/audit/format.go)."""

from __future__ import annotations

import time
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
_DECISION: Final = "authorization.k8s.io/decision"
_REASON: Final = "authorization.k8s.io/reason"
_LIST_HEAD: Final = b'{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":['
_BEFORE_POLICY: Final = AuditSettings(AuditLevel.METADATA)
"""Before the policy is evaluated, annotations are collected."""


_Texts = tuple[str, str, str, str, str]


class RequestFacts:
    """What is known of a request. Defaults are attributes of the class: every request has such an object, and most keep them."""

    settings = _BEFORE_POLICY
    info: RequestInfo | None = None
    user: UserInfo | None = None
    """None if authentication has failed."""
    uri = user_agent = ""
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
    decided: tuple[dict[str, str], str] | None = None
    """The annotations of the decision of authorization, which requests share, with their JSON."""
    latencies: dict[str, float] | None = None
    """Seconds by the part of the server that took them."""
    texts: _Texts | None = None
    """JSON that all events of the request have, once one is encoded."""

    def __init__(self, audit_id: str) -> None:
        self.audit_id = audit_id
        self.received = time.time_ns()
        """The time of its arrival, in nanoseconds since 1970."""

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


def arrival(context: RequestFacts) -> AuditEvent:
    """Return the event of a request's arrival."""
    return AuditEvent(context, AuditStage.REQUEST_RECEIVED, context.received)


def event_list(events: Sequence[AuditEvent]) -> bytes:
    """Return the JSON of a list of events."""
    found = [_LIST_HEAD]
    for number, event in enumerate(events):
        first, *more = event.pieces()
        found += [b",{" if number else b"{", first[_TYPE_META:], *more]
    found.append(b"]}")
    return b"".join(found)


def arrival_line(context: RequestFacts) -> bytes:
    """Return the line of JSON of the event of a request's arrival. What later stages have added to the context is not in it."""
    head, subject, client, reference, received = context.texts or _common(context)
    return (
        f'{head}RequestReceived{subject}{client}{reference},"requestReceivedTimestamp":"{received}","stageTimestamp":"{received}"}}\n'
    ).encode()


def last_line(context: RequestFacts, moment: int, *, arrived: bool) -> bytes:
    """Return the line of the event of a request that ended at a `moment`, after that of its arrival if it is `arrived`.

    The request had no objects, no admission and no impersonation: most requests, at less cost than by an event.
    """
    texts = context.texts or _common(context)
    head, subject, client, reference, received = texts
    annotations, decided, status = context.annotations, context.decided, context.status
    if not annotations:
        notes = ""
    elif decided is not None and annotations is decided[0]:
        notes = decided[1]
    else:
        notes = f',"annotations":{_json(annotations)}'
    answer = _response_status(status) if status is not None else ""
    target = f"{subject}{client}{reference}"
    received = f',"requestReceivedTimestamp":"{received}","stageTimestamp":"'
    first = f'{head}RequestReceived{target}{received}{texts[4]}"}}\n' if arrived else ""
    return f'{first}{head}ResponseComplete{target}{answer}{received}{micro_time(moment)}"{notes}}}\n'.encode()


def _encode(event: AuditEvent) -> Sequence[bytes]:
    """Return the line of an event in pieces. Its members have the order of the reference's struct."""
    context, record, notes = event.context, event.record, event.annotations
    head, subject, client, reference, received = context.texts or _common(context)
    if record is not None and (info := context.info) is not None and info.is_resource:
        reference = f',"objectRef":{_reference_text(info, record)}'
    if event.impersonated is not None:
        subject += _impersonation(event)
    moment = micro_time(event.moment) if event.moment != context.received else received
    more = f',"annotations":{_json(notes)}}}\n' if notes else "}\n"
    answer = _response_status(event.status) if event.status is not None else ""
    head = f"{head}{event.stage}{subject}{client}{reference}{answer}"
    tail = f',"requestReceivedTimestamp":"{received}","stageTimestamp":"{moment}"{more}'
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


_ANSWERS: Final[dict[int, str]] = {}
"""The members of answers without a Status, by code."""


def _response_status(status: dict[str, Any]) -> str:
    if len(status) == 1 and (code := status.get("code")) is not None:
        return _ANSWERS.get(code) or _ANSWERS.setdefault(code, f',"responseStatus":{{"metadata":{{}},"code":{code}}}')
    return f',"responseStatus":{_json({"metadata": {}, **status})}'


def _impersonation(event: AuditEvent) -> str:
    constraint = event.context.constraint
    mode = f',"authenticationMetadata":{{"impersonationConstraint":{_quoted(constraint)}}}' if constraint else ""
    return f',"impersonatedUser":{_user(event.impersonated)}{mode}'


def _common(context: RequestFacts) -> _Texts:
    """Return what all events of a request have, and remember it.

    These are the members before the stage, those up to the user, those after the users, the object's reference before a write is decoded,
    and the time of the arrival.
    """
    info, user, uri = context.info, context.user, context.uri
    members = info.audit_members if info is not None else None
    if members is None or members[0] != uri:
        members = _request_members(info, uri)
    known = _USERS.get(id(user))
    texts = context.texts = (
        f'{_LINE_HEADS[context.settings.level]}{_quoted(context.audit_id)},"stage":"',
        f"{members[1]}{known[1] if known is not None and known[0] is user else _user(user)}",
        _client(context.source_ips, context.user_agent),
        members[2],
        micro_time(context.received),
    )
    return texts


def _request_members(info: RequestInfo | None, uri: str) -> tuple[str, str, str]:
    """Return a URI, the members up to the user, and the reference to the object before a write is decoded.

    Requests for the same path share them.
    """
    if info is None:
        return uri, f'","requestURI":{_quoted(uri)},"verb":"","user":', ""
    reference = ""
    if info.is_resource:
        before, after = _reference_parts(info.resource, info.namespace, info.group, info.version, info.subresource)
        reference = f'{before},"name":{_quoted(info.name)}{after}' if info.name else f"{before}{after}"
    found = info.audit_members = uri, f'","requestURI":{_quoted(uri)},"verb":{_quoted(info.verb)},"user":', reference
    return found


@lru_cache(maxsize=_MAX_KEPT)
def _reference_parts(resource: str, namespace: str, group: str, version: str, subresource: str) -> tuple[str, str]:
    """Return the reference to the objects of a resource before and after their names."""
    before = {"resource": resource, "namespace": namespace}
    after = {"apiGroup": group, "apiVersion": version, "subresource": subresource}
    texts = [_json({name: member for name, member in members.items() if member})[1:-1] for members in (before, after)]
    return f',"objectRef":{{{texts[0]}', f"{',' if texts[1] else ''}{texts[1]}}}"


@lru_cache(maxsize=_MAX_KEPT)
def decision(outcome: str, reason: str) -> tuple[dict[str, str], str]:
    """Return the annotations of a decision of authorization, which must not be modified, and their JSON."""
    annotations = {_DECISION: outcome, _REASON: reason} if outcome else {_REASON: reason}
    return annotations, f',"annotations":{_json(annotations)}'


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


def _reference_text(info: RequestInfo, record: RequestRecord) -> str:
    members = {
        "resource": info.resource,
        "namespace": info.namespace or record.namespace,
        "name": info.name or record.name,
        "uid": record.uid,
        "apiGroup": info.group,
        "apiVersion": info.version,
        "resourceVersion": record.resource_version,
        "subresource": info.subresource,
    }
    return _json({name: member for name, member in members.items() if member})


_SECOND: Final = 1_000_000_000
_DIGITS: Final = [f"{number:03}" for number in range(1000)]
_latest: tuple[int, str] = 0, "1970-01-01T00:00:00."
"""The last second that was asked for, in nanoseconds, and its text."""


def micro_time(moment: int) -> str:
    """Return a time in nanoseconds since 1970 as Kubernetes' MicroTime."""
    begin, text = _latest
    micros = (moment - begin) // 1000
    if not 0 <= micros < 1_000_000:
        begin, text = _next_second(moment)
        micros = (moment - begin) // 1000
    return f"{text}{_DIGITS[micros // 1000]}{_DIGITS[micros % 1000]}Z"


def _next_second(moment: int) -> tuple[int, str]:
    global _latest  # noqa: PLW0603 -- one tuple, which threads replace as a whole
    second = moment // _SECOND
    found = _latest = second * _SECOND, datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S.")
    return found


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

"""One audit event, and its forms: JSON of audit.k8s.io/v1 and a line of text (apiserver pkg/audit/format.go).

Source ips: apimachinery pkg/util/net, SourceIPs.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from apiext.api.audit.levels import LEVEL_NAMES, AuditLevel, AuditStage
from apiext.api.audit.policy import AuditSettings
from apiext.base.meta.encoding import json_codec, utf8
from apiext.base.meta.golang import formatting
from apiext.base.meta.time import local_time, micro_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.api.audit.request_record import RequestRecord
    from apiext.base.meta.request import RequestInfo, UserInfo
    from apiext.storage.store_times import StoreTimes

_TRUNCATED: Final = "audit.k8s.io/truncated"
_TYPE_META: Final = len('{"kind":"Event","apiVersion":"audit.k8s.io/v1",')
"""The length of the beginning of a line that events in lists have not."""
LINE_HEADS: Final = [f'{{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"{name}","auditID":"' for name in LEVEL_NAMES]
"""The beginning of a line by level."""
_PLAIN: Final = re.compile("[0-9A-Za-z-]+").fullmatch
_MAX_KEPT: Final = 512
_MAX_CHECKED: Final = 1024 * 1024
"""Bytes of a line that is checked with its objects."""
_LIST_HEAD: Final = b'{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":['
_BEFORE_POLICY: Final = AuditSettings(AuditLevel.METADATA)
"""Before the policy is evaluated, annotations are collected."""

_Texts = tuple[str, str, str, str, str]


_LEADING_ZEROS: Final = re.compile(r"(?<![0-9])0+(?=[0-9])")


class Client(NamedTuple):
    """From where a request came. Requests share it."""

    source_ips: tuple[str, ...] = ()
    user_agent: str = ""
    members: str = ""
    """Their JSON."""


UNKNOWN_CLIENT: Final = Client()


def source_ips(forwarded_for: str, real_ip: str, remote: str) -> tuple[str, ...]:
    """Return the addresses of X-Forwarded-For, that of X-Real-Ip unless it is among them, and the connection's unless it is the last one.

    Clients choose all of them but the last.
    """
    found = [ip for part in forwarded_for.split(",") if (ip := _parsed(part.strip()))] if forwarded_for else []
    if real_ip and (ip := _parsed(real_ip)) and ip not in found:
        found.append(ip)
    if (ip := _parsed(remote)) and found[-1:] != [ip]:
        found.append(ip)
    return tuple(found)


def _parsed(text: str) -> str:
    """Return an address in Go's form, empty for an invalid one. As in Go's older versions, decimals may begin with zeros."""
    try:
        address = ipaddress.ip_address(text if ":" in text else _LEADING_ZEROS.sub("", text))
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id:
            return ""
        return str(address.ipv4_mapped or address)
    return str(address)


class RequestFacts:
    """What is known of a request. Defaults are attributes of the class: every request has such an object, and most keep them."""

    settings = _BEFORE_POLICY
    info: RequestInfo | None = None
    user: UserInfo | None = None
    """None if authentication has failed."""
    uri = ""
    client = UNKNOWN_CLIENT
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
    store_times: StoreTimes | None = None
    forming = encoding = 0
    """When the response's form was begun, and when its encoding was, as `received`; 0 for never."""
    texts: _Texts | None = None
    """JSON that all events of the request have, once one is encoded."""
    lines = 1
    """How many lines are made when it ends: 2 with that of the arrival, unless that is made before."""

    def __init__(self, audit_id: str, received: int) -> None:
        self.audit_id = audit_id
        self.received = received
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

    def check(self) -> None:
        """Check that the line is JSON. Objects of more than a megabyte are not checked: that takes milliseconds, and encoders made them.

        Raises:
            ValueError: it is not.
        """
        pieces = self.pieces()
        orjson.loads(self.line() if self.size <= _MAX_CHECKED else pieces[0] + pieces[-1])

    def text(self) -> bytes:
        """Return the event as a line of the format `legacy`."""
        return _legacy(self).encode()

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


def _encode(event: AuditEvent) -> Sequence[bytes]:
    """Return the line of an event in pieces. Its members have the order of the reference's struct."""
    context, record, notes = event.context, event.record, event.annotations
    head, audit_id, request, user, reference = context.texts or common_texts(context)
    received = micro_time(context.received)
    if record is not None:
        reference = recorded_reference(context.info, record, reference)
    if event.impersonated is not None:
        user += _impersonation(event)
    moment = micro_time(event.moment) if event.moment != context.received else received
    more = f',"annotations":{json_text(notes)}}}\n' if notes else "}\n"
    answer = response_status(event.status) if event.status is not None else ""
    head = f'{head}{audit_id}","stage":"{event.stage}{request}{user}{context.client.members}{reference}{answer}'
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


ANSWERS: Final[dict[int, str]] = {}
"""The members of answers without a Status that have been written, by code."""


def response_status(status: dict[str, Any]) -> str:
    """Return the members of an answer with a Status, or with a code only."""
    if len(status) == 1 and (code := status.get("code")) is not None:
        return ANSWERS.get(code) or ANSWERS.setdefault(code, f',"responseStatus":{{"metadata":{{}},"code":{code}}}')
    return f',"responseStatus":{json_text({"metadata": {}, **status})}'


def _impersonation(event: AuditEvent) -> str:
    constraint = event.context.constraint
    mode = f',"authenticationMetadata":{{"impersonationConstraint":{quoted(constraint)}}}' if constraint else ""
    return f',"impersonatedUser":{user_text(event.impersonated)}{mode}'


def common_texts(context: RequestFacts) -> _Texts:
    """Return what all events of a request have, and remember it.

    These are the beginning of its lines, its Audit-ID, the members up to the user, the user, and the object's reference before a write is
    decoded.
    """
    _, request, reference = request_members(context.info, context.uri)
    head, audit_id = LINE_HEADS[context.settings.level], escaped(context.audit_id)
    texts = context.texts = head, audit_id, request, user_text(context.user), reference
    return texts


def escaped(text: str) -> str:
    """Return the JSON of a text without the quotes."""
    # the Audit-IDs of this server, and most others, are their own JSON
    return text if _PLAIN(text) is not None else quoted(text)[1:-1]


def request_members(info: RequestInfo | None, uri: str) -> tuple[str, str, str]:
    """Return a URI, the members up to the user, and the reference to the object before a write is decoded."""
    if info is None:
        return uri, f'","requestURI":{quoted(uri)},"verb":"","user":', ""
    known = info.audit_members
    if known is not None and known[0] == uri:
        return known
    reference = ""
    if info.is_resource:
        reference = _named_reference(info, info.name)
    # requests for the same path share them
    found = info.audit_members = uri, f'","requestURI":{quoted(uri)},"verb":{quoted(info.verb)},"user":', reference
    return found


def _named_reference(info: RequestInfo, name: str) -> str:
    """Return the reference to the object of a request with a name, which may be empty."""
    before, after, nameless = _reference_parts(info.resource, info.namespace, info.group, info.version, info.subresource)
    return f'{before}"name":{quoted(name)}{after}' if name else nameless


@lru_cache(maxsize=_MAX_KEPT)
def _reference_parts(resource: str, namespace: str, group: str, version: str, subresource: str) -> tuple[str, str, str]:
    """Return the reference to the objects of a resource before and after their names, and that without a name."""
    # a path with an empty segment may lack all of them
    before = _members({"resource": resource, "namespace": namespace})
    after = _members({"apiGroup": group, "apiVersion": version, "subresource": subresource})
    comma = "," if before and after else ""
    begin = ',"objectRef":{'
    return f"{begin}{before}{before and ','}", f"{after and ','}{after}}}", f"{begin}{before}{comma}{after}}}"


def _members(values: dict[str, Any]) -> str:
    """Return the JSON of an object without its braces and without empty members."""
    return json_text({name: value for name, value in values.items() if value})[1:-1]


def quoted(text: str) -> str:
    """Return the JSON of a text."""
    try:
        return orjson.dumps(text).decode()
    except orjson.JSONEncodeError:
        return orjson.dumps(utf8.replaced(text)).decode()


def json_text(value: Any) -> str:
    """Return the JSON of texts and whole numbers. orjson alone is several times as fast as json_codec, which minds floats too."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return json_codec.dumps(value, sort_keys=False).decode()


_USERS: Final[dict[int, tuple[UserInfo, str]]] = {}
"""The JSON of the users of connections. Threads may use it at the same time: a text that one of them drops is made again."""


def user_text(user: UserInfo | None) -> str:
    """Return the JSON of a user; `{}` without one."""
    if user is None:
        return "{}"
    known = _USERS.get(id(user))
    if known is not None and known[0] is user:
        return known[1]
    if len(_USERS) >= _MAX_KEPT:
        _USERS.clear()
    text = _user_json(user)
    _USERS[id(user)] = user, text
    return text


def _user_json(user: UserInfo) -> str:
    return f"{{{_members({'username': user.name, 'uid': user.uid, 'groups': user.groups, 'extra': dict(user.extra)})}}}"


def recorded_reference(info: RequestInfo | None, record: RequestRecord, reference: str) -> str:
    """Return the reference to the object of a write; `reference` is the one before the write was decoded."""
    if info is None or not info.is_resource:
        return reference
    if record.uid or record.resource_version or (record.namespace and not info.namespace):
        return f',"objectRef":{{{_whole_reference(info, record)}}}'
    if info.name or not record.name:
        return reference
    # most creates
    return _named_reference(info, record.name)


def _whole_reference(info: RequestInfo, record: RequestRecord) -> str:
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
    return _members(members)


def _legacy(event: AuditEvent) -> str:
    quote, context = formatting.quote, event.context
    info, user, other = context.info, context.user, event.impersonated
    name = user.name if user is not None and user.name else "<none>"
    groups = _texts(user.groups) if user is not None and user.name and user.groups else "<none>"
    as_user, as_groups = "<self>", "<lookup>"
    if other is not None:
        as_user, as_groups = other.name, _texts(other.groups) if other.groups else as_groups
    namespace = ""
    if info is not None and info.is_resource:
        namespace = info.namespace or (event.record.namespace if event.record is not None else "")
    response = str(event.status.get("code", 0)) if event.status is not None else "<deferred>"
    source_ips, user_agent, _ = context.client
    ip = source_ips[0] if source_ips else "<unknown>"
    return (
        f"{local_time(context.received)} AUDIT: id={quote(context.audit_id)} stage={quote(event.stage.value)} ip={quote(ip)} "
        f"method={quote(info.verb if info is not None else '')} user={quote(name)} groups={quote(groups)} as={quote(as_user)} "
        f"asgroups={quote(as_groups)} user-agent={quote(user_agent)} namespace={quote(namespace or '<none>')} "
        f'uri={quote(context.uri)} response="{response}"\n'
    )


def _texts(items: Sequence[str]) -> str:
    return ",".join(map(formatting.quote, items))

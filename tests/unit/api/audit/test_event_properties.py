"""Every form of an event says what a dict of the same facts says, whatever clients have chosen."""

import json
import re
from collections.abc import Callable
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from apiext.api.audit.context import AuditContext, client
from apiext.api.audit.event import AuditEvent, arrival, event_list
from apiext.api.audit.levels import AuditLevel, AuditStage
from apiext.api.audit.log.lines import arrival_line, ended, last_lines
from apiext.api.audit.policy import AuditSettings
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.request import RequestInfo, UserInfo
from tests.unit.api.audit.plain_events import plain

_HOSTILE: Final = st.one_of(
    st.just(""),
    st.sampled_from(
        ["widgets", "default", "v1", '"', "\\", '"},{"', "\n", "\x00", "<b>&", "\u2028", "\udcff", "a\udc80b", "é", "\U0001f600"]
    ),
    st.text(st.characters(codec="utf-8") | st.sampled_from([chr(code) for code in range(0xDC80, 0xDD00)]), max_size=8),
)
"""Texts of clients: a byte of a header or of a path that is not UTF-8 is a lone surrogate."""
_USERS: Final = st.builds(
    UserInfo,
    _HOSTILE,
    st.lists(_HOSTILE, max_size=2).map(tuple),
    _HOSTILE,
    st.dictionaries(_HOSTILE, st.lists(_HOSTILE, max_size=2).map(tuple), max_size=1),
)
_VERBS: Final = st.sampled_from(["get", "list", "watch", "create", "patch", "deletecollection", "", "propfind"])
_INFOS: Final = st.none() | st.builds(
    RequestInfo,
    is_resource=st.booleans(),
    verb=_VERBS,
    group=_HOSTILE,
    version=_HOSTILE,
    namespace=_HOSTILE,
    resource=_HOSTILE,
    subresource=_HOSTILE,
    name=_HOSTILE,
)
_CLIENTS: Final = st.builds(client, st.sampled_from([(), ("127.0.0.1",), ("::1", "10.0.0.1")]), _HOSTILE)
_METADATA: Final = st.fixed_dictionaries(
    {}, optional={name: _HOSTILE | st.just(3) for name in ("name", "namespace", "uid", "resourceVersion", "labels")}
)
_NOTES: Final = st.dictionaries(_HOSTILE, _HOSTILE, max_size=2)
_STATUSES: Final = st.none() | st.fixed_dictionaries(
    {"code": st.integers(100, 599)},
    optional={"status": _HOSTILE, "message": _HOSTILE, "details": st.fixed_dictionaries({"name": _HOSTILE})},
)
_MOMENTS: Final = st.integers(0, 4_000_000_000_000_000_000)
_STAGES: Final = st.sampled_from(AuditStage)
_PAIRS: Final = re.compile(r' ([a-z-]+)=("(?:[^"\\]|\\.)*")')
_TEXTS: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_ESCAPES: Final = re.compile(r"\\(?:x(..)|u(.{4})|U(.{8})|(.))")
_SIMPLE: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", '"': '"'}


@st.composite
def _contexts(draw: st.DrawFn) -> AuditContext:
    """Return the context of a request with whatever its filters may have recorded."""
    context = AuditContext(draw(_HOSTILE), draw(_MOMENTS))
    context.settings = AuditSettings(draw(st.sampled_from([AuditLevel.METADATA, AuditLevel.REQUEST, AuditLevel.REQUEST_RESPONSE])))
    context.info, context.user = draw(_INFOS), draw(st.none() | _USERS)
    context.uri, context.client = draw(_HOSTILE), draw(_CLIENTS)
    if draw(st.booleans()):
        context.decide(draw(_HOSTILE), allowed=draw(st.booleans()))
    return context


def _recorded(context: AuditContext, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
    """Record what a write may record, and the answer."""
    if draw(st.booleans()):
        record = context.write_record()
        record.take_object({"kind": draw(_HOSTILE), "metadata": draw(_METADATA)})
        record.annotations.update(draw(_NOTES))
    for key, note in draw(_NOTES).items():
        context.annotate(key, note)
    context.status = draw(_STATUSES)


@st.composite
def _events(draw: st.DrawFn) -> AuditEvent:
    """Return an event with all that it may have."""
    context = draw(_contexts())
    _recorded(context, draw)
    if draw(st.booleans()):
        context.impersonate(draw(_USERS), draw(_HOSTILE))
    if draw(st.booleans()):
        data = json_codec.dumps({"kind": draw(_HOSTILE)})
        context.response = draw(st.sampled_from([(data, b"\n"), (data,), (data[:3], data[3:] + b"\n")]))
    return AuditEvent(context, draw(_STAGES), draw(st.just(context.received) | _MOMENTS))


@given(_events())
def test_lines(event: AuditEvent) -> None:
    """Write one line, with the objects and without."""
    line = event.line()

    assert line.index(b"\n") == len(line) - 1 == event.size - 1
    assert json.loads(line) == plain(event)
    event.check()
    short = event.truncated()
    assert json.loads(short.line()) == plain(short)
    assert (short.request_object, short.response_object) == (None, None)


@given(st.lists(_events(), max_size=3))
def test_lists(events: list[AuditEvent]) -> None:
    """Write a list, in which the events have no type."""
    items = [{key: value for key, value in plain(event).items() if key not in {"kind", "apiVersion"}} for event in events]

    assert json.loads(event_list(events)) == {"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "metadata": {}, "items": items}


@given(st.data())
def test_joined_lines(data: st.DataObject) -> None:
    """Write the lines of an arrival and of an end, of one request and of several at once."""
    joined, expected = [], []
    for context in data.draw(st.lists(_contexts(), min_size=1, max_size=3)):
        context.annotations = context.decided = None
        first = arrival(context)
        assert arrival_line(context) == first.line()
        _recorded(context, data.draw)
        if context.record is not None:
            context.record.body = None
        context.lines = data.draw(st.sampled_from([1, 2]))
        last = AuditEvent(context, AuditStage.RESPONSE_COMPLETE, data.draw(_MOMENTS))
        joined.append(ended(context, last.moment))
        expected += [plain(event) for event in (first, last)[-context.lines :]]

    assert [json.loads(line) for line in last_lines(joined).encode().split(b"\n")[:-1]] == expected


@given(_events())
def test_texts(event: AuditEvent) -> None:
    """Write one line of the format `legacy`, which reads as what it was made of."""
    head, found = event.text().decode().partition(" AUDIT:")[::2]
    pairs = {key: _unquoted(text) for key, text in _PAIRS.findall(found)}
    expected: dict[str, Any] = plain(event)
    user, other = expected["user"], expected.get("impersonatedUser")
    own = {"id": expected["auditID"], "stage": event.stage.value, "method": expected["verb"], "uri": expected["requestURI"]}

    assert " " not in head
    assert _PAIRS.sub("", found) == "\n"
    assert {key: pairs[key] for key in own} == own
    assert pairs["ip"] == expected.get("sourceIPs", ["<unknown>"])[0]
    assert pairs["user"] == user.get("username", "<none>")
    assert _listed(pairs["groups"]) == (user.get("groups", []) if user.get("username") else [])
    assert pairs["as"] == ("<self>" if other is None else other.get("username", ""))
    assert _listed(pairs["asgroups"]) == (other or {}).get("groups", [])
    assert pairs["user-agent"] == expected.get("userAgent", "")
    assert pairs["namespace"] == expected.get("objectRef", {}).get("namespace", "<none>")
    assert pairs["response"] == str(expected["responseStatus"]["code"] if "responseStatus" in expected else "<deferred>")


def _listed(texts: str) -> list[str]:
    return [_unquoted(text) for text in _TEXTS.findall(texts)]


def _unquoted(text: str) -> str:
    return _ESCAPES.sub(_character, text[1:-1])


def _character(found: re.Match[str]) -> str:
    byte, short, long, simple = found.groups()
    if byte is not None:
        code = int(byte, 16)
        return "\ufffd" if code >= 0x80 else chr(code)
    return _SIMPLE[simple] if simple is not None else chr(int(short or long, 16))

"""The forms of events."""

import json
from typing import Any

import pytest

from apiext.api.audit.event import AuditEvent, arrival, event_list, source_ips
from apiext.api.audit.levels import AuditLevel, AuditStage
from apiext.api.audit.log.lines import arrival_line, ended, last_lines
from apiext.api.audit.request_record import RequestRecord, strip_managed_fields
from apiext.base.meta.request import RequestInfo
from apiext.base.meta.time import micro_time
from tests.unit.api.audit.events import ANN, Taken, context, info


def test_members() -> None:
    """Write all members of an event, each stage with what was known then."""
    sink = Taken()
    audit = context(sink, AuditLevel.REQUEST_RESPONSE, verb="create", uri='/a"\udcff')
    audit.receive()
    audit.impersonate(ANN, "impersonate:user-info")
    audit.write_record().take_object({"kind": "Widget", "metadata": {"name": "b", "uid": "u", "resourceVersion": "3"}})
    audit.annotate("a", "first")
    audit.annotate("a", "second")
    audit.record.annotations["hook/a"] = "b"  # type: ignore[union-attr]
    audit.response = (b'{"kind":', b'"Status"}\n')
    audit.take_status({"kind": "Status", "metadata": {}, "status": "Failure", "message": "no", "details": {}, "code": 409})
    audit.complete()

    received, complete = sink.documents()
    user = {"username": "ann", "uid": "7", "groups": ["dev", "ops"], "extra": {"scopes": ["view"]}}
    common = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "RequestResponse",
        "auditID": "an-id",
        "requestURI": '/a"\ufffd',
        "verb": "create",
        "user": user,
        "sourceIPs": ["127.0.0.1"],
        "userAgent": "test/1",
        "requestReceivedTimestamp": "1970-01-01T00:00:01.500000Z",
    }
    reference = {"resource": "widgets", "namespace": "default", "name": "a", "apiGroup": "example.com", "apiVersion": "v1"}
    moment = complete.pop("stageTimestamp")

    assert received == {
        **common,
        "stage": "RequestReceived",
        "objectRef": reference,
        "stageTimestamp": common["requestReceivedTimestamp"],
    }
    assert moment > "2020"
    assert complete == {
        **common,
        "stage": "ResponseComplete",
        "impersonatedUser": user,
        "authenticationMetadata": {"impersonationConstraint": "impersonate:user-info"},
        "objectRef": {**reference, "uid": "u", "resourceVersion": "3"},
        "responseStatus": {"metadata": {}, "status": "Failure", "message": "no", "details": {}, "code": 409},
        "requestObject": {"kind": "Widget", "metadata": {"name": "b", "uid": "u", "resourceVersion": "3"}},
        "responseObject": {"kind": "Status"},
        "annotations": {"a": "first", "hook/a": "b"},
    }


@pytest.mark.parametrize(
    "status", [{"code": 200}, {"status": "Failure", "message": "no", "code": 404}, None], ids=["code", "status", "none"]
)
@pytest.mark.parametrize("notes", [{}, {"authorization.k8s.io/decision": "allow", "a": '"\udcff'}], ids=["plain", "annotated"])
def test_lines_without_events(status: dict[str, Any] | None, notes: dict[str, str]) -> None:
    """Write the same lines for most requests as by events."""
    audit = context(Taken(), uri='/a"\udcff')
    first = arrival(audit).line()
    audit.status = status
    for key, text in notes.items():
        audit.annotate(key, text)
    last = AuditEvent(audit, AuditStage.RESPONSE_COMPLETE, 2_500_000_000).line()

    assert arrival_line(audit) == first
    assert last_lines([ended(audit, 2_500_000_000)]).encode() == last
    audit.lines = 2
    assert last_lines([ended(audit, 2_500_000_000)]).encode() == first + last


def test_lists_and_lines() -> None:
    """End a line once, and omit types in lists."""
    sink = Taken()
    audit = context(sink)
    audit.response = (b"{}", b"\n")
    audit.take_code(200)
    audit.complete()
    (event,) = sink.events
    listed = json.loads(event_list([event, event]))

    assert event.line().count(b"\n") == 1
    assert (listed["kind"], listed["apiVersion"], listed["metadata"], len(listed["items"])) == ("EventList", "audit.k8s.io/v1", {}, 2)
    assert "kind" not in listed["items"][0]


def test_text() -> None:
    """Write the format `legacy` as the reference does."""
    sink = Taken()
    audit = context(sink, user=None)
    audit.receive()
    audit.impersonate(ANN, "")
    audit.take_code(404)
    audit.complete()

    first, second = (event.text().decode().partition(" ")[2] for event in sink.events)

    common = 'method="get" user="<none>" groups="<none>"'
    tail = 'user-agent="test/1" namespace="default" uri="/x"'
    head = 'AUDIT: id="an-id" stage='
    groups = 'asgroups="\\"dev\\",\\"ops\\""'
    assert first == f'{head}"RequestReceived" ip="127.0.0.1" {common} as="<self>" asgroups="<lookup>" {tail} response="<deferred>"\n'
    assert second == f'{head}"ResponseComplete" ip="127.0.0.1" {common} as="ann" {groups} {tail} response="404"\n'


def test_truncated() -> None:
    """Remove the objects from an event, and say so."""
    sink = Taken()
    audit = context(sink, AuditLevel.REQUEST)
    audit.write_record().take_body(b'{"a":1}')
    audit.complete()
    (event,) = sink.events
    short = json.loads(event.truncated().line())

    assert json.loads(event.line())["requestObject"] == {"a": 1}
    assert "requestObject" not in short
    assert short["annotations"] == {"audit.k8s.io/truncated": "true"}


@pytest.mark.parametrize("moment, text", [(0, "1970-01-01T00:00:00.000000Z"), (10**18 + 250_000_999, "2001-09-09T01:46:40.250000Z")])
def test_micro_time(moment: int, text: str) -> None:
    """Write six digits of a second."""
    assert micro_time(moment) == text


@pytest.mark.parametrize(
    "obj, expected",
    [
        ({"metadata": {"managedFields": [1], "name": "a"}}, {"metadata": {"name": "a"}}),
        (
            {"kind": "XList", "items": [{"metadata": {"managedFields": []}}, {"a": 1}]},
            {"kind": "XList", "items": [{"metadata": {}}, {"a": 1}]},
        ),
        (
            {"kind": "Table", "rows": [{"cells": [], "object": {"metadata": {"managedFields": []}}}, {"object": None}]},
            {"kind": "Table", "rows": [{"cells": [], "object": {"metadata": {}}}, {"object": None}]},
        ),
        ({"spec": {"managedFields": 1}}, {"spec": {"managedFields": 1}}),
    ],
)
def test_managed_fields(obj: Any, expected: Any) -> None:
    """Omit managedFields of objects, items and rows only."""
    assert json.loads(strip_managed_fields(json.dumps(obj, separators=(",", ":")).encode())) == expected


def test_records_without_body() -> None:
    """Record no body at level Metadata, and replace a record by that of a worker process in place."""
    record = RequestRecord()
    annotations = record.annotations
    record.take_object({"metadata": {"name": "a", "uid": 3}})
    other = RequestRecord(True, body=b"{}", name="b", annotations={"a": "b"}, latencies={"x": 1.0})

    assert (record.body, record.name, record.uid) == (None, "a", "")
    record.replace(other)
    assert (record.body, record.name, record.annotations, record.latencies) == (b"{}", "b", {"a": "b"}, {"x": 1.0})
    assert record.annotations is annotations
    record.forget()
    assert not annotations


@pytest.mark.parametrize(
    "headers, remote, expected",
    [
        (("", ""), "127.0.0.1", ["127.0.0.1"]),
        (("10.0.0.1, nonsense,2001:DB8::1", "10.0.0.1"), "::1", ["10.0.0.1", "2001:db8::1", "::1"]),
        (("10.0.0.1", "10.0.0.2"), "10.0.0.2", ["10.0.0.1", "10.0.0.2"]),
        (("010.0.0.01", ""), "::ffff:1.2.3.4", ["10.0.0.1", "1.2.3.4"]),
        (("fe80::1%eth0", ""), "", []),
    ],
)
def test_source_ips(headers: tuple[str, str], remote: str, expected: list[str]) -> None:
    """List the addresses that proxies name, then the connection's."""
    assert list(source_ips(*headers, remote)) == expected


def test_ignores_events_of_omitted_stages() -> None:
    """Emit ResponseStarted once."""
    sink = Taken()
    audit = context(sink)
    audit.start(200)
    audit.start(200)

    assert sink.stages == ["ResponseStarted"]
    assert info().kind == "readOnly"


@pytest.mark.parametrize("members", [{}, {"uid": "u"}, {"namespace": "other"}, {"resourceVersion": "7", "name": 'b"'}])
@pytest.mark.parametrize("notes", [{}, {"patch.webhook.admission.k8s.io/round_0_index_0": "{}"}])
def test_lines_of_a_create(members: dict[str, str], notes: dict[str, str]) -> None:
    """Make the same lines of a create at once as by its events: the first does not know the object yet."""
    audit = context(Taken(), verb="create")
    audit.info = RequestInfo(True, "/apis/example.com/v1/widgets", "create", "apis", "example.com", "v1", "", "widgets")
    audit.decide("because", allowed=True)
    first = arrival_line(audit)
    record = audit.write_record()
    record.take_object({"metadata": {"name": "a", **members}})
    record.annotations.update(notes)
    audit.take_code(201)
    audit.lines = 2

    last = AuditEvent(audit, AuditStage.RESPONSE_COMPLETE, 2_500_000_000).line()
    assert last_lines([ended(audit, 2_500_000_000)]).encode() == first + last

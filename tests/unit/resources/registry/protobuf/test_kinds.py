"""Protobuf of built-in objects that kube-apiserver stored."""

import base64

import pytest

from apiext.base.meta.builtin_resources import EVENTS, NAMESPACES
from apiext.base.meta.generated.go_types import struct_of
from apiext.resources.registry.builtin.events import EVENT_KIND
from apiext.resources.registry.builtin.namespace import NAMESPACE_KIND
from apiext.resources.registry.protobuf import kinds
from apiext.resources.registry.protobuf.kinds import message_of

# Values as kube-apiserver 1.37.1 wrote them to etcd.
NAMESPACE = base64.b64decode(
    "azhzAAoPCgJ2MRIJTmFtZXNwYWNlEvUBCtoBCgJuMhIAGgAiACokMjhmYzdmOWYtNTdlNS00NmI5LWIwNjgtN2ZjNDE2YjBjYzg1MgA4AEIICNS2hdgGEABa"
    "IQoba3ViZXJuZXRlcy5pby9tZXRhZGF0YS5uYW1lEgJuMooBdgoHdW5rbm93bhIGVXBkYXRlGgJ2MSIICNS2hdgGEAAyCEZpZWxkc1YxOkkKR3siZjptZXRh"
    "ZGF0YSI6eyJmOmxhYmVscyI6eyIuIjp7fSwiZjprdWJlcm5ldGVzLmlvL21ldGFkYXRhLm5hbWUiOnt9fX19QgASDAoKa3ViZXJuZXRlcxoICgZBY3RpdmUa"
    "ACIA"
)
EVENT = base64.b64decode(
    "azhzAAoLCgJ2MRIFRXZlbnQS9QMKhgMKAmUzEgAaB2RlZmF1bHQiACokOWI3YTM5OTAtYWU5OC00OTgxLWExM2EtYzlhZjM2Mzg2MGFiMgA4AEIICNS2hdgG"
    "EACKAb0CCgd1bmtub3duEgZVcGRhdGUaAnYxIggI1LaF2AYQADIIRmllbGRzVjE6jwIKjAJ7ImY6YWN0aW9uIjp7fSwiZjpjb3VudCI6e30sImY6ZXZlbnRU"
    "aW1lIjp7fSwiZjpmaXJzdFRpbWVzdGFtcCI6e30sImY6aW52b2x2ZWRPYmplY3QiOnt9LCJmOm1lc3NhZ2UiOnt9LCJmOnJlYXNvbiI6e30sImY6cmVwb3J0"
    "aW5nQ29tcG9uZW50Ijp7fSwiZjpyZXBvcnRpbmdJbnN0YW5jZSI6e30sImY6c2VyaWVzIjp7Ii4iOnt9LCJmOmNvdW50Ijp7fSwiZjpsYXN0T2JzZXJ2ZWRU"
    "aW1lIjp7fX0sImY6c291cmNlIjp7ImY6Y29tcG9uZW50Ijp7fX0sImY6dHlwZSI6e319QgASKwoGV2lkZ2V0EgdkZWZhdWx0GgF3IgF1Kg5leGFtcGxlLmNv"
    "bS92MTIAOgAaAVIiAW0qBQoBYxIAMggIgMKv8AUQADoAQAFKBk5vcm1hbFILCIDCr/AFEICU7zpaBAgBEgBiAXhyAWF6AWIaACIA"
)


def test_decodes_a_namespace() -> None:
    """Decode a namespace to the object that kube-apiserver serves."""
    assert NAMESPACE_KIND.codec().decode(NAMESPACE) == {
        "kind": "Namespace",
        "apiVersion": "v1",
        "metadata": {
            "name": "n2",
            "uid": "28fc7f9f-57e5-46b9-b068-7fc416b0cc85",
            "creationTimestamp": "2026-11-21T08:50:28Z",
            "labels": {"kubernetes.io/metadata.name": "n2"},
            "managedFields": [
                {
                    "manager": "unknown",
                    "operation": "Update",
                    "apiVersion": "v1",
                    "time": "2026-11-21T08:50:28Z",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:kubernetes.io/metadata.name": {}}}},
                }
            ],
        },
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def test_decodes_an_event() -> None:
    """Keep microseconds of times, and null for unset ones."""
    event = EVENT_KIND.codec().decode(EVENT)

    assert event["metadata"]["namespace"] == "default"
    del event["metadata"]
    assert event == {
        "kind": "Event",
        "apiVersion": "v1",
        "involvedObject": {"kind": "Widget", "namespace": "default", "name": "w", "uid": "u", "apiVersion": "example.com/v1"},
        "reason": "R",
        "message": "m",
        "source": {"component": "c"},
        "firstTimestamp": "2020-01-01T00:00:00Z",
        "lastTimestamp": None,
        "count": 1,
        "type": "Normal",
        "eventTime": "2020-01-01T00:00:00.123456Z",
        "series": {"count": 1, "lastObservedTime": None},
        "action": "x",
        "reportingComponent": "a",
        "reportingInstance": "b",
    }


def test_stores_as_json() -> None:
    """Store a decoded object as JSON."""
    codec = NAMESPACE_KIND.codec()
    data = codec.encode(codec.decode(NAMESPACE)).data

    assert data.startswith(b'{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"n2",')
    assert codec.decode(data) == codec.decode(NAMESPACE)


def test_encodes_as_kube_apiserver() -> None:
    """Encode an object to kube-apiserver's bytes."""
    namespace, event = NAMESPACE_KIND.codec().decode(NAMESPACE), EVENT_KIND.codec().decode(EVENT)

    assert kinds.dumps("v1", "Namespace", message_of(struct_of(NAMESPACES.kind)).write(namespace)) == NAMESPACE
    assert kinds.dumps("v1", "Event", message_of(struct_of(EVENTS.kind)).write(event)) == EVENT


def test_encodes_times_and_numbers() -> None:
    """Encode negative numbers, times before 1970 and before the year 1000, and the zero time as an empty message."""
    event = {"count": -3, "firstTimestamp": "1960-01-01T00:00:00Z", "eventTime": "0900-01-01T00:00:00.5Z", "lastTimestamp": None}
    read = message_of(struct_of(EVENTS.kind)).read(message_of(struct_of(EVENTS.kind)).write(event))

    assert {name: read[name] for name in event} == event | {"eventTime": "0900-01-01T00:00:00.500000Z"}


@pytest.mark.parametrize("size", range(4, len(NAMESPACE), 7))
def test_rejects_truncated_data(size: int) -> None:
    """Raise ValueError for truncated bytes, or return an object with fewer fields."""
    try:
        NAMESPACE_KIND.codec().decode(NAMESPACE[:size])
    except ValueError as error:
        assert str(error) == "unexpected EOF" or "decode" in str(error) or "unmarshal" in str(error)  # noqa: PT017

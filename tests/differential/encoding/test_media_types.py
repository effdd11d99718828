"""Tests of accepted media types: errors and objects in Protobuf, wildcards and unusual types."""

import json
from collections.abc import Iterator
from itertools import product
from typing import Final

import pytest

from apiext.base.meta import builtin_resources
from apiext.base.meta.generated.go_types import struct_of
from apiext.resources.registry.protobuf import kinds
from apiext.resources.registry.protobuf.customresourcedefinition import DEFINITION_WIRE
from apiext.resources.registry.protobuf.kinds import Message, message_of
from apiext.resources.registry.protobuf.objectmeta import PARTIAL, PARTIAL_LISTS, list_message
from hack.lib.differential.masking import masked
from hack.lib.differential.pair import Pair, Step
from tests.differential.helpers.differences import compared
from tests.differential.helpers.documents import PROTOBUF, definitions
from tests.differential.helpers.protobuf_objects import asking, frames, read_forms
from tests.support.builders.crds import widget_crd
from tests.support.servers.in_process import CRDS

pytestmark = pytest.mark.slow

GROUP: Final = "media.example.com"
BASE: Final = f"/apis/{GROUP}/v1/namespaces/default/widgets"
NAMESPACE: Final = "/api/v1/namespaces/media"
EVENTS: Final = f"{NAMESPACE}/events"
RICH: Final = f"{CRDS}/everythings.protobuf.example.com"
ACCEPTED: Final = (
    PROTOBUF,
    f"{PROTOBUF},application/json",
    f"application/json,{PROTOBUF}",
    f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1",
    f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    f"{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1",
    f"{PROTOBUF};q=0.5, application/yaml;q=0.1",
    f"{PROTOBUF};stream=watch",
    "application/json;sv=v1",
    "application/json;sv=v2",
    "application/json;stream=watch",
    "application/cbor",
    "application/cbor,application/json",
    "*/*",
    "application/*",
    "text/html",
)
TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
QUALITIES: Final = (
    *(("0.5 ", "0.1"), ("0.5=", "0.1"), ("=", "0.1"), ("0x1", "0.2"), ("1_0", "5"), ("1_0_.0", "5"), ("nan", "1")),
    *(("inf", "100"), ("-Infinity", "-100"), ("1e39", "1e38"), ("+0.1", ".2"), ("2.", "5.")),
)
"""Pairs of q values."""
ODD: Final = (
    f"application/json,{TABLE}",
    f"{TABLE.replace('v=v1', 'v=v2')},application/json",
    TABLE.replace("as=", "AS="),
    TABLE.replace("Table", "PartialObjectMetadata"),
    TABLE.replace("Table", "PartialObjectMetadataList"),
    TABLE.replace("Table", "PartialObjectMetadataList").replace("v=v1", "v=v1beta1"),
    TABLE.replace("Table", '"Table"'),
    "application/json;g=meta.k8s.io;v=v1",
    "application/json;as=;g=;v=",
    "application/json;as=Table",
    "*/*;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    "application/json;q=-1",
    "application/json;q=2,application/yaml;q=1",
    "application/yaml;q=1.0001,application/json",
    "application/json;q=",
    "application/json;;;",
    "application/json;=x",
    " application/yaml ",
    "application/yaml;stream=",
    "application/json; stream=watch;q=0.1, application/yaml;q=0.2",
    *(f"application/json;{params}" for params in ("stream=watq=", "stream==", "stream=watch=", "stream=watch==", "stream=a=b", "sv=v1=")),
    *(
        f"application/json;{params}"
        for params in ("pretty=1=", "pretty= 1 ", "charset=utf-16", 'charset="a;stream=x"', "=", "==", "=watch")
    ),
    *(f"application/json;q={first},application/yaml;q={second}" for first, second in QUALITIES),
    *(f"application/json;{name}=0.1,application/yaml;q=0.2" for name in (" q", "q ", "Q", "\tq", "q=0.1;q")),
    TABLE + "=",
    TABLE.replace("Table", "Table="),
    TABLE.replace("v1", "v1==") + ",application/json",
    *("application/json/", "application/json/x", "application/", "application//", "application / yaml", "application/yaml ;q=1"),
    *("*", "*/", "*/ ;q=1", "*//", "* ;q=1", "*/json", " * / * ", "/", ";", ";q=1", ",", ",application/yaml", "APPLICATION/JSON"),
)
"""Unusual values of Accept."""
ERRORS: Final = (
    Step("GET", f"{BASE}/missing"),
    Step("GET", f"{BASE}?labelSelector=a%20b"),
    Step("GET", f"{BASE}?watch=true&resourceVersion=x"),
    Step("POST", BASE, {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": "A_"}, "spec": {"replicas": "x"}}),
    Step("PUT", f"{BASE}/missing", {}),
    Step("DELETE", f"{BASE}/missing"),
    Step("GET", "/api/v1/namespaces/missing"),
    Step("GET", "/api/v1/namespaces/default/missing"),
    Step("POST", "/api/v1/namespaces", {"metadata": {"name": "A_"}}),
    Step("GET", f"{CRDS}/missing"),
    Step("GET", f"{CRDS}/missing/status"),
    Step("GET", "/version/missing"),
    *(Step(method, "/version") for method in ("POST", "DELETE", "HEAD", "OPTIONS", "TRACE")),
)
EVENT: Final = {
    "metadata": {
        "name": "e",
        "ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "n", "uid": "u", "controller": False}],
        "annotations": {"z": "1", "a": "<&>"},
        "labels": {"b": "c"},
    },
    "involvedObject": {"kind": "X", "name": "n", "namespace": "media"},
    "reason": "r",
    "message": "größer <als> null",
    "count": -3,
    "firstTimestamp": "1960-01-01T00:00:00Z",
    "series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:00.500000Z"},
    "related": {"name": "x"},
    "type": "Normal",
    "source": {"component": "c"},
}


@pytest.fixture(scope="module")
def served(pair: Pair) -> Iterator[Pair]:
    """Serve custom resources on both servers, with an object of each built-in kind that has Protobuf."""
    widgets = widget_crd(group=GROUP)
    rich = definitions("protobuf.example.com")[0]
    with pair.served(widgets, rich):
        steps = (
            Step("POST", "/api/v1/namespaces", {"metadata": {"name": "media", "finalizers": ["example.com/x"]}}),
            Step("POST", EVENTS, EVENT),
            Step("POST", BASE, {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": "w", "labels": {"a": "b"}}}),
        )
        assert not [difference for step in steps for difference in pair.differences(step)]
        yield pair


def test_errors_in_what_is_accepted(served: Pair) -> None:
    """Return every error with equal code, media type and body for each accepted type."""
    steps = [Step(step.method, step.path, step.body, {"Accept": accept}) for step, accept in product(ERRORS, ACCEPTED)]
    compared(served, steps)


@pytest.mark.parametrize(
    "path",
    [
        *(f"{BASE}/w{sub}" for sub in ("", "/status", "/scale")),
        BASE,
        NAMESPACE,
        f"{NAMESPACE}/status",
        "/api/v1/namespaces",
        EVENTS,
        f"{EVENTS}/e",
        RICH,
        f"{RICH}/status",
        CRDS,
        "/api/v1/watch/namespaces/media?timeoutSeconds=0&resourceVersion=x",
        f"/apis/{GROUP}/v1/watch/widgets?resourceVersion=x",
    ],
)
def test_accept(served: Pair, path: str) -> None:
    """Negotiate objects and lists alike; another test compares the Protobuf content."""
    found = {}
    for accept in (*ACCEPTED, *ODD):
        shapes = []
        for side in (served.reference, served.ours):
            response, data = side.raw(Step("GET", path, headers={"Accept": accept}))
            shapes.append((response.status, response.headers["Content-Type"], data if response.status >= 400 else data[:1]))
        served.compared += 1
        if shapes[0] != shapes[1]:
            found[accept] = shapes

    assert found == {}


PARTIALS: Final = "PartialObjectMetadataList"


@pytest.mark.parametrize(
    "step,message",
    [
        (asking(NAMESPACE), message_of(struct_of(builtin_resources.NAMESPACES.kind))),
        (asking(f"{NAMESPACE}/status"), message_of(struct_of(builtin_resources.NAMESPACES.kind))),
        (asking("/api/v1/namespaces?limit=1"), list_message(message_of(struct_of(builtin_resources.NAMESPACES.kind)))),
        (asking(f"{EVENTS}/e"), message_of(struct_of(builtin_resources.EVENTS.kind))),
        (asking(EVENTS), list_message(message_of(struct_of(builtin_resources.EVENTS.kind)))),
        (asking(f"{NAMESPACE}2/events"), list_message(message_of(struct_of(builtin_resources.EVENTS.kind)))),
        (asking(RICH), DEFINITION_WIRE),
        (asking(f"{RICH}/status"), DEFINITION_WIRE),
        (asking(f"{CRDS}?fieldSelector=metadata.name%3D{RICH.rpartition('/')[2]}"), list_message(DEFINITION_WIRE)),
        (asking(f"{EVENTS}/e", "PartialObjectMetadata"), PARTIAL),
        (asking(f"{BASE}/w", "PartialObjectMetadata"), PARTIAL),
        (asking(f"{BASE}/w", "PartialObjectMetadata", "v1beta1"), PARTIAL),
        (asking(f"{BASE}/w/status", "PartialObjectMetadata"), PARTIAL),
        (asking(BASE, PARTIALS), PARTIAL_LISTS["v1"]),
        (asking(BASE, PARTIALS, "v1beta1"), PARTIAL_LISTS["v1beta1"]),
        (asking(EVENTS, PARTIALS), PARTIAL_LISTS["v1"]),
    ],
)
def test_protobuf(served: Pair, step: Step, message: Message) -> None:
    """Encode the reference's JSON to the reference's Protobuf bytes, and serve apiext's own objects so."""
    theirs, reference_bytes, from_reference = read_forms(served.reference, step, message)
    ours, own_bytes, from_own = read_forms(served.ours, step, message)
    served.compared += 1

    assert reference_bytes == from_reference
    assert own_bytes == from_own
    assert masked(ours) == masked(theirs)


@pytest.mark.parametrize(
    "step",
    [
        Step("POST", "/api/v1/namespaces?dryRun=All", {"metadata": {"name": "new"}}),
        Step("PATCH", f"{NAMESPACE}?dryRun=All", {"metadata": {"labels": {"a": "b"}}}),
        Step("PUT", f"{NAMESPACE}/finalize", {"metadata": {"name": "media"}, "spec": {"finalizers": ["kubernetes"]}}),
        Step("DELETE", f"{NAMESPACE}?dryRun=All"),
        Step("DELETE", f"{EVENTS}/e?dryRun=All"),
        Step("DELETE", f"{BASE}/w?dryRun=All"),
        Step("PATCH", f"{BASE}/w?dryRun=All", {"metadata": {"labels": {"c": "d"}}}),
        Step("DELETE", f"{EVENTS}?dryRun=All"),
    ],
)
@pytest.mark.parametrize("params", ["", ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"])
def test_writes(served: Pair, step: Step, params: str) -> None:
    """Answer writes in Protobuf like reads, and never transform a Status."""
    shapes = []
    for side in (served.reference, served.ours):
        headers = {"Accept": PROTOBUF + params}
        if step.method == "PATCH":
            headers["Content-Type"] = "application/merge-patch+json"
        response, data = side.raw(Step(step.method, step.path, step.body, headers))
        envelope = kinds.read(data, Message({})) if data.startswith(kinds.PREFIX) else masked(json.loads(data))
        shapes.append((response.status, response.headers["Content-Type"], envelope))
    served.compared += 1

    assert shapes[1] == shapes[0]


@pytest.mark.parametrize("sub", ["", "/status", "/scale"])
@pytest.mark.parametrize("media,version", [("application/json", "v1"), ("application/yaml", "v1beta1")])
def test_one_object_as_a_list(served: Pair, sub: str, media: str, version: str) -> None:
    """Refuse one object as a list of metadata after a read and after a write, which is executed."""
    headers = {"Accept": f"{media};as={PARTIALS};g=meta.k8s.io;v={version}"}
    one = f"{BASE}/one"
    made = {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {"replicas": 1}}
    changed = {**made, "metadata": {"name": "one", "resourceVersion": f"{{rv:{one}}}", "labels": {"a": "b"}}}
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "one"}, "spec": {"replicas": 3}}
    steps = (
        Step("POST", BASE, made, headers),
        Step("GET", one + sub, headers=headers),
        Step("PUT", one + sub, scale if sub == "/scale" else changed, headers),
        Step("PATCH", one + sub, {"spec": {"replicas": 4}}, headers),
        Step("PATCH", one + sub, {"metadata": {"labels": {"b": "c"}}}, headers),
        Step("GET", one),
        Step("DELETE", f"{one}?dryRun=All", headers=headers),
        Step("DELETE", one, headers=headers),
        Step("GET", one),
    )
    compared(served, steps)


INITIAL: Final = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


@pytest.mark.parametrize(
    "step,message",
    [
        (
            asking("/api/v1/namespaces?watch=true&fieldSelector=metadata.name%3Dmedia"),
            message_of(struct_of(builtin_resources.NAMESPACES.kind)),
        ),
        (asking(f"{EVENTS}?watch=true&{INITIAL}"), message_of(struct_of(builtin_resources.EVENTS.kind))),
        (asking(f"{CRDS}?watch=true&fieldSelector=metadata.name%3D{RICH.rpartition('/')[2]}"), DEFINITION_WIRE),
        (asking(f"{BASE}?watch=true&{INITIAL}", "PartialObjectMetadata"), PARTIAL),
        (asking(f"{EVENTS}?watch=true", "PartialObjectMetadata", "v1beta1"), PARTIAL),
        (asking(f"{BASE}?watch=true&resourceVersion=1", "PartialObjectMetadata"), PARTIAL),
    ],
)
def test_watches(served: Pair, step: Step, message: Message) -> None:
    """Send equal frames and events in watches."""
    timed = Step("GET", f"{step.path}&timeoutSeconds=1", headers=step.headers)
    theirs, ours = served.at_once(lambda side: frames(side, timed, message))
    served.compared += 1

    assert ours == theirs
    assert ours[0] == f"{PROTOBUF};stream=watch"

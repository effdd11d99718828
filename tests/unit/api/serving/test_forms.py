"""Tables, partial metadata and other representations of objects, lists and watches."""

from typing import Any

import pytest

from apiext.base.meta.encoding import json_codec
from tests.support.builders.crds import widget
from tests.support.servers.in_process import CRDS, InProcess

BASE = "/apis/example.com/v1/namespaces/default/widgets"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


@pytest.fixture
async def one(widgets: InProcess) -> InProcess:
    """Yield a server with one widget."""
    await widgets.ask("POST", BASE, widget(replicas=2))
    return widgets


async def test_list_as_table(one: InProcess) -> None:
    """Return a list as a Table with the definition's columns and the metadata of each object."""
    answer = await one.ask("GET", BASE, Accept=TABLE)

    table = answer.json
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert [(column["name"], column["priority"]) for column in table["columnDefinitions"]] == [("Name", 0), ("Size", 0), ("Replicas", 1)]
    assert table["rows"][0]["cells"] == ["a", "m", 2]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    assert "continue" not in table["metadata"]


@pytest.mark.parametrize("include, kind", [("Object", "Widget"), ("Metadata", "PartialObjectMetadata"), ("None", None)])
async def test_include_object(one: InProcess, include: str, kind: str | None) -> None:
    """Include objects, metadata or nothing in table rows as IncludeObject says, for lists and single objects."""
    for path in (BASE, f"{BASE}/a"):
        row = (await one.ask("GET", f"{path}?includeObject={include}", Accept=TABLE)).json["rows"][0]

        assert row["object"] == kind or row["object"]["kind"] == kind


async def test_rejects_other_values_of_include_object(one: InProcess) -> None:
    """Reject other values of IncludeObject."""
    answer = await one.ask("GET", f"{BASE}?includeObject=x", Accept=f"{TABLE},application/json")

    assert (answer.status, answer.message) == (
        400,
        "Unable to convert to Table as requested: includeObject: Invalid value: \"x\": must be 'Metadata', 'Object', 'None', or empty",
    )


async def test_scale_as_table(one: InProcess) -> None:
    """Return a scale as a Table with its own columns."""
    table = (await one.ask("GET", f"{BASE}/a/scale", Accept=TABLE)).json

    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Desired", "Available", "Age"]
    assert table["rows"][0]["cells"][:3] == ["a", 2, 0]


async def test_partial_metadata(one: InProcess) -> None:
    """Return the metadata of one object and of a list."""
    single = (await one.ask("GET", f"{BASE}/a", Accept=PARTIAL)).json
    listed = (await one.ask("GET", BASE, Accept=PARTIAL_LIST)).json

    assert set(single) == {"kind", "apiVersion", "metadata"}
    assert (listed["kind"], listed["items"]) == ("PartialObjectMetadataList", [single])


@pytest.mark.parametrize(
    "path, accept, code, message",
    [
        (BASE, PARTIAL, 406, "you requested PartialObjectMetadata, but the requested object is a list (*unstructured.UnstructuredList)"),
        (f"{BASE}/a", PARTIAL_LIST, 500, "content is not a list"),
        (
            "/api/v1/namespaces",
            PARTIAL,
            406,
            "you requested PartialObjectMetadata, but the requested object is a list (*core.NamespaceList)",
        ),
        (
            "/api/v1/namespaces/default",
            PARTIAL_LIST,
            406,
            "you requested PartialObjectMetadataList, but the requested object is not a list (*core.Namespace)",
        ),
        (BASE, "application/cbor", 406, "only the following media types are accepted: application/json, "),
    ],
)
async def test_rejects_lists_as_objects(one: InProcess, path: str, accept: str, code: int, message: str) -> None:
    """Reject a list requested as an object, and an object requested as a list."""
    answer = await one.ask("GET", path, Accept=accept)

    assert answer.status == code
    assert answer.message.startswith(message)


async def test_builtin_tables(one: InProcess) -> None:
    """Return the columns that kubectl expects of namespaces, events and definitions."""
    event: dict[str, Any] = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Widget", "name": "a", "namespace": "default"},
        "type": "Normal",
    }
    event |= {"message": " hello\n", "reason": "R", "source": {"component": "c", "host": "h"}, "eventTime": None}
    await one.ask("POST", "/api/v1/namespaces/default/events", event)
    namespaces = (await one.ask("GET", "/api/v1/namespaces", Accept=TABLE)).json
    events = (await one.ask("GET", "/api/v1/events", Accept=TABLE)).json
    definitions = (await one.ask("GET", CRDS, Accept=TABLE)).json

    assert namespaces["rows"][0]["cells"][:2] == ["default", "Active"]
    assert events["rows"][0]["cells"] == ["<unknown>", "Normal", "R", "widget/a", "", "c, h", "hello", "<unknown>", 1, "e"]
    cells = definitions["rows"][0]["cells"]
    assert [*cells[:3], *cells[4:]] == ["widgets.example.com", "Namespaced", "v1(storage)", "example.com", "Widget", "", True]


async def _watch(server: InProcess, query: str, accept: str) -> list[dict[str, Any]]:
    answer = await server.ask("GET", f"{BASE}?watch=1&timeoutSeconds=1&{query}", Accept=accept)
    assert answer.status == 200
    assert answer.headers["Transfer-Encoding"] == "chunked"
    assert answer.headers["Content-Type"] == "application/json"
    return [json_codec.loads(line) for line in answer.body.splitlines()]


async def test_watch_as_table_and_metadata(one: InProcess) -> None:
    """Return watched objects in the requested representation; only the first Table has columns."""
    initial = "sendInitialEvents=1&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1"
    plain = await _watch(one, initial, "application/json;stream=watch")
    partial = await _watch(one, initial, PARTIAL)
    table = await _watch(one, f"{initial}&includeObject=None", TABLE)

    assert [event["type"] for event in plain] == ["ADDED", "BOOKMARK"]
    assert plain[0]["object"]["spec"]["replicas"] == 2
    assert [event["object"]["kind"] for event in partial] == ["PartialObjectMetadata"] * 2
    assert partial[1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    added, bookmark = (event["object"] for event in table)
    assert added["rows"] == [{"cells": ["a", "m", 2], "object": None}]
    assert bookmark["columnDefinitions"] is None
    assert bookmark["rows"][0]["cells"] == ["", None, None]
    assert "k8s.io/initial-events-end" in bookmark["rows"][0]["object"]["metadata"]["annotations"]


async def test_rejects_yaml_watches(one: InProcess) -> None:
    """Reject a watch in YAML."""
    answer = await one.ask("GET", f"{BASE}?watch=1", Accept="application/yaml")

    assert answer.status == 406
    assert b"application/json;stream=watch" in answer.body


async def test_deprecated_watch_paths(one: InProcess) -> None:
    """Watch one object or a list by paths with /watch/."""
    answer = await one.ask("GET", "/apis/example.com/v1/watch/namespaces/default/widgets/a?timeoutSeconds=1")

    assert [json_codec.loads(line)["type"] for line in answer.body.splitlines()] == ["ADDED"]


async def test_watch_as_list_ends(one: InProcess) -> None:
    """End a watch without an event if its objects are requested as lists."""
    for accept in (PARTIAL_LIST, PARTIAL_LIST.replace("json", "vnd.kubernetes.protobuf")):
        answer = await one.ask("GET", f"{BASE}?watch=true&timeoutSeconds=60", Accept=accept)

        assert (answer.status, answer.body) == (200, b"")

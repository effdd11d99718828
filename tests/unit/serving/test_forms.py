"""Objects, lists and watches in other forms than their own."""

from typing import Any

import pytest

from apiext.meta import json_codec
from tests.support.servers.in_process import CRDS, InProcess

BASE = "/apis/example.com/v1/namespaces/default/widgets"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


@pytest.fixture
async def one(widgets: InProcess) -> InProcess:
    """A server with one widget."""
    body = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"replicas": 2}}
    await widgets.ask("POST", BASE, body)
    return widgets


async def test_table(one: InProcess) -> None:
    """A list as a table: the columns of the definition, and metadata of each object."""
    answer = await one.ask("GET", BASE, Accept=TABLE)

    table = answer.json
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert [(column["name"], column["priority"]) for column in table["columnDefinitions"]] == [("Name", 0), ("Size", 0), ("Replicas", 1)]
    assert table["rows"][0]["cells"] == ["a", "m", 2]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    assert "continue" not in table["metadata"]


@pytest.mark.parametrize("include, kind", [("Object", "Widget"), ("Metadata", "PartialObjectMetadata"), ("None", None)])
async def test_objects_in_tables(one: InProcess, include: str, kind: str | None) -> None:
    """IncludeObject tells what comes with the cells, for lists and for single objects."""
    for path in (BASE, f"{BASE}/a"):
        row = (await one.ask("GET", f"{path}?includeObject={include}", Accept=TABLE)).json["rows"][0]

        assert row["object"] == kind or row["object"]["kind"] == kind


async def test_wrong_include(one: InProcess) -> None:
    """IncludeObject has three values."""
    answer = await one.ask("GET", f"{BASE}?includeObject=x", Accept=f"{TABLE},application/json")

    assert (answer.status, answer.message) == (
        400,
        "Unable to convert to Table as requested: includeObject: Invalid value: \"x\": must be 'Metadata', 'Object', 'None', or empty",
    )


async def test_scale_table(one: InProcess) -> None:
    """A scale has columns of its own."""
    table = (await one.ask("GET", f"{BASE}/a/scale", Accept=TABLE)).json

    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Desired", "Available", "Age"]
    assert table["rows"][0]["cells"][:3] == ["a", 2, 0]


async def test_partial(one: InProcess) -> None:
    """Metadata alone, of one object and of many."""
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
async def test_wrong_forms(one: InProcess, path: str, accept: str, code: int, message: str) -> None:
    """A list is no object and an object no list."""
    answer = await one.ask("GET", path, Accept=accept)

    assert answer.status == code
    assert answer.message.startswith(message)


async def test_builtin_tables(one: InProcess) -> None:
    """Namespaces, events and definitions have the columns that kubectl knows them by."""
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


async def test_watch_forms(one: InProcess) -> None:
    """Watched objects come in the form asked for; only the first table has columns."""
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


async def test_yaml_watch(one: InProcess) -> None:
    """A watch cannot be YAML."""
    answer = await one.ask("GET", f"{BASE}?watch=1", Accept="application/yaml")

    assert answer.status == 406
    assert b"application/json;stream=watch" in answer.body


async def test_deprecated_watch_path(one: InProcess) -> None:
    """Paths with /watch/ watch one object, or many."""
    answer = await one.ask("GET", "/apis/example.com/v1/watch/namespaces/default/widgets/a?timeoutSeconds=1")

    assert [json_codec.loads(line)["type"] for line in answer.body.splitlines()] == ["ADDED"]


async def test_lists_in_watches(one: InProcess) -> None:
    """A watch whose objects are asked for as lists ends with its first event, without a word."""
    for accept in (PARTIAL_LIST, PARTIAL_LIST.replace("json", "vnd.kubernetes.protobuf")):
        answer = await one.ask("GET", f"{BASE}?watch=true&timeoutSeconds=60", Accept=accept)

        assert (answer.status, answer.body) == (200, b"")

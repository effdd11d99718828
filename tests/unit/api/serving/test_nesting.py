"""Nesting deeper than MAX_DEPTH: refused in requests, readable and deletable where it is stored already."""

import json
from typing import Any, Final

import pytest
import yaml

from apiext.api.openapi import custom_resources
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_values import depth
from apiext.base.meta.limits import MAX_DEPTH
from tests.support.builders.crds import crd, stored_crd, version, widget, widget_crd
from tests.support.event_loop import until
from tests.support.servers.in_process import CRDS, Answer, InProcess
from tests.support.servers.memory_backend import MemoryBackend

BASE: Final = "/apis/example.com/v1/namespaces/default/widgets"
MERGE: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
YAML: Final = "application/yaml"
STORED: Final = 600
"""Levels of an object that kube-apiserver stored."""


def _nested(levels: int) -> Any:
    value: Any = "x"
    for level in range(levels):
        value = {"a": value} if (levels - level) % 2 else [value]
    return value


def _widget(levels: int, **metadata: Any) -> dict[str, Any]:
    """Return a widget of that many levels in all, objects and lists in turn."""
    return widget(metadata=metadata, any=_nested(levels - 2), size="s")


def _crd(levels: int, group: str = "deep.example.com") -> dict[str, Any]:
    """Return a definition of that many levels in all."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels - 8):
        schema = {"type": "array", "items": schema}
    root = {"type": "object", "properties": {"spec": schema}}
    made = crd("widgets", version("v1", storage=True, schema=root), group=group)
    assert depth(made) == levels
    return made


async def test_accepts_objects_at_the_limit(widgets: InProcess) -> None:
    """Create, read, update, patch and delete an object of exactly MAX_DEPTH levels, in JSON and YAML."""
    obj = _widget(MAX_DEPTH)
    created = await widgets.ask("POST", BASE, obj)
    read = await widgets.ask("GET", f"{BASE}/a", Accept=YAML)
    updated = await widgets.ask("PUT", f"{BASE}/a", json.dumps(yaml.safe_load(read.body)))
    patched = await widgets.ask("PATCH", f"{BASE}/a", {"spec": {"any": obj["spec"]["any"], "b": 1}}, Content_Type=MERGE)
    deleted = await widgets.ask("DELETE", f"{BASE}/a")

    assert [answer.status for answer in (created, read, updated, patched, deleted)] == [201, 200, 200, 200, 200]
    assert patched.json["spec"]["any"] == obj["spec"]["any"]


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 300, 1000, 3000, 20_000])
@pytest.mark.parametrize("content_type", ["application/json", YAML])
@pytest.mark.parametrize("method", ["POST", "PUT"])
async def test_rejects_deeper_bodies(widgets: InProcess, method: str, content_type: str, levels: int) -> None:
    """Answer 400 to an object of more levels, however many."""
    path = BASE if method == "POST" else f"{BASE}/a"
    body = b'{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"any": %b}}'
    answer = await widgets.ask(method, path, body % (b"[" * (levels - 2) + b"]" * (levels - 2)), Content_Type=content_type)

    assert _refusal(answer) == (400, "BadRequest", "the request body is nested deeper than 200 levels")


def _refusal(answer: Answer) -> tuple[int, str, str]:
    return answer.status, answer.json["reason"], answer.message


async def test_rejects_deeper_delete_options(widgets: InProcess) -> None:
    """Answer 400 to DeleteOptions of more levels and keep the object."""
    await widgets.ask("POST", BASE, _widget(3))
    answer = await widgets.ask("DELETE", f"{BASE}/a", {"unknown": _nested(MAX_DEPTH)})

    assert (answer.status, answer.json["reason"]) == (400, "BadRequest")
    assert "nested deeper than 200 levels" in answer.message
    assert (await widgets.ask("GET", f"{BASE}/a")).status == 200


@pytest.mark.parametrize("content_type", [MERGE, JSON_PATCH])
async def test_rejects_deeper_patches(widgets: InProcess, content_type: str) -> None:
    """Answer 400 to a patch of more levels."""
    await widgets.ask("POST", BASE, _widget(3))
    value = _nested(MAX_DEPTH)
    patch: Any = {"spec": {"any": value}} if content_type == MERGE else [{"op": "add", "path": "/spec/any", "value": value}]
    answer = await widgets.ask("PATCH", f"{BASE}/a", patch, Content_Type=content_type)

    assert _refusal(answer) == (400, "BadRequest", "the patch is nested deeper than 200 levels")


@pytest.mark.parametrize("copies", [1, 3, 20])
async def test_rejects_patches_that_nest_objects(widgets: InProcess, copies: int) -> None:
    """Answer 400 to a patch of few levels whose result has more than MAX_DEPTH."""
    await widgets.ask("POST", BASE, _widget(120))
    copy = {"op": "copy", "from": "/spec/any", "path": "/spec/any" + "/a/0" * 50}
    answer = await widgets.ask("PATCH", f"{BASE}/a", [copy] * copies, Content_Type=JSON_PATCH)

    assert _refusal(answer) == (400, "BadRequest", "the patched object is nested deeper than 200 levels")


async def test_accepts_definitions_at_the_limit(widgets: InProcess) -> None:
    """Serve a definition of exactly MAX_DEPTH levels, and an object that reaches the innermost schema."""
    await widgets.define(_crd(MAX_DEPTH))
    path = "/apis/deep.example.com/v1/namespaces/default/widgets"
    value: Any = "x"
    for _ in range(MAX_DEPTH - 8):
        value = [value]
    obj = widget(group="deep.example.com") | {"spec": value}
    wrong = json.dumps(obj).replace('"x"', "1")
    refused = await widgets.ask("POST", path, wrong)
    created = await widgets.ask("POST", path, obj)

    assert (created.status, refused.status) == (201, 422)
    assert created.json["spec"] == value
    assert refused.message.endswith(f'spec{"[0]" * (MAX_DEPTH - 8)} in body must be of type string: "integer"')


@pytest.mark.parametrize("content_type", ["application/json", YAML])
@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 390])
async def test_rejects_deeper_schemas(widgets: InProcess, levels: int, content_type: str) -> None:
    """Answer 422 to a definition of more levels, with the path of the schema."""
    answer = await widgets.ask("POST", CRDS, json.dumps(_crd(levels)), Content_Type=content_type)

    assert (answer.status, answer.json["reason"]) == (422, "Invalid")
    assert [(cause["field"], cause["reason"]) for cause in answer.json["details"]["causes"]] == [
        ("spec.versions[0].schema.openAPIV3Schema", "FieldValueForbidden")
    ]
    assert answer.json["details"]["name"] == "widgets.deep.example.com"


async def test_rejects_definitions_that_are_deep_elsewhere(widgets: InProcess) -> None:
    """Answer 400 to a definition whose schemas are not the reason."""
    answer = await widgets.ask("POST", CRDS, widget_crd(group="deep.example.com") | {"unknown": _nested(MAX_DEPTH)})

    assert _refusal(answer) == (400, "BadRequest", "the request body is nested deeper than 200 levels")


@pytest.fixture
async def stored(widgets: InProcess) -> InProcess:
    """Widgets, one of which kube-apiserver stored with more levels than apiext accepts."""
    data = json.dumps(_widget(STORED, namespace="default", uid="u", generation=1, finalizers=["example.com/f"])).encode()
    await widgets.backend.create("/registry/example.com/widgets/default/a", data)
    return widgets


@pytest.mark.parametrize("accept", ["application/json", YAML, "application/json;as=Table;v=v1;g=meta.k8s.io"])
async def test_reads_deeper_stored_objects(stored: InProcess, accept: str) -> None:
    """Return a deeper stored object by get and list, in every form."""
    one = await stored.ask("GET", f"{BASE}/a", Accept=accept)
    many = await stored.ask("GET", BASE, Accept=accept)

    assert (one.status, many.status) == (200, 200)
    if accept == "application/json":
        assert one.json["spec"] == many.json["items"][0]["spec"] == _widget(STORED)["spec"]


async def test_watches_deeper_stored_objects(stored: InProcess) -> None:
    """Send a deeper stored object in a watch event."""
    async with stored.session.get(stored.url(f"{BASE}?watch=1&resourceVersion=0")) as response:
        event = json.loads(await response.content.readline())

    assert event["type"] == "ADDED"
    assert event["object"]["spec"] == _widget(STORED)["spec"]


async def test_deletes_deeper_stored_objects(stored: InProcess) -> None:
    """Mark a deeper stored object that has finalizers, let a patch remove these, and remove the object."""
    marked = await stored.ask("DELETE", f"{BASE}/a")
    patched = await stored.ask("PATCH", f"{BASE}/a", {"metadata": {"finalizers": None}}, Content_Type=MERGE)

    assert (marked.status, patched.status) == (200, 200)
    assert marked.json["metadata"]["deletionTimestamp"]
    assert (await stored.ask("GET", f"{BASE}/a")).status == 404


async def test_keeps_the_depth_of_stored_objects(stored: InProcess) -> None:
    """Accept a JSON patch that leaves a deeper stored object as deep as it is, and answer 400 to one that nests it further."""
    label = [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]
    deeper = [{"op": "move", "from": "/spec/any", "path": "/spec/b"}, {"op": "add", "path": "/spec/any", "value": {}}]
    deeper.append({"op": "move", "from": "/spec/b", "path": "/spec/any/b"})
    labelled = await stored.ask("PATCH", f"{BASE}/a", label, Content_Type=JSON_PATCH)
    refused = await stored.ask("PATCH", f"{BASE}/a", deeper, Content_Type=JSON_PATCH)

    assert labelled.status == 200
    assert _refusal(refused) == (400, "BadRequest", "the patched object is nested deeper than 200 levels")


async def test_deletes_what_no_parser_reads(widgets: InProcess) -> None:
    """Report an object deeper than the JSON library reads as corrupt, and remove it when the read error is to be ignored."""
    data = json.dumps(_widget(3, namespace="default")).replace('"x"', "[" * 3000 + "]" * 3000).encode()
    await widgets.backend.create("/registry/example.com/widgets/default/a", data)
    read = await widgets.ask("GET", f"{BASE}/a")
    deleted = await widgets.ask("DELETE", f"{BASE}/a?ignoreStoreReadErrorWithClusterBreakingPotential=true")

    assert read.status == 500
    assert "corrupt object" in read.message
    assert deleted.status == 200


@pytest.mark.parametrize("keyword", ["items", "additionalProperties"])
async def test_serves_deeper_stored_definitions(keyword: str) -> None:
    """Read, serve and delete a definition that was stored with a deeper schema; OpenAPI leaves its schema out."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(MAX_DEPTH + 100):
        schema = {"type": "array" if keyword == "items" else "object", keyword: schema}
    v1 = version("v1", storage=True, schema={"type": "object", "properties": {"spec": schema}})
    stored_definition = stored_crd("widgets", versions=[v1], group="deep.example.com")
    stored_definition["metadata"]["finalizers"] = ["customresourcecleanup.apiextensions.k8s.io"]
    backend = MemoryBackend()
    key = "/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.deep.example.com"
    await backend.create(key, json_codec.dumps(stored_definition))
    async with InProcess(backend=backend) as server:
        found = server.catalog.lookup("deep.example.com", "widgets")
        assert found is not None
        read = await server.ask("GET", f"{CRDS}/widgets.deep.example.com")
        obj = {"apiVersion": "deep.example.com/v1", "kind": "Widget", "metadata": {"name": "a"}}
        created = await server.ask("POST", "/apis/deep.example.com/v1/namespaces/default/widgets", obj)
        deleted = await server.ask("DELETE", f"{CRDS}/widgets.deep.example.com")
        await until(lambda: server.catalog.lookup("deep.example.com", "widgets") is None)

    assert [answer.status for answer in (read, created, deleted)] == [200, 201, 200]
    assert read.json["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] == schema
    assert custom_resources.published_schema(found.versions[0]) is None

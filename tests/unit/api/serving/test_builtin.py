"""Endpoints of namespaces, events and definitions."""

import pytest

from apiext.base.meta import builtin_resources
from apiext.base.meta.generated.go_types import struct_of
from apiext.resources.registry.protobuf import kinds
from apiext.resources.registry.protobuf.kinds import message_of
from tests.support.builders.crds import widget
from tests.support.servers.in_process import CRDS, InProcess

NAMESPACES = "/api/v1/namespaces"
BASE = "/apis/example.com/v1/namespaces/{}/widgets"
STRATEGIC = "application/strategic-merge-patch+json"
PROTOBUF = "application/vnd.kubernetes.protobuf"


async def test_creates_system_namespaces(server: InProcess) -> None:
    """Create the system namespaces in a new store."""
    listed = (await server.ask("GET", NAMESPACES)).json

    assert [item["metadata"]["name"] for item in listed["items"]] == ["default", "kube-node-lease", "kube-public", "kube-system"]
    assert listed["kind"] == "NamespaceList"
    assert all("kind" not in item and "apiVersion" not in item for item in listed["items"])


async def test_defaults_the_kind_of_bodies(server: InProcess) -> None:
    """Accept bodies of built-in kinds without kind and apiVersion; responses have both."""
    created = await server.ask("POST", NAMESPACES, {"metadata": {"name": "n"}})

    assert (created.status, created.json["kind"], created.json["apiVersion"]) == (201, "Namespace", "v1")
    assert created.json["status"] == {"phase": "Active"}


async def test_accepts_protobuf_bodies(server: InProcess) -> None:
    """Accept namespaces and DeleteOptions in Protobuf."""
    metadata = b"\x0a\x02p1"
    raw = b"\x0a" + bytes([len(metadata)]) + metadata + b"\x12\x00\x1a\x00"
    body = b"k8s\x00\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12" + bytes([len(raw)]) + raw + b"\x1a\x00\x22\x00"
    created = await server.ask("POST", NAMESPACES, body, Content_Type=PROTOBUF, Accept=f"{PROTOBUF},application/json")
    assert (created.status, created.body[:4]) == (201, b"k8s\0")
    assert kinds.read(created.body, message_of(struct_of(builtin_resources.NAMESPACES.kind)))["metadata"]["name"] == "p1"

    options = b"\x2a\x03All"
    body = b"k8s\x00\x0a\x13\x0a\x02v1\x12\x0dDeleteOptions\x12" + bytes([len(options)]) + options
    deleted = await server.ask("DELETE", f"{NAMESPACES}/p1", body, Content_Type=PROTOBUF)
    assert deleted.status == 200
    assert (await server.ask("GET", f"{NAMESPACES}/p1")).json["status"]["phase"] == "Active"


@pytest.mark.parametrize("body", [b"{}", b"k8s\x00\xff\xff", b"k8s\x00\x0a\x7f"])
async def test_rejects_broken_protobuf(server: InProcess, body: bytes) -> None:
    """Return 400 for a body that is not valid Protobuf."""
    answer = await server.ask("POST", NAMESPACES, body, Content_Type=PROTOBUF)

    assert answer.status == 400


async def test_empties_a_terminating_namespace(widgets: InProcess) -> None:
    """Delete all objects of a terminating namespace before it is removed, and reject new ones."""
    await widgets.ask("POST", NAMESPACES, {"metadata": {"name": "n"}})
    held = widget("a") | {"metadata": {"name": "a", "finalizers": ["example.com/x"]}}
    await widgets.ask("POST", BASE.format("n"), held)
    await widgets.ask("POST", BASE.format("n"), widget("b"))
    event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "n"}}
    assert (await widgets.ask("POST", f"{NAMESPACES}/n/events", event)).status == 201
    deleted = await widgets.ask("DELETE", f"{NAMESPACES}/n")
    assert (deleted.status, deleted.json["status"]["phase"]) == (200, "Terminating")

    created = await widgets.ask("POST", BASE.format("n"), widget("c"))
    assert created.status == 403
    assert created.json["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    await widgets.ask("PATCH", BASE.format("n") + "/a", '{"metadata":{"finalizers":null}}', Content_Type="application/merge-patch+json")
    while (await widgets.ask("GET", f"{NAMESPACES}/n")).status != 404:
        pass

    assert (await widgets.ask("GET", BASE.format("n"))).json["items"] == []
    assert (await widgets.ask("GET", "/api/v1/events")).json["items"] == []
    missing = await widgets.ask("POST", BASE.format("n"), widget("d"))
    assert (missing.status, missing.message) == (404, 'namespaces "n" not found')


async def test_without_namespace_lifecycle() -> None:
    """Accept objects in missing namespaces without the plugin NamespaceLifecycle."""
    async with InProcess(lifecycle=False) as server:
        assert (
            await server.ask("POST", "/api/v1/namespaces/nope/events", {"metadata": {"name": "e"}, "involvedObject": {"namespace": "nope"}})
        ).status == 201
        assert (await server.ask("DELETE", f"{NAMESPACES}/default")).status == 200


async def test_rejects_deletion_of_the_default_namespace(server: InProcess) -> None:
    """Reject the deletion of the default namespace."""
    answer = await server.ask("DELETE", f"{NAMESPACES}/default")

    assert (answer.status, answer.message) == (403, 'namespaces "default" is forbidden: this namespace may not be deleted')


async def test_strategic_merge_patch(server: InProcess) -> None:
    """Accept strategic merge patches for built-in kinds; reject other patch types with another message than for custom resources."""
    patched = await server.ask("PATCH", f"{NAMESPACES}/default", '{"metadata":{"labels":{"a":"b"}}}', Content_Type=STRATEGIC)
    refused = await server.ask("PATCH", f"{NAMESPACES}/default", "{}", Content_Type="text/plain")

    assert patched.json["metadata"]["labels"] == {"a": "b", "kubernetes.io/metadata.name": "default"}
    assert (refused.status, refused.message) == (415, "415: Unsupported Media Type")


async def test_put_creates_events(server: InProcess) -> None:
    """Create an event by PUT, with 201."""
    event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "message": "x"}
    created = await server.ask("PUT", f"{NAMESPACES}/default/events/e", event)
    updated = await server.ask("PUT", f"{NAMESPACES}/default/events/e", event | {"message": "y"})

    assert (created.status, updated.status, updated.json["message"]) == (201, 200, "y")


@pytest.mark.parametrize(
    "method, path, code, message",
    [
        ("GET", "/api/v1/foo", 404, "the server could not find the requested resource"),
        ("GET", "/api/v2/namespaces", 404, "the server could not find the requested resource"),
        ("GET", f"{NAMESPACES}/default/foo", 404, "the server could not find the requested resource"),
        ("GET", "/apis/apiextensions.k8s.io/v1beta1/customresourcedefinitions", 404, "the server could not find the requested resource"),
        ("DELETE", NAMESPACES, 405, "the server does not allow this method on the requested resource"),
        ("POST", f"{CRDS}/x", 405, "the server does not allow this method on the requested resource"),
        ("PUT", CRDS, 405, "the server does not allow this method on the requested resource"),
        ("OPTIONS", NAMESPACES, 405, "the server does not allow this method on the requested resource"),
        ("GET", f"{NAMESPACES}/default/finalize", 405, "the server does not allow this method on the requested resource"),
        ("GET", f"{NAMESPACES}?fieldSelector=spec.x%3D1", 400, "field label not supported: spec.x"),
        ("GET", "/api/v1/events?fieldSelector=spec.x%3D1", 400, "field label not supported: spec.x"),
        (
            "GET",
            f"{CRDS}?fieldSelector=spec.x%3D1",
            400,
            '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        ("GET", f"{CRDS}/nope", 404, 'customresourcedefinitions.apiextensions.k8s.io "nope" not found'),
    ],
)
async def test_rejects_unknown_resources_and_verbs(server: InProcess, method: str, path: str, code: int, message: str) -> None:
    """Reject unknown resources and unsupported verbs."""
    answer = await server.ask(method, path, {} if method in {"PUT", "POST"} else None)

    assert (answer.status, answer.message) == (code, message)


@pytest.mark.parametrize(
    "path, body, message",
    [
        (
            NAMESPACES,
            '{"kind":"Foo"}',
            (
                'Foo in version "v1" cannot be handled as a Namespace: no kind "Foo" is registered for version "v1" '
                'in scheme "pkg/runtime/scheme.go:111"'
            ),
        ),
        (
            CRDS,
            '{"apiVersion":"foo/v1"}',
            (
                'CustomResourceDefinition in version "v1" cannot be handled as a CustomResourceDefinition: '
                'no kind "CustomResourceDefinition" is registered for version "foo/v1" in scheme "pkg/runtime/scheme.go:111"'
            ),
        ),
        (
            NAMESPACES,
            '{"metadata":{"name":"x"},"spec":1}',
            (
                'Namespace in version "v1" cannot be handled as a Namespace: json: cannot unmarshal number into Go struct field '
                "Namespace.spec of type v1.NamespaceSpec"
            ),
        ),
        (
            f"{NAMESPACES}?fieldValidation=Strict",
            '{"metadata":{"name":"x","name":"y"},"spec":{"foo":1,"foo":1},"foo":2}',
            (
                'Namespace in version "v1" cannot be handled as a Namespace: strict decoding error: duplicate field "metadata.name", '
                'duplicate field "spec.foo", unknown field "spec.foo", unknown field "foo"'
            ),
        ),
    ],
)
async def test_rejects_wrong_types(server: InProcess, path: str, body: str, message: str) -> None:
    """Reject bodies of built-in kinds with the reference's messages about Go types."""
    answer = await server.ask("POST", path, body)

    assert (answer.status, answer.message) == (400, message)

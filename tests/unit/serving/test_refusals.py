"""Errors in the form that clients accept, and refusals of built-in endpoints before anything is negotiated."""

import pytest

from tests.support.servers.in_process import CRDS, InProcess

PROTOBUF = "application/vnd.kubernetes.protobuf"
BASE = "/apis/example.com/v1/namespaces/default/widgets"


@pytest.mark.parametrize(
    "accept,media_type",
    [
        (PROTOBUF, PROTOBUF),
        (f"{PROTOBUF},application/json", PROTOBUF),
        (f"application/json,{PROTOBUF}", "application/json"),
        (f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1", "application/json"),
        ("*/*", "application/json"),
    ],
)
async def test_errors_in_protobuf(widgets: InProcess, accept: str, media_type: str) -> None:
    """An error is Protobuf for who wants that most, although no custom resource can be."""
    answer = await widgets.ask("GET", f"{BASE}/missing", Accept=accept)

    assert answer.headers["Content-Type"] == media_type
    assert answer.body.startswith(b"k8s\0" if media_type == PROTOBUF else b"{")


async def test_client_go_falls_back(widgets: InProcess) -> None:
    """A client that prefers Protobuf and takes JSON gets objects as JSON."""
    answer = await widgets.ask("GET", BASE, Accept=f"{PROTOBUF},application/json")

    assert (answer.status, answer.headers["Content-Type"], answer.json["items"]) == (200, "application/json", [])


@pytest.mark.parametrize("path,streams", [("/api/v1/namespaces", True), (f"{CRDS}/x", False), ("/api/v1/namespaces/default/status", False)])
@pytest.mark.parametrize("accept", ["text/html", "application/*", "application/cbor, text/*;q=0.1"])
async def test_builtin_endpoints_compare_texts(server: InProcess, path: str, accept: str, *, streams: bool) -> None:
    """A built-in endpoint takes no wildcard but `*/*`, and names all that it could write."""
    answer = await server.ask("GET", path, Accept=accept)

    types = f"application/json, application/yaml, {PROTOBUF}"
    more = f", application/json;stream=watch, {PROTOBUF};stream=watch" if streams else ""
    assert (answer.status, answer.json["details"]) == (406, {})
    assert answer.message == f"406: Not Acceptable\n\nAvailable representations: {types}{more}"


@pytest.mark.parametrize("accept", ["text/html, */*;q=0.1", "application/json;q=0.5", "text/html,application/yaml", ""])
async def test_builtin_endpoints_take_what_they_write(server: InProcess, accept: str) -> None:
    """A type that is written, or anything at all, is enough wherever it stands."""
    assert (await server.ask("GET", "/api/v1/namespaces", Accept=accept)).status == 200

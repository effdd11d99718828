"""Encoding of errors, and content negotiation of built-in endpoints."""

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
async def test_returns_errors_in_protobuf(widgets: InProcess, accept: str, media_type: str) -> None:
    """Return an error in Protobuf if the client prefers it, although custom resources have no Protobuf form."""
    answer = await widgets.ask("GET", f"{BASE}/missing", Accept=accept)

    assert answer.headers["Content-Type"] == media_type
    assert answer.body.startswith(b"k8s\0" if media_type == PROTOBUF else b"{")


async def test_falls_back_to_json(widgets: InProcess) -> None:
    """Return JSON to a client that prefers Protobuf and accepts JSON."""
    answer = await widgets.ask("GET", BASE, Accept=f"{PROTOBUF},application/json")

    assert (answer.status, answer.headers["Content-Type"], answer.json["items"]) == (200, "application/json", [])


@pytest.mark.parametrize("path,streams", [("/api/v1/namespaces", True), (f"{CRDS}/x", False), ("/api/v1/namespaces/default/status", False)])
@pytest.mark.parametrize("accept", ["text/html", "application/*", "application/cbor, text/*;q=0.1"])
async def test_builtin_endpoints_reject_wildcards(server: InProcess, path: str, accept: str, *, streams: bool) -> None:
    """Reject wildcards other than `*/*` at built-in endpoints, and list the supported types."""
    answer = await server.ask("GET", path, Accept=accept)

    types = f"application/json, application/yaml, {PROTOBUF}"
    more = f", application/json;stream=watch, {PROTOBUF};stream=watch" if streams else ""
    assert (answer.status, answer.json["details"]) == (406, {})
    assert answer.message == f"406: Not Acceptable\n\nAvailable representations: {types}{more}"


@pytest.mark.parametrize("accept", ["text/html, */*;q=0.1", "application/json;q=0.5", "text/html,application/yaml", ""])
async def test_builtin_endpoints_accept_any_supported_type(server: InProcess, accept: str) -> None:
    """Accept a supported type or `*/*` at any position."""
    assert (await server.ask("GET", "/api/v1/namespaces", Accept=accept)).status == 200

"""The resources of the host."""

from __future__ import annotations

from typing import Any

import pytest

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.errors import StatusError
from apiext.base.webhook.client import WebhookError
from apiext.server.host.discovery import HostDiscovery

_LISTED = {"resources": [{"name": "things", "kind": "Thing", "namespaced": True}, {"name": "things/status", "kind": "Thing"}]}


def _discovery(code: int, data: bytes) -> HostDiscovery:
    async def ask(path: str, *, method: str = "GET", body: Any = None) -> tuple[int, bytes]:
        assert (path[:1], method, body) == ("/", "GET", None)
        return code, data

    return HostDiscovery(ask)


async def test_finds_resources() -> None:
    """Find a resource by its kind and by its name, and no subresource."""
    discovery = _discovery(200, json_codec.dumps(_LISTED))

    found = await discovery.of_kind("example.com/v1", "Thing")
    assert found is not None
    assert found.path("default", "a") == "/apis/example.com/v1/namespaces/default/things/a"
    assert await discovery.named("example.com/v1", "things") == found
    assert await discovery.named("example.com/v1", "none") is None


@pytest.mark.parametrize("answer", [b"404 page not found\n", b'{"kind": "Status", "code": 404}'])
async def test_unknown_groups_have_no_resources(answer: bytes) -> None:
    """Find nothing in a group or a version that the host does not have; it says so in plain text or in a Status."""
    assert await _discovery(404, answer).named("none.example.com/v1", "things") is None


async def test_other_errors() -> None:
    """Report what is no answer of a kube-apiserver, and a host that does not answer."""
    for code, data, text in ((403, b'{"message": "no"}', "no"), (502, b"bad gateway", "invalid answer with code 502")):
        with pytest.raises(StatusError, match=text):
            await _discovery(code, data).named("example.com/v1", "things")

    async def silent(path: str, *, method: str = "GET", body: Any = None) -> tuple[int, bytes]:
        raise WebhookError(f"no answer to {method} {path} {body}")

    with pytest.raises(StatusError, match="no answer"):
        await HostDiscovery(silent).named("example.com/v1", "things")

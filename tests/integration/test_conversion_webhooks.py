"""Conversion webhooks of Services, called by a server process and for its worker processes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from hack.lib.differential.pair import Side, Step, wait_for_code
from hack.lib.servers.apiext_server import ApiextServer
from tests.support.builders.crds import crd, version
from tests.support.conversion_webhook import ConversionWebhook, Json, conversion_webhook, converting

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
V1: Final = "/apis/example.com/v1/namespaces/default/widgets"
V2: Final = "/apis/example.com/v2/namespaces/default/widgets"
HOST: Final = "webhook.default.svc"


def _moved(obj: Json, api_version: str) -> None:
    names = ("small", "large") if api_version.endswith("v2") else ("large", "small")
    obj["spec"][names[1]] = obj["spec"].pop(names[0])


@pytest.fixture
def webhook(tmp_path: Path) -> Iterator[ConversionWebhook]:
    """Run a webhook with a certificate for its Service only."""
    with conversion_webhook(tmp_path, answer=converting(_moved), hosts=[HOST]) as running:
        yield running


@pytest.fixture
def server(tmp_path: Path, webhook: ConversionWebhook) -> Iterator[Side]:
    """Run a server that reads the webhook's address from a file, with a definition of two versions."""
    addresses = tmp_path / "services"
    addresses.write_text(f"# webhooks\ndefault/webhook=127.0.0.1:{webhook.port}\n")
    definition = crd(versions=[version("v1", storage=True), version("v2")], conversion=webhook.conversion(**webhook.service(port=8443)))
    with ApiextServer(tmp_path, extra_args=[f"--service-address={addresses}"]) as running:
        side = Side(running.url, running.ssl_context())
        assert side.raw(Step("POST", CRDS, definition))[0].status == 201
        wait_for_code(side, Step("GET", V1), 200)
        yield side
        side.close()


def _widget(number: str, field: str, size: int) -> Json:
    return {"apiVersion": f"example.com/{number}", "kind": "Widget", "metadata": {"name": f"w{size}"}, "spec": {field: "x" * size}}


@pytest.mark.parametrize("size", [10, 50_000, 300_000])
def test_objects_of_all_sizes(server: Side, webhook: ConversionWebhook, size: int) -> None:
    """Convert small objects in the server, and large ones on behalf of its worker processes."""
    created = server.ask(Step("POST", V2, _widget("v2", "large", size)))
    one = f"w{size}"
    stored, shown = server.ask(Step("GET", f"{V1}/{one}")), server.ask(Step("GET", f"{V2}/{one}"))
    patched = server.ask(Step("PATCH", f"{V2}/{one}", {"metadata": {"labels": {"a": "b"}}}))
    listed = server.ask(Step("GET", V2))

    assert created.code == 201, created.body
    assert stored.body["spec"] == {"small": "x" * size}
    assert shown.body == created.body
    assert patched.body["metadata"]["labels"] == {"a": "b"}
    assert listed.body["items"] == [patched.body]
    assert {call.headers["host"] for call in webhook.calls} == {f"{HOST}:8443"}

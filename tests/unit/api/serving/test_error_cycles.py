"""Memory of requests that fail."""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from apiext.base.meta import limits
from apiext.base.webhook import hook_client
from hack.lib.servers.certificates import Authority
from tests.support.builders.crds import widget, widget_crd
from tests.support.conversion_webhook import (
    BREAK,
    HANG,
    Answer,
    ConversionWebhook,
    Reply,
    failing,
    reviewed,
)
from tests.support.event_loop import settle, until
from tests.support.garbage import collected
from tests.support.servers.in_process import CRDS, InProcess

_PATH: Final = "/apis/example.com/v1/namespaces/default/widgets"
_V2: Final = "/apis/example.com/v2/namespaces/default/widgets"
_MERGE: Final = "application/merge-patch+json"
_JSON_PATCH: Final = "application/json-patch+json"
_YAML: Final = "application/yaml"


def _refused(text: str) -> Iterator[tuple[str, str, Any, str]]:
    """Yield method, path, body and media type of requests that are refused, with a text in their bodies."""
    json = "application/json"
    for body in (
        *(f'{{"a":"{text}', f'{{"a":{text}}}', "[" * 300 + text, f'{{"a":1e999,"b":"{text}"}}', f'{{"a":"\\ud800{text}"}}'),
        *(
            widget(text.upper()),
            widget("a") | {"kind": text},
            widget("a", metadata={"name": {text: 1}}),
            widget("a", metadata={"labels": text}),
        ),
        *(widget("a"), widget("b") | {text: 1}),
    ):
        yield "POST", f"{_PATH}?fieldValidation=Strict", body, json
    for body in (f"a: [{text}", f"a: *{text}", f"!!int {text}"):
        yield "POST", _PATH, body, _YAML
    for metadata in ({"name": text}, {"resourceVersion": "1"}, {"uid": text}, {}):
        yield "PUT", f"{_PATH}/a", widget("a", metadata={"annotations": {"a": text}} | metadata), json
    for body in ({"metadata": {"labels": text}}, f'{{"a":"{text}', {"metadata": {"name": text}}):
        yield "PATCH", f"{_PATH}/a", body, _MERGE
        yield "PATCH", f"{_PATH}/none", body, _MERGE
    for operation in ({"op": "test", "path": "/a", "value": text}, {"op": "add", "path": "/metadata/labels", "value": text}):
        yield "PATCH", f"{_PATH}/a", [operation], _JSON_PATCH
    for options in ({"propagationPolicy": text}, {"preconditions": {"uid": text}}, {"gracePeriodSeconds": text}):
        yield "DELETE", f"{_PATH}/a", {"kind": "DeleteOptions", "apiVersion": "v1"} | options, json
    yield "DELETE", f"{_PATH}/a", {"kind": text, "apiVersion": "v1"}, json
    yield "POST", CRDS, {"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1", "metadata": {"name": text}}, json


@pytest.fixture
def frozen_garbage() -> Iterator[None]:
    """Keep what existed before the test out of its collections. It stays out of them: most of it lives as long as the process."""
    gc.collect()
    gc.freeze()
    gc.disable()
    yield
    gc.enable()


async def _left(server: InProcess, method: str, path: str, body: Any = None, media_type: str = "application/json") -> str:
    """Send a request that fails, and return what it leaves to the garbage collector, "" for nothing."""
    with collected(BaseException) as cyclic:
        answer = await server.ask(method, path, body, Content_Type=media_type)
        # the task of the request ends after the response
        await settle()
    request = f"{method} {path} {str(body)[:100]}"
    assert answer.status >= 400, f"{request}: {answer.status}"
    return f"{request}: {answer.message[:200]}: {cyclic}" if cyclic else ""


@pytest.mark.parametrize("size", [10, 300_000])
@pytest.mark.usefixtures("frozen_garbage")
async def test_errors_leave_no_cycles(widgets: InProcess, size: int) -> None:
    """Free the memory of a refused request at its end, on the event loop or in a worker process, without the garbage collector."""
    await widgets.ask("POST", _PATH, widget("a"))
    left = [left for request in _refused("x" * size) if (left := await _left(widgets, *request))]

    assert not left, "\n".join(left)


@pytest.fixture
async def versioned(server: InProcess, webhook: ConversionWebhook) -> InProcess:
    """Serve widgets in v1, which is stored, and v2, which a webhook converts."""
    await server.define(widget_crd(served=("v1", "v2"), conversion=webhook.conversion()))
    return server


async def _left_by_conversions(server: InProcess, size: int) -> list[str]:
    """Send requests that need conversion, about two objects of a size, and return what they leave to the garbage collector."""
    spec = {"any": {"text": "x" * size}}
    for name in ("a", "b"):
        await server.ask("POST", _PATH, widget(name, spec=spec))
    body = widget("a", version="v2", spec=spec)
    requests: list[tuple[Any, ...]] = [
        ("GET", _V2),
        ("GET", f"{_V2}/a"),
        ("POST", _V2, body),
        ("PUT", f"{_V2}/a", body),
        ("PATCH", f"{_V2}/a", {"spec": {}}, _MERGE),
    ]
    return [left for request in requests if (left := await _left(server, *request))]


_WRONG: Final[dict[str, Answer]] = {
    "500": lambda _call: Reply(b"no" * 10_000, 500, {"Content-Type": "text/plain"}),
    "redirects": lambda call: Reply(code=307, headers={"Location": call.path}),
    "empty": lambda _call: Reply(),
    "syntax": lambda _call: Reply(b'{"a":[' + b"1," * 10_000),
    "no review": lambda _call: {"kind": "Status", "apiVersion": "v1"},
    "other kind": lambda call: {**reviewed(call, call.objects), "kind": "Pod"},
    "too large": lambda _call: Reply(b"x" * (limits.MAX_HOOK_RESPONSE_BYTES + 1)),
    "no objects": lambda call: reviewed(call, []),
    "other uid": lambda call: reviewed(call, call.objects, uid="x"),
    "failure": failing("x" * 10_000),
    "other version": lambda call: reviewed(call, call.objects),
    "large, other version": lambda call: reviewed(call, [obj | {"spec": {"any": "x" * 300_000}} for obj in call.objects]),
    "unexpected end": lambda _call: Reply(b"x", headers={"Content-Length": "10", "Connection": "close"}),
    "no answer": lambda _call: BREAK,
}
"""Answers with which no conversion succeeds. Those after which the webhook is not called for a while come last."""


@pytest.mark.parametrize("size", [10, 300_000])
@pytest.mark.usefixtures("frozen_garbage")
async def test_wrong_answers_of_webhooks_leave_no_cycles(versioned: InProcess, webhook: ConversionWebhook, size: int) -> None:
    """Free the memory of a request whose conversion fails, with what the webhook got and answered."""
    left = {}
    for name, webhook.answer in _WRONG.items():
        left[name] = await _left_by_conversions(versioned, size)

    assert not any(left.values()), left


@pytest.mark.parametrize("size", [10, 300_000])
@pytest.mark.usefixtures("frozen_garbage")
async def test_refused_connections_leave_no_cycles(versioned: InProcess, webhook: ConversionWebhook, tmp_path: Path, size: int) -> None:
    """Free the memory of a request that cannot reach the webhook, or that does not trust its certificate."""
    webhook.use_certificate(Authority(tmp_path / "other"))
    left = await _left_by_conversions(versioned, size)
    webhook.close()
    left += await _left_by_conversions(versioned, size)

    assert not left, "\n".join(left)


@pytest.mark.parametrize("size", [10, 300_000])
@pytest.mark.usefixtures("frozen_garbage")
async def test_slow_webhooks_leave_no_cycles(
    versioned: InProcess, webhook: ConversionWebhook, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Free the memory of a request whose conversion takes too long."""
    monkeypatch.setattr(hook_client, "TIMEOUT", 0.2)
    webhook.answer = lambda _call: HANG
    left = await _left_by_conversions(versioned, size)
    webhook.release()
    await until(lambda: not webhook.connections)
    await settle()

    assert not left, "\n".join(left)

"""Large objects that a webhook converts: worker processes convert them, with the results of the event loop."""

import asyncio
import json
import re
import threading
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from apiext.base.meta import limits
from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.conversion import review
from apiext.resources.conversion.metrics import ConversionStats
from tests.support.builders.crds import versions_like, widget, widget_crd
from tests.support.conversion_webhook import Answer as WebhookAnswer
from tests.support.conversion_webhook import Call, ConversionWebhook, Json, Reply, converting, failing, reviewed
from tests.support.event_loop import until
from tests.support.servers.in_process import Answer, InProcess

V1 = "/apis/example.com/v1/namespaces/default/widgets"
V2 = "/apis/example.com/v2/namespaces/default/widgets"
DENSE: Object = {"a": [{}] * (limits.MAX_INLINE_RENDERING_BYTES // 3)}
"""More bytes than the event loop renders, and most values for these bytes."""
MERGE = {"Content_Type": "application/merge-patch+json"}


def _noted(obj: Object, version: str) -> None:
    obj.setdefault("spec", {})["seen"] = version


def _inflated(obj: Object, version: str) -> None:
    obj["spec"] = DENSE if version.endswith("v2") else {}


@pytest.fixture
def watch_cache() -> bool:
    """Tell whether the server has a watch cache."""
    return True


@pytest.fixture
async def widgets(webhook: ConversionWebhook, watch_cache: bool) -> AsyncIterator[InProcess]:  # noqa: FBT001 -- a fixture
    """Serve widgets of any form in v1, which is stored, and v2; the webhook notes the desired version in each object."""
    webhook.answer = converting(_noted)
    async with InProcess(watch_cache=watch_cache) as server:
        crd = widget_crd(conversion=webhook.conversion())
        first = crd["spec"]["versions"][0]
        first["schema"]["openAPIV3Schema"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        crd["spec"]["versions"] = versions_like("v1", "v2")(first)
        await server.define(crd)
        yield server


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the sizes of the answers of webhooks that this process has decoded."""
    decode, sizes = review.decode, []

    async def counting(version: str, data: bytes) -> Object:
        found = await decode(version, data)
        sizes.append(len(data))
        return found

    monkeypatch.setattr(review, "decode", counting)
    return sizes


def _body(name: str, version: str, spec: Any) -> Object:
    return {**widget(name, version=version), "spec": spec}


def _counts(stats: ConversionStats) -> tuple[Counter[Any], Counter[Any]]:
    calls = Counter({labels: sum(found.buckets) for labels, found in stats.calls.items()})
    return calls, Counter({labels: sum(found.buckets) for labels, found in stats.conversions.items()})


async def _write(server: InProcess, name: str, spec: Any) -> list[Answer]:
    one = f"{V2}/{name}"
    return [
        await server.ask("POST", V2, _body(name, "v2", spec)),
        await server.ask("PATCH", one, {"metadata": {"labels": {"a": "b"}}}, **MERGE),
        await server.ask("PUT", one, _body(name, "v2", spec)),
        await server.ask("PATCH", one, {"spec": {"b": 1}}, Content_Type="application/apply-patch+yaml"),
        await server.ask("DELETE", one),
    ]


async def test_workers_convert_large_writes(widgets: InProcess, webhook: ConversionWebhook, decoded: list[int]) -> None:
    """Decode no answer for a large write in the server; count its calls as those of a small one."""
    small = await _write(widgets, "a", {"a": []})
    counts = _counts(widgets.converters.stats)
    assert decoded
    decoded.clear()
    large = await _write(widgets, "a", DENSE)

    assert not decoded
    assert [answer.status for answer in large] == [answer.status for answer in small]
    assert large[0].json["spec"] == DENSE | {"seen": "example.com/v2"}
    after = _counts(widgets.converters.stats)
    assert sum(after[0].values()) == sum(after[1].values()) == len(webhook.calls)
    assert set(after[1]) == set(counts[1])


@pytest.mark.parametrize(
    "answer",
    [
        failing("no"),
        lambda call: reviewed(call, []),
        lambda call: reviewed(call, call.objects),
        lambda call: reviewed(call, call.objects, uid="x"),
        lambda _call: Reply(b"oops", 500, {"Content-Type": "text/plain"}),
        lambda _call: Reply(b""),
        lambda _call: Reply(b"{"),
    ],
)
async def test_large_writes_fail_as_small_ones(widgets: InProcess, webhook: ConversionWebhook, answer: WebhookAnswer) -> None:
    """Answer with the same error, and count the same failure, whichever process converts."""
    found = []
    webhook.answer = answer
    specs: list[Object] = [{"a": []}, DENSE]
    for spec in specs:
        widgets.converters.stats.calls.clear()
        refused = await widgets.ask("POST", V2, _body("a", "v2", spec))
        found.append((refused.status, refused.message.partition("expected response.uid")[0], _counts(widgets.converters.stats)[0]))

    assert found[0] == found[1]
    assert found[0][0] == 500


async def test_a_write_whose_conversion_is_large_starts_again_in_a_worker(
    widgets: InProcess, webhook: ConversionWebhook, decoded: list[int]
) -> None:
    """Execute a small write in a worker when the webhook answers with a large object."""
    assert (await widgets.ask("POST", V1, _body("a", "v1", {}))).status == 201
    webhook.answer = converting(_inflated)
    patched = await widgets.ask("PATCH", f"{V2}/a", {"metadata": {"labels": {"a": "b"}}}, **MERGE)

    assert patched.status == 200
    assert patched.json["spec"] == DENSE
    assert widgets.workers.supply.template
    assert max(decoded, default=0) <= limits.MAX_INLINE_RENDERING_BYTES


async def test_workers_convert_what_is_read(widgets: InProcess, webhook: ConversionWebhook, decoded: list[int]) -> None:
    """Convert a large object once for a get, a list and a watch, together with the small objects of the list, outside the server."""
    for name, spec in (("a", {}), ("b", DENSE), ("c", {})):
        assert (await widgets.ask("POST", V1, _body(name, "v1", spec))).status == 201
    assert not webhook.calls
    listed = (await widgets.ask("GET", V2)).json
    shown = (await widgets.ask("GET", f"{V2}/b")).json
    watched = await widgets.ask("GET", f"{V2}?watch=1&timeoutSeconds=1")

    assert not decoded
    assert [call.names for call in webhook.calls] == [["a", "b", "c"]]
    assert shown["spec"] == DENSE | {"seen": "example.com/v2"}
    assert shown["metadata"]["resourceVersion"] == (await widgets.ask("GET", f"{V1}/b")).json["metadata"]["resourceVersion"]
    assert listed["items"][1] == shown
    assert shown in [json.loads(line)["object"] for line in watched.body.splitlines()]
    assert _counts(widgets.converters.stats) == ({("success", ""): 1}, {("widgets.example.com", "v1", "v2", "true"): 1})


async def test_workers_convert_the_events_of_watches(widgets: InProcess, decoded: list[int]) -> None:
    """Convert the large object of an event, and of its deletion, outside the server."""
    async with widgets.session.get(widgets.url(f"{V2}?watch=1&timeoutSeconds=30")) as stream:
        assert (await widgets.ask("POST", V1, _body("a", "v1", DENSE))).status == 201
        added = json.loads((await stream.content.readuntil(b"}\n")).decode())
        assert (await widgets.ask("DELETE", f"{V1}/a")).status == 200
        deleted = json.loads((await stream.content.readuntil(b"}\n")).decode())

    assert (added["type"], deleted["type"]) == ("ADDED", "DELETED")
    assert added["object"]["spec"] == deleted["object"]["spec"] == DENSE | {"seen": "example.com/v2"}
    assert not decoded


@pytest.mark.parametrize("answer", [failing("no"), lambda call: reviewed(call, []), lambda _call: Reply(b"{")])
async def test_large_reads_fail_as_small_ones(widgets: InProcess, webhook: ConversionWebhook, answer: WebhookAnswer) -> None:
    """Answer with the same error, and count the same failure, whichever process converts."""
    found = []
    specs: list[Object] = [{"a": []}, DENSE]
    webhook.answer = answer
    for name, spec in zip("ab", specs, strict=True):
        await widgets.ask("POST", V1, _body(name, "v1", spec))
        widgets.converters.stats.calls.clear()
        refused = await widgets.ask("GET", f"{V2}/{name}")
        found.append((refused.status, re.sub(r"default/\w|revision=\d+", "", refused.message), _counts(widgets.converters.stats)[0]))

    assert found[0] == found[1]
    assert found[0][0] == 500


async def test_a_read_whose_conversion_is_large_starts_again_in_a_worker(
    widgets: InProcess, webhook: ConversionWebhook, decoded: list[int]
) -> None:
    """Render a small stored object in a worker when the webhook answers with a large one."""
    assert (await widgets.ask("POST", V1, _body("a", "v1", {}))).status == 201
    webhook.answer = converting(_inflated)
    shown = await widgets.ask("GET", f"{V2}/a")

    assert len(webhook.calls) == 1
    assert _counts(widgets.converters.stats)[0] == {("success", ""): 1}
    assert shown.json["spec"] == DENSE
    assert not decoded
    patched = await widgets.ask("PATCH", f"{V2}/a", {"metadata": {"labels": {"a": "b"}}}, **MERGE)
    assert patched.json["spec"] == DENSE
    assert not decoded


async def test_a_slow_webhook_holds_no_process(widgets: InProcess, webhook: ConversionWebhook, decoded: list[int]) -> None:
    """End the job of a read while the webhook works, and start it again with its only answer."""
    gate = threading.Event()

    def slow(call: Call) -> Reply | Json:
        gate.wait(30)
        return converting(_noted)(call)

    assert (await widgets.ask("POST", V1, _body("a", "v1", DENSE))).status == 201
    webhook.answer = slow
    reading = asyncio.create_task(widgets.ask("GET", f"{V2}/a"))
    await until(lambda: webhook.calls and not widgets.workers.running)
    gate.set()

    assert (await reading).json["spec"] == DENSE | {"seen": "example.com/v2"}
    assert len(webhook.calls) == 1
    (calls,) = widgets.converters.stats.calls.values()
    assert sum(calls.buckets) == 1
    assert calls.seconds >= limits.MAX_BLOCKED_RENDERING_SECONDS
    assert not decoded


@pytest.mark.parametrize("watch_cache", [True, False])
async def test_workers_convert_what_is_deleted(widgets: InProcess, webhook: ConversionWebhook, decoded: list[int]) -> None:
    """Convert the large objects of a collection outside the server when they are deleted, and one that is readable after all."""
    for name in "ab":
        assert (await widgets.ask("POST", V1, _body(name, "v1", DENSE))).status == 201
    unsafe = await widgets.ask("DELETE", f"{V2}/a", {"ignoreStoreReadErrorWithClusterBreakingPotential": True})
    assert webhook.calls
    deleted = await widgets.ask("DELETE", V2)

    assert not decoded
    assert unsafe.status == 409
    assert [item["spec"] for item in deleted.json["items"]] == [DENSE | {"seen": "example.com/v2"}] * 2
    assert not (await widgets.ask("GET", V1)).json["items"]


async def test_workers_decode_what_may_be_unreadable(widgets: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for unreadable objects among large ones outside the server."""
    assert (await widgets.ask("POST", V1, _body("a", "v1", DENSE))).status == 201
    monkeypatch.setattr("apiext.resources.registry.customresources.codec.CustomResourceCodec.decode", None)
    found = await widgets.ask("GET", "/stored/unreadable/widgets.example.com")

    assert found.json["items"] == []


async def test_workers_decode_what_replaces_an_object(widgets: InProcess, decoded: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Check and convert the large bytes of a repair outside the server."""
    assert (await widgets.ask("POST", V1, _body("a", "v1", {}))).status == 201
    path = "/stored/objects/widgets.example.com/default/a"
    data = json.dumps(_body("a", "v2", DENSE) | {"metadata": {"name": "a", "namespace": "default"}}).encode()
    monkeypatch.setattr("apiext.resources.registry.customresources.codec.CustomResourceCodec.decode", None)
    revision = (await widgets.ask("GET", path)).json["resourceVersion"]
    refused = await widgets.ask("PUT", f"{path}?resourceVersion={revision}&encode=true", data[:-1])
    replaced = await widgets.ask("PUT", f"{path}?resourceVersion={revision}&encode=true", data)

    assert refused.status == 400
    assert "cannot be read" in refused.message
    assert replaced.status == 200
    assert (await widgets.ask("GET", f"{V1}/a")).json["spec"] == DENSE | {"seen": "example.com/v1"}
    assert not decoded

"""Conversion by a webhook, through the API."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from apiext.base.meta import limits
from apiext.base.meta.encoding.json_codec import Object
from tests.support.builders.crds import widget, widget_crd
from tests.support.conversion_webhook import BREAK, Call, ConversionWebhook, Json, Reply, converting, failing, reviewed
from tests.support.servers.in_process import InProcess

V1 = "/apis/example.com/v1/namespaces/default/widgets"
INVALID = "returned invalid object at index 0: invalid"
OOPS = 'failed: an error on the server ("oops") has prevented the request from succeeding'
V2 = "/apis/example.com/v2/namespaces/default/widgets"


def _change(obj: Object, version: str) -> None:
    spec = obj.setdefault("spec", {})
    spec["any"] = {"seen": version}


@pytest.fixture
async def widgets(webhook: ConversionWebhook) -> AsyncIterator[InProcess]:
    """Serve widgets in v1, which is stored, and v2; the webhook notes the desired version in each object."""
    webhook.answer = converting(_change)
    async with InProcess() as server:
        await server.define(widget_crd(served=("v1", "v2"), conversion=webhook.conversion()))
        yield server


async def test_converts_between_versions(widgets: InProcess, webhook: ConversionWebhook) -> None:
    """Store an object of v2 in v1; read it in v1 without, and in v2 with one call for all readers."""
    created = await widgets.ask("POST", V2, widget("a", version="v2"))
    webhook.calls.clear()
    stored = await widgets.ask("GET", f"{V1}/a")
    answers = [await widgets.ask("GET", f"{V2}/a") for _ in range(3)]

    assert created.status == 201, created.body
    assert stored.json["spec"]["any"] == {"seen": "example.com/v1"}
    assert {answer.json["spec"]["any"]["seen"] for answer in answers} == {"example.com/v2"}
    assert len(webhook.calls) <= 1


async def test_converts_lists_in_one_call(widgets: InProcess, webhook: ConversionWebhook) -> None:
    """Send the objects of a list in one v1 review, without resourceVersion."""
    for name in ("a", "b", "c"):
        assert (await widgets.ask("POST", V1, widget(name))).status == 201
    listed = await widgets.ask("GET", V2)

    assert [item["spec"]["any"]["seen"] for item in listed.json["items"]] == ["example.com/v2"] * 3
    (call,) = webhook.calls
    assert call.names == ["a", "b", "c"]
    assert call.path == "/convert?timeout=30s"
    assert call.review["apiVersion"] == "apiextensions.k8s.io/v1"
    assert call.review["request"]["desiredAPIVersion"] == "example.com/v2"
    assert all("resourceVersion" not in obj["metadata"] for obj in call.objects)


async def test_only_labels_and_annotations_change(widgets: InProcess, webhook: ConversionWebhook) -> None:
    """Restore all metadata but labels and annotations."""

    def change(obj: Object, _version: str) -> None:
        obj["metadata"] |= {"labels": {"l": "1"}, "annotations": {"a": "1"}, "finalizers": ["example.com/x"], "generation": 7}

    await widgets.ask("POST", V1, widget("a", metadata={"labels": {"gone": "1"}}))
    webhook.answer = converting(change)
    shown = (await widgets.ask("GET", f"{V2}/a")).json["metadata"]

    assert (shown["labels"], shown["annotations"], shown["generation"]) == ({"l": "1"}, {"a": "1"}, 1)
    assert "finalizers" not in shown
    assert shown["resourceVersion"] == (await widgets.ask("GET", f"{V1}/a")).json["metadata"]["resourceVersion"]


async def test_names_the_objects_that_a_webhook_refuses(widgets: InProcess, webhook: ConversionWebhook) -> None:
    """Find the refused object of a list with further calls, and report only this one."""

    def answer(call: Call) -> Reply | Json:
        return failing("no b")(call) if "b" in call.names else converting()(call)

    for name in ("a", "b", "c"):
        await widgets.ask("POST", V1, widget(name))
    webhook.answer = answer
    refused = await widgets.ask("GET", V2)

    assert refused.status == 500
    assert "conversion webhook for example.com/v1, Kind=Widget failed: no b" in refused.message
    assert refused.message.count("no b") == 1
    assert (await widgets.ask("GET", f"{V2}/a")).status == 200


@pytest.mark.parametrize(
    "answer, message",
    [
        (lambda call: reviewed(call, []), "returned 0 objects, expected 1"),
        (lambda call: reviewed(call, call.objects, uid="x"), 'failed: expected response.uid="*", got "x"'),
        (failing(), "failed: response.result.status was 'Failure', not 'Success'"),
        (lambda _call: {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"}, "failed: no response provided"),
        (
            lambda call: reviewed(call, call.objects),
            f"{INVALID} groupVersion (expected example.com/v2, received example.com/v1)",
        ),
        (lambda _call: BREAK, 'failed: Post "*": EOF'),
        (
            lambda _call: Reply(b"oops", 500, {"Content-Type": "text/plain"}),
            OOPS,
        ),
    ],
)
async def test_errors(widgets: InProcess, webhook: ConversionWebhook, answer: Any, message: str) -> None:
    """Report the reference's errors."""
    await widgets.ask("POST", V1, widget("a"))
    webhook.answer = answer
    text = (await widgets.ask("GET", f"{V2}/a")).message
    for begin, end in (('response.uid="', '"'), ('Post "', '"')):
        if begin in text:
            head, _, tail = text.partition(begin)
            text = f"{head}{begin}*{end}{tail.partition(end)[2]}"

    assert text.endswith(f"conversion webhook for example.com/v1, Kind=Widget {message}")


async def test_long_reasons_are_cut(widgets: InProcess, webhook: ConversionWebhook) -> None:
    """Report each object of a list with the beginning of what the webhook says."""
    for name in ("a", "b"):
        await widgets.ask("POST", V1, widget(name))
    webhook.answer = failing("x" * 100_000)
    listed = await widgets.ask("GET", V2)

    assert listed.status == 500
    assert "xxx" in listed.json["message"]
    assert len(listed.body) < 20_000


async def test_large_answers_are_divided(widgets: InProcess, webhook: ConversionWebhook) -> None:
    """Ask for fewer objects at a time where the answer for all is too large."""

    def grow(obj: Object, _version: str) -> None:
        obj["spec"] = {"any": {"long": "x" * (limits.MAX_HOOK_RESPONSE_BYTES // 3)}}

    for name in ("a", "b", "c", "d"):
        await widgets.ask("POST", V1, widget(name))
    webhook.answer = converting(grow)
    webhook.calls.clear()
    listed = await widgets.ask("GET", V2)

    assert [len(item["spec"]["any"]["long"]) for item in listed.json["items"]] == [limits.MAX_HOOK_RESPONSE_BYTES // 3] * 4
    assert [len(call.names) for call in webhook.calls] == [4, 2, 2]


async def test_large_answers_with_syntax_errors(widgets: InProcess, webhook: ConversionWebhook) -> None:
    """Do not look for the place of an error in a long answer."""
    await widgets.ask("POST", V1, widget("a"))
    webhook.answer = lambda _call: Reply(b'{"a":[' + b"1," * limits.MAX_HOOK_STATUS_BYTES)
    read = await widgets.ask("GET", f"{V2}/a")

    assert read.status == 500
    assert read.json["message"].endswith("json parse error: invalid JSON")

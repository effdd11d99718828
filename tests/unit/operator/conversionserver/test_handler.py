"""The handler of reviews."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from apiext.operator.conversionserver import handler as module
from apiext.operator.conversionserver.conversions import MadeConverter
from apiext.operator.conversionserver.handler import ReviewHandler
from apiext.resources.conversion.metrics import ConversionStats
from tests.support.servers.handler_server import Client, client_of
from tests.unit.operator.conversionserver.parts import GROUP, Followed, Json, Renaming, conversion, crd, encoded, review, widget

BROKEN = f"gadgets.{GROUP}"


def _compile(crd: Json, _conversion: Json, **_: bool) -> MadeConverter:
    if crd["metadata"]["name"] == BROKEN:
        return MadeConverter(Renaming(), "spec.hub: the CRD has no version v9", converts=False)
    return MadeConverter(Renaming(), "a problem that only the check finds")


@pytest.fixture
def stats() -> ConversionStats:
    """Provide the counts."""
    return ConversionStats()


@pytest.fixture
async def client(stats: ConversionStats) -> AsyncIterator[Client]:
    """Provide a client of a handler with the rules of two CRDs, of which one's cannot be used."""
    followed = Followed(_compile)
    await followed.put(crd(), conversion(), crd(name=BROKEN), conversion(name=BROKEN))
    async with client_of(ReviewHandler(followed.conversions, stats)) as opened:
        yield opened


async def _ask(client: Client, document: Any) -> Json:
    answer = await client.post("/convert", data=encoded(document), headers={"Content-Type": "application/json; charset=utf-8"})
    assert answer.status == 200
    response: Json = json.loads(await answer.read())["response"]
    assert response["uid"] == "the-uid"
    return response


async def test_converts_objects_of_several_versions(client: Client, stats: ConversionStats) -> None:
    """Convert each object in its place, and leave those of the wanted version."""
    response = await _ask(client, review([widget("a"), widget("b", "v2"), widget("c", "v3")]))

    assert response["result"]["status"] == "Success"
    assert response["convertedObjects"] == [
        {**widget("a", "v2"), "was": f"{GROUP}/v1"},
        widget("b", "v2"),
        {**widget("c", "v2"), "was": f"{GROUP}/v3"},
    ]
    assert {labels: histogram.count for labels, histogram in stats.conversions.items()} == {
        (f"widgets.{GROUP}", source, "v2", "true"): 1 for source in ("v1", "v2", "v3")
    }


async def test_converts_heavy_objects(client: Client) -> None:
    """Convert what takes too long for the event loop beside it, in its place."""
    response = await _ask(client, review([widget("a"), widget("b", spec="heavy"), widget("c")]))

    assert [found["metadata"]["name"] for found in response["convertedObjects"]] == ["a", "b", "c"]
    assert {found["apiVersion"] for found in response["convertedObjects"]} == {f"{GROUP}/v2"}


async def test_converts_nothing(client: Client) -> None:
    """Answer a review without objects."""
    assert (await _ask(client, review([])))["convertedObjects"] == []


FAILURES = {
    "stuck": (widget("bad", spec="stuck"), "Widget default/bad of example.com/v1 cannot be converted to example.com/v2: the spec is stuck"),
    "unknown": ({**widget(), "kind": "Thing"}, "Thing default/w: no Conversion object describes the versions of Thing.example.com"),
    "invalid rules": (
        {**widget(), "kind": "Gadget"},
        f"Gadget default/w: the rules of Conversion {BROKEN} cannot be used: spec.hub: the CRD has no version v9",
    ),
    "no object": (7, "an object: it is not an object"),
}


@pytest.mark.parametrize("bad, message", FAILURES.values(), ids=FAILURES)
async def test_one_bad_object_fails_all(client: Client, bad: Any, message: str) -> None:
    """Convert all objects or none, and say which one fails and why."""
    response = await _ask(client, review([widget("good"), bad]))

    assert response["convertedObjects"] == []
    assert (response["result"]["status"], response["result"]["message"]) == ("Failure", message)


async def test_counts_failures(client: Client, stats: ConversionStats) -> None:
    """Count a refused review as failed."""
    await _ask(client, review([widget("bad", spec="stuck")]))

    assert list(stats.conversions) == [(f"widgets.{GROUP}", "v1", "v2", "false")]


async def test_refuses_other_requests(client: Client) -> None:
    """Answer what is no review in JSON with an HTTP error."""
    body = encoded(review([widget()]))

    assert (await client.get("/convert")).status == 405
    assert (await client.post("/convert", data=body, headers={"Content-Type": "application/yaml"})).status == 415
    assert (await client.post("/convert", data=b"{}", headers={"Content-Type": "application/json"})).status == 400


async def test_limits_bodies(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse a body that is too large, or does not arrive, or has no room beside others."""
    headers = {"Content-Type": "application/json"}
    monkeypatch.setattr(module, "MAX_BYTES", 100)
    assert (await client.post("/convert", data=encoded(review([widget()])), headers=headers)).status == 413

    monkeypatch.setattr(module, "MAX_BYTES_AT_ONCE", 50)
    refused = await client.post("/convert", data=encoded(review([widget()])), headers=headers)
    assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
    # what was refused takes no room
    assert (await client.post("/convert", data=b"{}", headers=headers)).status == 400


async def test_does_not_wait_for_a_body_for_ever(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer 408 to a client that stops sending."""
    monkeypatch.setattr(module, "BODY_SECONDS", 0.01)

    answered = asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"{"
        await answered.wait()

    answer = await client.post("/convert", data=slow(), headers={"Content-Type": "application/json"})
    answered.set()

    assert answer.status == 408

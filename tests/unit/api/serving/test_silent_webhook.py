"""A conversion webhook that stops answering, and answers again."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from apiext.base.meta import limits
from apiext.resources.conversion.circuits import ConversionCircuits
from apiext.resources.definitions.conditions import CONVERSION_WEBHOOK_AVAILABLE
from apiext.server.routes.conversion_metrics import ConversionMetrics
from tests.support.builders.crds import widget, widget_crd
from tests.support.conversion_webhook import BREAK, HANG, ConversionWebhook, converting
from tests.support.event_loop import until
from tests.support.servers.in_process import Answer, InProcess

V1 = "/apis/example.com/v1/namespaces/default/widgets"
V2 = V1.replace("/v1/", "/v2/")
OTHERS = "/apis/example.com/v1/namespaces/default/others"
NAME = "widgets.example.com"


class Served:
    """A server of widgets in two versions, the second of which needs the webhook."""

    def __init__(self, server: InProcess, webhook: ConversionWebhook, clock: list[float]) -> None:
        self.server = server
        self.webhook = webhook
        self.clock = clock
        """The time by which the circuit is probed."""

    async def get(self, path: str) -> Answer:
        """Send a GET."""
        return await self.server.ask("GET", path)

    async def write(self, name: str, path: str = V1, **metadata: Any) -> Answer:
        """Create an object."""
        kind = "Other" if path == OTHERS else "Widget"
        return await self.server.ask("POST", path, {**widget(name, version=path.split("/")[3], metadata=metadata), "kind": kind})

    async def fail(self) -> None:
        """Let the webhook stop answering, and read until the circuit is open."""
        self.webhook.answer = lambda _: BREAK
        for _ in range(3):
            assert (await self.write("x", V2)).status == 500
        circuit = self.server.converters.circuits.of(NAME)
        assert circuit is not None
        assert circuit.error is not None

    def condition(self) -> str:
        """Return the status of the condition about the webhook, empty if there is none."""
        definition = self.server.catalog.get(NAME)
        condition = definition.condition(CONVERSION_WEBHOOK_AVAILABLE) if definition is not None else None
        return condition["status"] if condition is not None else ""

    def metric(self) -> float:
        """Return the metric about the webhook."""
        families = {family.name: family for family in ConversionMetrics(self.server.converters).collect()}
        (sample,) = families["apiext_conversion_webhook_circuit_open"].samples
        assert sample.labels == {"crd_name": NAME}
        return sample.value


@pytest.fixture
async def served(webhook: ConversionWebhook) -> AsyncIterator[Served]:
    """Yield a server with two widgets, of which one was read in v2."""
    clock = [100.0]
    async with InProcess(circuits=ConversionCircuits(clock=lambda: clock[0])) as server:
        await server.define(widget_crd(served=("v1", "v2"), conversion=webhook.conversion()))
        await server.define(widget_crd("others", "Other"))
        found = Served(server, webhook, clock)
        for name in ("a", "b"):
            assert (await found.write(name)).status == 201
        assert (await found.get(f"{V2}/a")).status == 200
        yield found


async def test_shows_what_was_converted(served: Served) -> None:
    """Serve an object whose revision was converted, with a warning; fail where one was not."""
    await served.fail()
    calls = len(served.webhook.calls)
    shown = await served.get(f"{V2}/a")
    missing = await served.get(f"{V2}/b")
    listed = await served.get(V2)

    assert shown.status == 200
    assert shown.json["apiVersion"] == "example.com/v2"
    assert len(shown.warnings) == 1
    assert "the conversion webhook of widgets.example.com does not answer" in shown.warnings[0]
    assert missing.status == listed.status == 500
    assert "conversion webhook for example.com/v1, Kind=Widget failed: Post " in missing.message
    assert len(served.webhook.calls) == calls
    unconverted = await served.get(V1)
    assert unconverted.status == 200
    assert not unconverted.warnings


async def test_never_shows_an_older_conversion(served: Served) -> None:
    """Fail a read of an object that has changed since it was converted."""
    await served.fail()
    patched = await served.server.ask("PATCH", f"{V1}/a", '{"spec":{"size":"l"}}', Content_Type="application/merge-patch+json")
    read = await served.get(f"{V2}/a")

    assert patched.status == 200
    assert read.status == 500
    refused = await served.server.ask("PATCH", f"{V2}/a", '{"spec":{"size":"s"}}', Content_Type="application/merge-patch+json")
    assert refused.status == 500
    assert (await served.get(f"{V1}/a")).json["spec"]["size"] == "l"


async def test_lists_what_was_converted_and_ends_watches(served: Served) -> None:
    """Serve a list whose objects were all converted; end a watch at a change that was not."""
    listed = await served.get(V2)
    await served.fail()
    again = await served.get(V2)
    assert again.json["items"] == listed.json["items"]
    assert len(again.warnings) == 1
    revision = listed.json["metadata"]["resourceVersion"]
    async with served.server.session.get(served.server.url(f"{V2}?watch=1&resourceVersion={revision}&timeoutSeconds=30")) as stream:
        await served.write("c")
        assert b'"type":"ERROR"' in await asyncio.wait_for(stream.content.readline(), 30)


async def test_reports_and_recovers(served: Served) -> None:
    """Report a silent webhook by a condition and a metric, leave other definitions alone, and recover by a probe of a reader."""
    assert served.metric() == 0
    await served.fail()
    assert served.metric() == 1
    await until(lambda: served.condition() == "False")
    assert (await served.write("a", OTHERS)).status == 201
    other = await served.get(OTHERS)
    assert other.status == 200
    assert not other.warnings

    served.webhook.answer = converting()
    served.clock[0] += 1.0
    assert (await served.get(f"{V2}/a")).status == 200
    await until(lambda: served.condition() == "True")
    assert served.metric() == 0
    assert [item["metadata"]["name"] for item in (await served.get(V2)).json["items"]] == ["a", "b"]
    assert not (await served.get(V2)).warnings


async def test_a_hanging_webhook_delays_only_its_own_readers(served: Served) -> None:
    """Serve what was converted, and other versions and definitions, while the webhook does not answer."""
    served.webhook.answer = lambda _: HANG
    waiting = [asyncio.create_task(served.get(f"{V2}/b")) for _ in range(20)]
    waiting += [asyncio.create_task(served.write(f"n{number}", V2)) for number in range(20)]
    await until(lambda: len(served.webhook.calls) > 10)

    assert (await served.get(f"{V2}/a")).status == 200
    assert (await served.get(V1)).status == 200
    assert (await served.write("a", OTHERS)).status == 201
    served.webhook.answer = converting()
    served.webhook.release()
    answers = await asyncio.gather(*waiting)
    assert {answer.status for answer in answers} <= {200, 201, 500}


async def test_large_writes_that_wait_leave_the_worker_processes_to_others(served: Served) -> None:
    """Execute a large write of another definition while large writes wait for the webhook; these end when it answers."""
    large = {"annotations": {"text": "x" * limits.MAX_INLINE_BYTES}}
    served.webhook.answer = lambda _: HANG
    waiting = [asyncio.create_task(served.write(f"n{number}", V2, **large)) for number in range(3)]
    await until(lambda: bool(served.webhook.calls[1:]))

    assert (await served.write("a", OTHERS, **large)).status == 201
    assert not any(write.done() for write in waiting)
    served.webhook.answer = converting()
    served.webhook.release()
    assert {answer.status for answer in await asyncio.gather(*waiting)} <= {201, 500}
    served.clock[0] += 1.0
    created = await served.write("z", V2, **large)
    assert created.status == 201
    assert created.json["apiVersion"] == "example.com/v2"
    assert (await served.get(f"{V1}/z")).json["apiVersion"] == "example.com/v1"

"""Writes of instances that a change of the storage version overtakes; test_mirror_phases.py has those that a phase refuses."""

import asyncio
import threading
from typing import Final

import pytest

from apiext.base.meta.host_annotations import HOST_UID, PHASE, SERVING
from tests.support.builders.crds import versions_like, widget, widget_crd
from tests.support.conversion_webhook import Call, ConversionWebhook, Reply, converting
from tests.support.event_loop import until
from tests.support.servers.in_process import CRDS, InProcess
from tests.support.servers.lagging_server import lagging_server

BASE: Final = "/apis/example.com/v1/namespaces/default/widgets"
DEFINITION: Final = f"{CRDS}/widgets.example.com"
MERGE: Final = {"Content_Type": "application/merge-patch+json"}


async def store_in_v2(server: InProcess) -> None:
    """Make v2 the storage version."""
    only = (await server.ask("GET", DEFINITION)).json["spec"]["versions"]
    assert (await server.ask("PATCH", DEFINITION, {"spec": {"versions": versions_like("v2", "v1")(only[0])}}, **MERGE)).status == 200


@pytest.mark.parametrize("annotations", [{}, {HOST_UID: "u", PHASE: SERVING}], ids=["plain", "mirror"])
async def test_stale_server_does_not_store_an_old_version(widgets: InProcess, annotations: dict[str, str]) -> None:
    """Return 429 for a write of a server that does not know of the new storage version yet; it stores the new one afterwards."""
    assert (await widgets.ask("PATCH", DEFINITION, {"metadata": {"annotations": annotations}}, **MERGE)).status == 200
    assert (await widgets.ask("POST", BASE, widget("a"))).status == 201
    async with lagging_server(widgets, BASE) as lagging:
        await store_in_v2(widgets)
        refused = await lagging.ask("POST", BASE, widget("b"))

        assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
        assert refused.message == "the storage version of widgets.example.com has just changed to v2: retry the write"
        assert (await lagging.ask("POST", BASE, widget("b"))).status == 201
        assert (await lagging.ask("DELETE", f"{BASE}/a")).status == 200
    pair, _ = await widgets.backend.get("/registry/example.com/widgets/default/b")
    assert pair is not None
    assert b'"apiVersion":"example.com/v2"' in pair.value


async def test_overtaken_writes_share_a_read(widgets: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the definition once for all writes that one change overtakes."""
    async with lagging_server(widgets, BASE) as lagging:
        reads = []
        read = lagging.informer.refresh

        async def counted(name: str) -> None:
            reads.append(name)
            await read(name)

        monkeypatch.setattr(lagging.informer, "refresh", counted)
        assert (await widgets.ask("PATCH", DEFINITION, {"metadata": {"labels": {"a": "b"}}}, **MERGE)).status == 200
        answers = await asyncio.gather(*(lagging.ask("POST", BASE, widget(f"w-{number}")) for number in range(50)))

    assert {answer.status for answer in answers} == {201}
    assert reads == ["widgets.example.com"]


async def test_write_that_waits_for_a_webhook(server: InProcess, webhook: ConversionWebhook) -> None:
    """Return 429 for a write that was converted to the former storage version while the definition changed."""
    go_on = threading.Event()

    def answer(call: Call) -> Reply | dict[str, object]:
        go_on.wait(60)
        return converting()(call)

    webhook.answer = answer
    await server.define(widget_crd(served=("v1", "v2"), conversion=webhook.conversion()))
    writing = asyncio.create_task(server.ask("POST", BASE.replace("/v1/", "/v2/"), widget(version="v2")))
    await until(lambda: bool(webhook.calls))
    await store_in_v2(server)
    go_on.set()
    refused = await writing

    assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
    assert (await server.backend.get("/registry/example.com/widgets/default/a"))[0] is None


async def test_large_definitions_beside_an_earlier_release(server: InProcess) -> None:
    """Compare a large definition itself while a server of an earlier release runs: its deletions leave companions as they are."""
    crd = widget_crd()
    crd["metadata"]["annotations"] = {"large": "x" * (20 << 10)}
    await server.define(crd)
    definition = server.catalog.get("widgets.example.com")
    assert definition is not None
    guard, seen = server.cache.guards.for_clients(definition), []
    for has_former in (False, True, False):
        server.cache.guards.has_former = lambda has_former=has_former: has_former  # type: ignore[misc]
        seen.append(guard.decide(None))

    assert [one and one.is_large for one in seen] == [True, False, False]
    assert len({one and (one.key, one.expected) for one in seen}) == 1

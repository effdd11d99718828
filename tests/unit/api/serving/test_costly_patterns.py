"""Regular expressions that cost much: their definitions and objects are written in worker processes, which the deadline kills."""

import asyncio
from typing import Any

import pytest

from apiext.api.openapi.custom_resources import published_schema
from tests.support.builders.crds import crd, version
from tests.support.servers.in_process import CRDS, InProcess

BASE = "/apis/example.com/v1/namespaces/default/widgets"
CRD = f"{CRDS}/widgets.example.com"
MERGE = {"Content_Type": "application/merge-patch+json"}


def definition(*patterns: str) -> dict[str, Any]:
    """Return a definition of widgets that have a text for each pattern."""
    texts = {f"s{number}": {"type": "string", "pattern": pattern} for number, pattern in enumerate(patterns)}
    return crd("widgets", version("v1", storage=True, schema={"type": "object", "properties": texts}))


def widget(**members: str) -> dict[str, Any]:
    """Return a widget."""
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, **members}


async def test_common_patterns_stay_on_the_event_loop(server: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write definitions and objects with common patterns without a worker."""
    monkeypatch.setattr("apiext.base.scheduling.inline_work.MAX_INLINE_SECONDS", 60)
    await server.define(definition("^[a-z]{1,63}$"))

    assert (await server.ask("POST", BASE, widget(s0="abc"))).status == 201
    assert not server.workers.supply.template


async def test_costly_patterns_are_compiled_in_workers(server: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create, change, publish and use a definition with a costly pattern without compiling it in the server."""
    compiled: list[str] = []
    monkeypatch.setattr("apiext.schema.pattern.Pattern", compiled.append)
    await server.define(definition("^" + "a{1000}" * 4 + "$"))
    assert (await server.ask("PATCH", CRD, {"spec": {"names": {"shortNames": ["w"]}}}, **MERGE)).status == 200
    assert (await server.ask("POST", CRDS, definition("(a{1000}{2})" * 300))).status == 422
    found = server.catalog.get("widgets.example.com")
    assert found is not None
    assert published_schema(found.versions[0]) is not None

    refused = await server.ask("POST", BASE, widget(s0="b"))
    created = await server.ask("POST", BASE, widget(s0="a" * 4000))
    patched = await server.ask("PATCH", f"{BASE}/a", {"metadata": {"labels": {"a": "b"}}}, **MERGE)

    assert (refused.status, created.status, patched.status) == (422, 201, 200)
    assert compiled == []
    assert server.workers.supply.template


async def test_many_small_patterns_move_to_a_worker(server: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write in a worker when all patterns together take too long."""
    monkeypatch.setattr("apiext.base.scheduling.inline_work.MAX_INLINE_SECONDS", 0)
    await server.define(definition("a", "b"))

    assert server.workers.supply.template


async def test_a_hostile_match_ends_at_the_deadline(server: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer other requests while a text is matched for seconds, and 504 at the deadline, when the worker is killed."""
    await server.define(definition("a{1000}" * 120))
    monkeypatch.setattr(server.workers, "job_seconds", 0.5)
    monkeypatch.setattr(server.workers, "grace", 0.0)

    write = asyncio.create_task(server.ask("POST", BASE, widget(s0="a" * 30_000)))
    meanwhile = []
    while not write.done():
        meanwhile.append((await server.ask("GET", BASE)).status)

    assert (await write).status == 504
    assert set(meanwhile) == {200}
    assert server.workers.killed == 1

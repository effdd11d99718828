"""Definitions whose schemas are so large that the event loop must not walk through them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from apiext.api.serving.info import ServingInfo
from apiext.base.meta.limits import MAX_INLINE_RENDERING_BYTES
from apiext.resources.definitions.definition import Definition
from tests.support.builders.crds import widget_crd
from tests.support.servers.in_process import CRDS, InProcess

CRD = f"{CRDS}/widgets.example.com"
MERGE = "application/merge-patch+json"


@pytest.fixture
async def server() -> AsyncIterator[InProcess]:
    """Yield a server without definitions."""
    async with InProcess() as running:
        yield running


def definition(size: int) -> dict[str, Any]:
    """Return a definition with an enum of a number of bytes."""
    crd = widget_crd()
    for version in crd["spec"]["versions"]:
        schema = version["schema"]["openAPIV3Schema"]
        schema["properties"]["choice"] = {"type": "string", "enum": [f"v{number:05}" for number in range(size // 9)]}
    return crd


def _served(server: InProcess) -> Definition:
    found = server.catalog.get("widgets.example.com")
    assert found is not None
    return found


async def _life(server: InProcess, size: int) -> list[Any]:
    """Return the states of a definition after its creation and its deletion, without its schemas and what differs in any case."""
    await server.define(definition(size))
    states = [(await server.ask("GET", CRD)).json]
    await server.ask("PATCH", CRD, {"metadata": {"finalizers": ["example.com/held"]}}, Content_Type=MERGE)
    assert (await server.ask("DELETE", CRD)).status == 200
    finalized = (await server.ask("GET", CRD)).json
    while "InstanceDeletionCompleted" not in str(finalized["status"]):
        finalized = (await server.ask("GET", CRD)).json
    await server.ask("PATCH", CRD, {"metadata": {"finalizers": None}}, Content_Type=MERGE)
    return [_timeless(state) for state in (*states, finalized)]


_TIMES = {
    "creationTimestamp",
    "deletionTimestamp",
    "time",
    "lastTransitionTime",
    "f:lastTransitionTime",
    "uid",
    "resourceVersion",
    "schema",
}


def _timeless(value: Any) -> Any:
    """Return a value without times, and with lists in an order that does not depend on them."""
    if isinstance(value, dict):
        return {key: _timeless(member) for key, member in value.items() if key not in _TIMES}
    return sorted(map(_timeless, value), key=str) if isinstance(value, list) else value


async def test_controllers_write_them_as_small_ones(server: InProcess) -> None:
    """Establish and finalize a large definition as a small one: the same conditions, and the same managers of fields."""
    small = await _life(server, 100)
    large = await _life(server, 2 * MAX_INLINE_RENDERING_BYTES)

    assert large == small


@pytest.mark.parametrize("size", [100, 2 * MAX_INLINE_RENDERING_BYTES])
async def test_serving_depends_on_the_specification(server: InProcess, size: int) -> None:
    """Serve a definition as before when its metadata or conditions change, and anew when its schema does."""
    await server.define(definition(size))
    before = ServingInfo(_served(server))

    await server.ask("PATCH", CRD, {"metadata": {"annotations": {"spec": "{", "status": ',"status":{'}}}, Content_Type=MERGE)
    relabelled = _served(server)
    crd = (await server.ask("GET", CRD)).json
    for version in crd["spec"]["versions"]:
        version["schema"]["openAPIV3Schema"]["properties"]["choice"]["enum"].append("more")
    await server.ask("PUT", CRD, crd)

    assert relabelled is not before.definition
    assert before.fits(relabelled)
    assert not before.fits(_served(server))

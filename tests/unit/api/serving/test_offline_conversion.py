"""Custom resources that are rewritten without their server, by rules that are not among the objects of the store."""

import json

from apiext.resources.conversion.known import Origin
from apiext.resources.definitions.stored_conversions import HOST_CONVERSIONS, RULES_IN_USE
from apiext.resources.stored_objects.interface import RescueError
from apiext.resources.stored_objects.offline import OfflineObjects
from apiext.storage.replicas.host_records import HostRecords
from tests.support.builders.converted_widgets import NAME, conversion, new_widget, old_widget, widgets_crd
from tests.support.servers.in_process import InProcess

V2 = "/apis/example.com/v2/namespaces/default/widgets"


async def _rewritten(server: InProcess, size: int) -> str:
    """Replace a stored widget by one of the old version without the server. Return the refusal, "" without any."""
    objects = OfflineObjects(server.stores)
    definitions = {one.name: one for one in await objects.definitions()}
    pair = await objects.get(definitions[NAME], "default/a")
    assert pair is not None
    body = json.dumps(old_widget(size=size) | {"metadata": {"name": "a", "namespace": "default"}}).encode()
    try:
        await objects.replace(definitions[NAME], "default/a", body, revision=pair.revision, encode=True)
    except RescueError as error:
        return str(error)
    return ""


async def test_a_store_whose_rules_are_elsewhere() -> None:
    """Rewrite no object without the rules that a server has from a file; use those that it has from its host."""
    async with InProcess() as server:
        server.converters.known.put(Origin.FILE, conversion())
        await server.define(widgets_crd())
        assert (await server.ask("POST", V2, new_widget(capacity=1))).status == 201
        records = HostRecords(server.backend, server.stores.prefix)
        await records.put(RULES_IN_USE, {NAME: "digest"})
        refused, kept = await _rewritten(server, 2), (await server.ask("GET", f"{V2}/a")).json["spec"]
        await records.put(HOST_CONVERSIONS, {"items": [conversion()]})
        problem, rewritten = await _rewritten(server, 2), (await server.ask("GET", f"{V2}/a")).json["spec"]

    assert "only a running server has the conversion rules of widgets.example.com" in refused
    assert kept == {"capacity": 1}
    assert (problem, rewritten) == ("", {"capacity": 2})

"""What is left of a version after its definition has changed."""

import gc
import weakref

from apiext.storage.interface import Codec
from tests.support.builders.crds import widget, widget_crd
from tests.support.event_loop import until
from tests.support.servers.in_process import CRDS, InProcess

WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
CRD = f"{CRDS}/widgets.example.com"


async def test_replaced_versions_leave_no_cycle(server: InProcess) -> None:
    """Free the codec of a former state of a definition, and so its renderings, without the garbage collector."""
    await server.define(widget_crd())
    await server.ask("POST", WIDGETS, widget())
    definition = server.catalog.get("widgets.example.com")
    assert definition is not None
    codecs: weakref.WeakSet[Codec] = weakref.WeakSet(served.codec for served in server.cache.info(definition).versions.values())
    assert codecs
    del definition
    gc.collect()
    gc.disable()
    try:
        crd = (await server.ask("GET", CRD)).json
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["more"] = {"type": "string"}
        assert (await server.ask("PUT", CRD, crd)).status == 200
        assert (await server.ask("GET", WIDGETS)).status == 200
        await until(lambda: not codecs)
    finally:
        gc.enable()

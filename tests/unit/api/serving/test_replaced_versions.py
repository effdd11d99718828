"""What is left of a version after its definition has changed."""

import gc
import weakref
from typing import Any

from apiext.storage.interface import Codec
from tests.support.builders.crds import widget, widget_crd
from tests.support.event_loop import settle, until
from tests.support.garbage import collected
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


_RULED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "size": {"type": "string", "maxLength": 5, "default": "m"},
        "count": {"type": "integer", "minimum": 0, "multipleOf": 2},
        "parts": {
            "type": "array",
            "maxItems": 5,
            "items": {"type": "object", "additionalProperties": {"type": "string", "anyOf": [{"maxLength": 3}, {"pattern": "^a"}]}},
        },
    },
    "x-kubernetes-validations": [{"rule": "self.size != 'no' && self.parts.all(part, size(part) < 9)"}],
}


async def _use(server: InProcess, name: str) -> None:
    """Validate, merge, apply and list objects, and refuse some."""
    valid: dict[str, Any] = {"count": 2, "parts": [{"a": "b"}]}
    merge, apply = "application/merge-patch+json", "application/apply-patch+yaml"
    for body in (widget(name, **valid), widget("no", size="no", parts=[]), widget("no", count=1, parts=[{"b": "long"}])):
        answer = await server.ask("POST", WIDGETS, body)
        assert answer.status == (201 if body["metadata"]["name"] == name else 422), answer.message
    assert (await server.ask("PATCH", f"{WIDGETS}/{name}", {"spec": {"count": 4}}, Content_Type=merge)).status == 200
    path = f"{WIDGETS}/{name}?fieldManager=test&force=true"
    assert (await server.ask("PATCH", path, widget(name, **valid), Content_Type=apply)).status == 200
    for accept in ("application/json", "application/json;as=Table;v=v1;g=meta.k8s.io"):
        assert (await server.ask("GET", WIDGETS, Accept=accept)).status == 200


async def test_changed_definitions_leave_no_cycles(server: InProcess) -> None:
    """Free the schemas, checks and rules of a former state of a definition without the garbage collector."""
    crd = widget_crd(served=("v1", "v2"))
    for version in crd["spec"]["versions"]:
        version["schema"]["openAPIV3Schema"]["properties"]["spec"] = _RULED
    await server.define(crd)
    await _use(server, "a")
    await settle()

    with collected(object) as cyclic:
        changed = (await server.ask("GET", CRD)).json
        for version in changed["spec"]["versions"]:
            version["storage"] = not version["storage"]
        assert (await server.ask("PUT", CRD, changed)).status == 200
        await _use(server, "b")
        await settle()

    assert not cyclic

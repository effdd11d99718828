"""Requests and watches while definitions are created, updated and deleted."""

import asyncio
import copy
from collections.abc import AsyncIterator

from apiext.api.serving.definition_instances import DefinitionInstances
from apiext.base.meta.encoding import json_codec
from tests.support.builders.crds import widget, widget_crd
from tests.support.event_loop import until
from tests.support.servers.in_process import CRDS, InProcess

BASE = "/apis/example.com/v1/namespaces/default/widgets"
ONE = f"{CRDS}/widgets.example.com"
WIDGET = widget()


async def test_update_applies_to_the_next_request(widgets: InProcess) -> None:
    """Apply a new default to the next read, also of objects stored before."""
    await widgets.ask("POST", BASE, WIDGET)
    crd = (await widgets.ask("GET", ONE)).json
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["color"] = {
        "type": "string",
        "default": "red",
    }
    assert (await widgets.ask("PUT", ONE, crd)).status == 200

    assert (await widgets.ask("GET", f"{BASE}/a")).json["spec"] == {"size": "m", "color": "red"}


async def test_watches_end_when_the_specification_changes(widgets: InProcess) -> None:
    """End watches when the specification changes, but not when only labels of the definition change."""
    async with widgets.session.get(widgets.url(f"{BASE}?watch=1&timeoutSeconds=30")) as stream:
        await widgets.ask("PATCH", ONE, '{"metadata":{"labels":{"a":"b"}}}', Content_Type="application/merge-patch+json")
        await widgets.ask("POST", BASE, WIDGET)
        line = await stream.content.readline()
        assert json_codec.loads(line)["type"] == "ADDED"
        patch = '[{"op":"add","path":"/spec/names/shortNames","value":["wd"]}]'
        await widgets.ask("PATCH", ONE, patch, Content_Type="application/json-patch+json")

        assert await asyncio.wait_for(stream.content.read(), 30) == b""


async def test_serves_declared_versions(server: InProcess) -> None:
    """Return 404 for a version that is not served; warn about a deprecated one with its own or the default text."""
    crd = widget_crd()
    first = crd["spec"]["versions"][0]
    old = {**copy.deepcopy(first), "storage": False, "deprecated": True}
    crd["spec"]["versions"] = [
        first,
        {**old, "name": "v1beta1"},
        {**old, "name": "v1alpha1", "deprecationWarning": "do not"},
        {**old, "name": "v0", "served": False},
    ]
    await server.define(crd)
    await server.ask("POST", BASE, WIDGET)

    beta = await server.ask("GET", BASE.replace("/v1/", "/v1beta1/"))
    alpha = await server.ask("GET", BASE.replace("/v1/", "/v1alpha1/") + "/a")
    assert beta.warnings == ['299 - "example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget"']
    assert beta.json["items"][0]["apiVersion"] == "example.com/v1beta1"
    assert (alpha.warnings, alpha.json["apiVersion"]) == (['299 - "do not"'], "example.com/v1alpha1")
    assert (await server.ask("GET", BASE.replace("/v1/", "/v0/"))).status == 404


async def test_terminating_definition(widgets: InProcess) -> None:
    """Delete instances first; serve remaining ones, reject creates, and keep watches open until the end."""
    held = {**WIDGET, "metadata": {"name": "a", "finalizers": ["example.com/x"]}}
    await widgets.ask("POST", BASE, held)
    await widgets.ask("POST", BASE, {**WIDGET, "metadata": {"name": "b"}})
    deleted = await widgets.ask("DELETE", ONE)
    assert "deletionTimestamp" in deleted.json["metadata"]

    created = await widgets.ask("POST", BASE, {**WIDGET, "metadata": {"name": "c"}})
    assert (created.status, created.message) == (
        403,
        'widgets.example.com "c" is forbidden: create not allowed while custom resource definition is terminating',
    )
    async with widgets.session.get(widgets.url(f"{BASE}?watch=1&timeoutSeconds=30")) as stream:
        released = await widgets.ask("PATCH", f"{BASE}/a", '{"metadata":{"finalizers":null}}', Content_Type="application/merge-patch+json")
        assert released.status == 200
        await asyncio.wait_for(stream.content.read(), 30)

    await until(lambda: widgets.catalog.get("widgets.example.com") is None)
    assert (await widgets.ask("GET", BASE)).status == 404
    await widgets.define(widget_crd())
    assert (await widgets.ask("GET", BASE)).json["items"] == []


async def test_cluster_scope(server: InProcess) -> None:
    """Serve a cluster-scoped resource without namespaces in paths, metadata and field labels."""
    await server.define(widget_crd("gadgets", "Gadget", scope="Cluster"))
    gadget = {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "a", "namespace": "x"}}
    created = await server.ask("POST", "/apis/example.com/v1/gadgets", gadget)

    assert created.status == 201
    assert "namespace" not in created.json["metadata"]
    assert (await server.ask("GET", "/apis/example.com/v1/namespaces/default/gadgets/a")).status == 404
    answer = await server.ask("GET", "/apis/example.com/v1/gadgets?fieldSelector=metadata.namespace%3Dx")
    assert answer.message == "field label not supported: metadata.namespace"


async def test_rejects_a_create_that_ends_after_the_definition(widgets: InProcess) -> None:
    """Reject a create whose body arrives after its definition is deleted, and store nothing."""
    begun, going_on = asyncio.Event(), asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        text = json_codec.dumps(WIDGET)
        yield text[:10]
        begun.set()
        await going_on.wait()
        yield text[10:]

    headers = {"Content-Type": "application/json"}
    posting = asyncio.create_task(widgets.session.post(widgets.url(BASE), data=body(), headers=headers))
    await begun.wait()
    await widgets.ask("GET", BASE)
    await widgets.ask("DELETE", ONE)
    await until(lambda: widgets.catalog.get("widgets.example.com") is None)
    going_on.set()

    async with await posting as answer:
        assert answer.status == 403
    await widgets.define(widget_crd())
    assert (await widgets.ask("GET", BASE)).json["items"] == []


async def test_deletion_uses_the_current_definition(widgets: InProcess) -> None:
    """Serve the current state of a terminating definition: its finalizer does not restore an older one."""
    await widgets.ask("POST", BASE, {**WIDGET, "metadata": {"name": "a", "finalizers": ["example.com/x"]}})
    former = widgets.catalog.get("widgets.example.com")
    assert former is not None
    await widgets.ask("DELETE", ONE)
    patch = '[{"op":"add","path":"/spec/names/shortNames","value":["wd"]}]'
    await widgets.ask("PATCH", ONE, patch, Content_Type="application/json-patch+json")
    async with widgets.session.get(widgets.url(f"{BASE}?watch=1&timeoutSeconds=30")) as stream:
        first = await stream.content.readline()
        instances = DefinitionInstances(widgets.cache)
        await instances.delete(former, "default")
        assert await instances.namespaces(former) == ["default"]
        await widgets.ask("PATCH", f"{BASE}/a", '{"metadata":{"labels":{"a":"b"}}}', Content_Type="application/merge-patch+json")
        lines = [first, await stream.content.readline()]
    assert [json_codec.loads(line)["type"] for line in lines] == ["ADDED", "MODIFIED"]

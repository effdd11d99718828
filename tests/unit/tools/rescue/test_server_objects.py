"""The rescue on a running server, with a conversion webhook."""

import json
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest

from apiext.base.webhook.client import WebhookClient
from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
from apiext.resources.definitions.definition import Definition
from apiext.resources.stored_objects.interface import RescueError
from apiext.tools.rescue import rescue
from apiext.tools.rescue.server_objects import ServerObjects
from tests.support.builders.crds import crd, version
from tests.support.conversion_webhook import ConversionWebhook, converting, failing
from tests.support.servers.in_process import InProcess

PREFIX: Final = "/registry/example.com/widgets/default/"


def _schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


OLD: Final = version("v1beta1", schema=_schema(cores={"type": "integer"}))
NEW: Final = version("v1", storage=True, schema=_schema(cpu={"type": "object", "properties": {"cores": {"type": "integer"}}}))


def _convert(obj: dict[str, Any], api_version: str) -> None:
    """Move the number of cores."""
    if api_version == "example.com/v1" and "cores" in obj["spec"]:
        obj["spec"] = {"cpu": {"cores": obj["spec"].pop("cores")}}


def _bytes(name: str, label: str, **spec: Any) -> bytes:
    metadata = {"name": name, "namespace": "default", "uid": f"u-{name}"}
    return json.dumps({"apiVersion": f"example.com/{label}", "kind": "Widget", "metadata": metadata, "spec": spec}).encode()


@pytest.fixture
async def server(webhook: ConversionWebhook) -> AsyncIterator[InProcess]:
    """Yield a server with stored objects: one labelled with a version that it does not have the fields of, and an unreadable one."""
    webhook.answer = converting(_convert)
    async with InProcess() as running:
        await running.define(crd("widgets", OLD, NEW, conversion=webhook.conversion()))
        for name, data in {
            "good": _bytes("good", "v1", cpu={"cores": 1}),
            "lost": b"\xff\x00",
            "older": _bytes("older", "v1beta1", cores=2),
            "shaped": _bytes("shaped", "v1", cores=4),
        }.items():
            await running.backend.create(PREFIX + name, data)
        yield running


@pytest.fixture
async def objects(server: InProcess) -> AsyncIterator[ServerObjects]:
    """Yield the access to the server."""
    found = ServerObjects(WebhookClient(Endpoint(url=server.url(""), context=None), backoff=()))
    yield found
    await found.close()


async def _definition(objects: ServerObjects) -> Definition:
    (definition,) = await objects.definitions()
    return definition


async def _keys(objects: ServerObjects) -> list[str]:
    definition = await _definition(objects)
    return [case.object.key async for case in rescue.unreadable(objects, definition)]


async def test_repairs_what_a_change_of_the_strategy_left(objects: ServerObjects, server: InProcess) -> None:
    """Find the bytes that have the fields of an older version than their label, and let the webhook convert them."""
    definition = await _definition(objects)
    (case,) = [case async for case in rescue.mislabelled(objects, definition)]
    assert (case.object.key, case.object.problem) == ("default/shaped", "has the fields of v1beta1 (v1: 1 unknown)")

    new = rescue.relabelled(case, encode=True)
    await objects.replace(definition, case.object.key, new.data, revision=case.object.revision, encode=True)
    pair, _ = await server.backend.get(f"{PREFIX}shaped")

    assert new.dropped == []
    assert pair is not None
    assert json.loads(pair.value) == json.loads(_bytes("shaped", "v1", cpu={"cores": 4})) | {"metadata": json.loads(pair.value)["metadata"]}
    assert [case async for case in rescue.mislabelled(objects, definition)] == []


async def test_a_webhook_that_does_not_answer_strands_nothing(objects: ServerObjects, webhook: ConversionWebhook) -> None:
    """Find what cannot be decoded, whether the webhook answers or not; what waits for the webhook is not unreadable."""
    assert await _keys(objects) == ["default/lost"]
    webhook.close()

    assert await _keys(objects) == ["default/lost"]
    definition = await _definition(objects)
    lost = await rescue.inspect(objects, definition, "default/lost")
    with pytest.raises(RescueError, match="conversion webhook"):
        await objects.replace(definition, "default/lost", _bytes("lost", "v1beta1"), revision=lost.object.revision, encode=True)
    await objects.replace(definition, "default/lost", _bytes("lost", "v1beta1"), revision=lost.object.revision, encode=False)
    assert await _keys(objects) == []


async def test_deletes(objects: ServerObjects, server: InProcess) -> None:
    """Delete what cannot be read; refuse what can, and what is gone."""
    definition = await _definition(objects)
    case = await rescue.inspect(objects, definition, "default/lost")
    await objects.delete(definition, "default/lost", revision=case.object.revision)

    assert await _keys(objects) == []
    with pytest.raises(RescueError, match="not found"):
        await objects.delete(definition, "default/lost", revision=case.object.revision)
    good = await rescue.inspect(objects, definition, "default/good")
    with pytest.raises(RescueError, match="the object can be read"):
        await objects.delete(definition, "default/good", revision=good.object.revision)
    assert (await server.backend.get(f"{PREFIX}good"))[0] is not None


async def test_refused_conversions_do_not_make_objects_unreadable(objects: ServerObjects, webhook: ConversionWebhook) -> None:
    """Keep what the webhook refuses to convert out of the rescue: it must not be deleted for that."""
    webhook.answer = failing("no")
    definition = await _definition(objects)
    older = await rescue.inspect(objects, definition, "default/older")

    assert older.object.problem == ""
    with pytest.raises(RescueError, match="the object can be read"):
        await objects.delete(definition, "default/older", revision=older.object.revision)


async def test_finds_what_the_webhook_refuses(objects: ServerObjects, webhook: ConversionWebhook) -> None:
    """List the objects that the webhook refuses, with its reason, apart from those that cannot be read; none if it converts all."""
    definition = await _definition(objects)
    assert [case async for case in rescue.unconvertible(objects, definition)] == []
    webhook.answer = failing("too old")
    cases = [case async for case in rescue.unconvertible(objects, definition)]

    assert [case.object.key for case in cases] == ["default/older"]
    assert "too old" in cases[0].object.problem
    assert cases[0].best is not None
    assert cases[0].best.version == "v1beta1"

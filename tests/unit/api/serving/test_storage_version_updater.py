"""Reports of the versions that servers store."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from apiext.api.serving.storage_version_updater import StorageVersionUpdater
from apiext.base.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, STORAGE_VERSIONS
from apiext.storage.replicas.identity_lease import IdentityLease
from tests.support.builders.crds import crd, version
from tests.support.servers.in_process import CRDS, InProcess

BASE = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions"
ONE = f"{CRDS}/widgets.example.com"
NAME = "example.com.widgets"


async def _start(server: InProcess, name: str, stack: AsyncExitStack) -> StorageVersionUpdater:
    builtins = (NAMESPACES, CUSTOM_RESOURCE_DEFINITIONS, STORAGE_VERSIONS)
    lease = IdentityLease(server.backend, "/registry", name)
    updater = StorageVersionUpdater(server.storage_versions, builtins, server.catalog, server.cache, lease)
    await updater.start()
    stack.push_async_callback(updater.close)
    return updater


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    """Yield a stack that ends the updaters of a test."""
    async with AsyncExitStack() as opened:
        yield opened


async def _status(server: InProcess, name: str) -> Any:
    answer = await server.ask("GET", f"{BASE}/{name}")
    return answer.json["status"] if answer.status == 200 else None


async def _until_common(server: InProcess, name: str, common: str | None) -> Any:
    """Return the status of a StorageVersion once it has a common version."""
    while True:
        status = await _status(server, name)
        if status and status.get("commonEncodingVersion") == common:
            return status


def _condition(status: Any) -> tuple[str, str, str, str]:
    (condition,) = status["conditions"]
    return condition["type"], condition["status"], condition["reason"], condition["message"]


SET = ("AllEncodingVersionsEqual", "True", "CommonEncodingVersionSet", "Common encoding version set")
UNSET = ("AllEncodingVersionsEqual", "False", "CommonEncodingVersionUnset", "Common encoding version unset")


async def test_reports_builtin_resources(server: InProcess, stack: AsyncExitStack) -> None:
    """Report built-in resources as the reference does."""
    updater = await _start(server, "apiserver-a", stack)
    await updater._queue.join()

    definitions = await _status(server, "apiextensions.k8s.io.customresourcedefinitions")
    assert definitions["storageVersions"] == [
        {
            "apiServerID": "apiserver-a",
            "encodingVersion": "apiextensions.k8s.io/v1beta1",
            "decodableVersions": ["apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"],
            "servedVersions": ["apiextensions.k8s.io/v1"],
        }
    ]
    assert (definitions["commonEncodingVersion"], _condition(definitions)) == ("apiextensions.k8s.io/v1beta1", SET)
    assert (await _status(server, "core.namespaces"))["commonEncodingVersion"] == "v1"
    assert "managedFields" not in (await server.ask("GET", f"{BASE}/core.namespaces")).json["metadata"]


async def test_reports_custom_resources(server: InProcess, stack: AsyncExitStack) -> None:
    """Follow the versions of a definition, and delete the report with it."""
    await _start(server, "apiserver-a", stack)
    await server.define(crd("widgets", version("v1", storage=True), version("v2"), version("v0", served=False)))
    status = await _until_common(server, NAME, "example.com/v1")
    assert status["storageVersions"] == [
        {
            "apiServerID": "apiserver-a",
            "encodingVersion": "example.com/v1",
            "decodableVersions": ["example.com/v1", "example.com/v2", "example.com/v0"],
            "servedVersions": ["example.com/v1", "example.com/v2"],
        }
    ]
    flip = [{"op": "replace", "path": f"/spec/versions/{index}/storage", "value": bool(index)} for index in (0, 1)]
    await server.ask("PATCH", ONE, flip, Content_Type="application/json-patch+json")
    await _until_common(server, NAME, "example.com/v2")

    await server.ask("DELETE", ONE)
    while await _status(server, NAME) is not None:
        pass


async def test_servers_agree(server: InProcess, stack: AsyncExitStack) -> None:
    """Have no common version while servers store different ones; remove the entries of servers without a Lease."""
    updater = await _start(server, "apiserver-a", stack)
    await server.define(crd())
    await _until_common(server, NAME, "example.com/v1")
    async with AsyncExitStack() as short:
        second = await _start(server, "apiserver-b", short)
        await second._queue.join()
        status = await _status(server, NAME)
        assert [one["apiServerID"] for one in status["storageVersions"]] == ["apiserver-a", "apiserver-b"]
        await second._put(NAME, {"encodingVersion": "example.com/v0", "decodableVersions": ["example.com/v0"]})
        status = await _status(server, NAME)
        assert ("commonEncodingVersion" in status, _condition(status)) == (False, UNSET)
        await updater.collect()
        assert len((await _status(server, NAME))["storageVersions"]) == 2

    await updater.collect()
    status = await _status(server, NAME)
    assert [one["apiServerID"] for one in status["storageVersions"]] == ["apiserver-a"]
    assert (status["commonEncodingVersion"], _condition(status)) == ("example.com/v1", SET)


async def test_deletes_what_only_dead_servers_reported(server: InProcess, stack: AsyncExitStack) -> None:
    """Delete a StorageVersion whose last entry is that of a dead server."""
    updater = await _start(server, "apiserver-a", stack)
    async with AsyncExitStack() as short:
        await (await _start(server, "apiserver-b", short))._put("other.things", {"encodingVersion": "v1", "decodableVersions": ["v1"]})
    await updater.collect()
    assert await _status(server, "other.things") is None

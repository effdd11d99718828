"""Reports of the versions that servers store."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any, cast

import pytest

from apiext.api.serving.storage_version_updater import StorageVersionUpdater
from apiext.base.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, STORAGE_VERSIONS, BuiltinResource
from apiext.base.meta.gvk import GroupVersionKind
from apiext.resources.definitions.definition import Definition
from apiext.storage.replicas.identity_lease import IdentityLease
from apiext.storage.replicas.replica import ReplicaEncoding
from tests.support.builders.crds import crd, version
from tests.support.servers.in_process import CRDS, InProcess

BASE = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions"
ONE = f"{CRDS}/widgets.example.com"
NAME = "example.com.widgets"


class _Older:
    """Stands in for the serving cache of a server that writes another version."""

    def encoding(self, definition: Definition) -> ReplicaEncoding:
        """Return the encoding of a definition's objects."""
        return ReplicaEncoding("v0", definition.revision)


async def _start(
    server: InProcess, name: str, stack: AsyncExitStack, *more: BuiltinResource, cache: _Older | None = None
) -> StorageVersionUpdater:
    builtins = (NAMESPACES, CUSTOM_RESOURCE_DEFINITIONS, STORAGE_VERSIONS, *more)
    lease = IdentityLease(server.backend, "/registry", name)
    updater = StorageVersionUpdater(server.storage_versions, builtins, server.catalog, cast("Any", cache or server.cache), lease)
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
    await _start(server, "apiserver-a", stack)

    definitions = await _until_common(server, "apiextensions.k8s.io.customresourcedefinitions", "apiextensions.k8s.io/v1beta1")
    assert definitions["storageVersions"] == [
        {
            "apiServerID": "apiserver-a",
            "encodingVersion": "apiextensions.k8s.io/v1beta1",
            "decodableVersions": ["apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"],
            "servedVersions": ["apiextensions.k8s.io/v1"],
        }
    ]
    assert (definitions["commonEncodingVersion"], _condition(definitions)) == ("apiextensions.k8s.io/v1beta1", SET)
    await _until_common(server, "core.namespaces", "v1")
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
        await _start(server, "apiserver-b", short, cache=_Older())
        status = await _until_common(server, NAME, None)
        assert [one["apiServerID"] for one in status["storageVersions"]] == ["apiserver-a", "apiserver-b"]
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
        await _start(server, "apiserver-b", short, replace(NAMESPACES, kind=GroupVersionKind("other", "v1", "Thing"), plural="things"))
        await _until_common(server, "other.things", "other/v1")
    await updater.collect()
    assert await _status(server, "other.things") is None

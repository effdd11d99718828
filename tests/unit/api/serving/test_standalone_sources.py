"""Tests of the sources of admission plug-ins on standalone servers."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final, cast

import pytest

from apiext.api.admission.chain import Chain
from apiext.api.admission.sources import AdmissionPhase, ParamQuery, RequestPlace
from apiext.api.endpoints.scopes.open_watches import Watches
from apiext.api.serving.builtin.endpoints import BuiltinEndpoint
from apiext.api.serving.builtin.kinds import endpoints_of
from apiext.api.serving.cache import ServingCache
from apiext.api.serving.standalone_sources import StandaloneSources
from apiext.base.meta.builtin_resources import ADMISSIONREGISTRATION_V1, CORE_V1
from apiext.base.meta.request import AdmissionOperation
from apiext.resources.definitions.catalog import Catalog
from apiext.resources.registry.request_context import CreateOptions, DeleteOptions, RequestContext, UpdateOptions
from apiext.resources.registry.rest import ResourceRest
from tests.support.event_loop import until_answered
from tests.support.servers.memory_backend import MemoryBackend
from tests.support.servers.stores import running_stores

PLACE: Final = RequestPlace("a.example.com", "widgets", "", AdmissionOperation.CREATE)
KEY: Final = "/registry/validatingwebhookconfigurations/stored"


def _configuration(name: str) -> dict[str, Any]:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"], "scope": "*"}
    hook = {
        "name": "a.example.com",
        "clientConfig": {"url": "https://a.example.com"},
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
        "matchPolicy": "Exact",
        "namespaceSelector": {},
        "objectSelector": {},
        "timeoutSeconds": 1,
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    return {**kind, "metadata": {"name": name, "uid": "u"}, "webhooks": [hook]}


@dataclass
class Standalone:
    """The sources over a backend in memory."""

    backend: MemoryBackend
    sources: StandaloneSources
    endpoints: list[BuiltinEndpoint]

    async def hooks(self) -> list[str]:
        """Return the webhooks for a request."""
        return [entry.uid for entry in await self.sources.configurations.webhooks(AdmissionPhase.VALIDATING, PLACE)]

    def rest(self, plural: str) -> ResourceRest:
        """Return the verbs of a kind."""
        endpoint = next(one for one in self.endpoints if one.resource.plural == plural)
        return cast("ResourceRest", endpoint.scopes[""].rest)


async def _start(backend: MemoryBackend, stack: AsyncExitStack, *, watch_cache: bool = True) -> Standalone:
    stores = await stack.enter_async_context(running_stores(backend, watch_cache=watch_cache))
    sources = StandaloneSources(stores)
    endpoints = endpoints_of([ADMISSIONREGISTRATION_V1, CORE_V1], stores, Chain([]), Watches())
    return Standalone(backend, sources, await sources.start(endpoints, stack))


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    """Return what stops everything at the end of the test."""
    async with AsyncExitStack() as opened:
        yield opened


@pytest.mark.parametrize("watch_cache", [True, False])
async def test_stored_configurations_apply_at_once(stack: AsyncExitStack, watch_cache: bool) -> None:  # noqa: FBT001 -- a parameter
    """Know the configurations that are stored when the server starts."""
    backend = MemoryBackend()
    await backend.create(KEY, json.dumps(_configuration("stored")).encode())

    assert await (await _start(backend, stack, watch_cache=watch_cache)).hooks() == ["stored/a.example.com/0"]


async def test_own_writes_apply_before_their_responses(stack: AsyncExitStack) -> None:
    """Apply a configuration once it is written, and no longer once it is deleted."""
    standalone = await _start(MemoryBackend(), stack)
    rest = standalone.rest("validatingwebhookconfigurations")

    await rest.create(RequestContext(), _configuration("own"), CreateOptions())
    assert await standalone.hooks() == ["own/a.example.com/0"]
    await rest.create(RequestContext(), _configuration("dry"), CreateOptions(dry_run=True))
    assert await standalone.hooks() == ["own/a.example.com/0"]
    await rest.delete(RequestContext(), "own", DeleteOptions())
    assert await standalone.hooks() == []


async def test_writes_of_other_servers_apply(stack: AsyncExitStack) -> None:
    """Follow the store from its first change, although nothing was stored at the start."""
    standalone = await _start(MemoryBackend(), stack)
    assert await standalone.hooks() == []

    result = await standalone.backend.create(KEY, json.dumps(_configuration("stored")).encode())
    await until_answered(standalone.hooks)
    await standalone.backend.delete(KEY, expected=result.revision)

    async def are_none() -> bool:
        return not await standalone.hooks()

    await until_answered(are_none)


async def test_namespaces_are_read_from_the_store_if_the_cache_lacks_them(stack: AsyncExitStack) -> None:
    """Return a namespace with its labels, and None for a missing one."""
    standalone = await _start(MemoryBackend(), stack)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "labels": {"x": "y"}}}
    await standalone.rest("namespaces").create(RequestContext(), namespace, CreateOptions())

    found = await standalone.sources.namespaces.namespace("a")
    assert found is not None
    assert found["metadata"]["labels"] == {"x": "y", "kubernetes.io/metadata.name": "a"}
    assert await standalone.sources.namespaces.namespace("b") is None


async def test_namespaces_are_parsed_once(stack: AsyncExitStack) -> None:
    """Return the same namespace until it changes, and then the new one."""
    standalone = await _start(MemoryBackend(), stack)
    namespaces, rest = standalone.sources.namespaces, standalone.rest("namespaces")
    await rest.create(RequestContext(), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}, CreateOptions())

    async def is_labeled() -> bool:
        found = await namespaces.namespace("a")
        return found is not None and found["metadata"]["labels"].get("x") == "y"

    async def is_kept() -> bool:
        return await namespaces.namespace("a") is await namespaces.namespace("a")

    # the store answers until the cache has it
    await until_answered(is_kept)

    async def label(old: dict[str, Any] | None) -> dict[str, Any]:
        assert old is not None
        return {**old, "metadata": {**old["metadata"], "labels": {**old["metadata"]["labels"], "x": "y"}}}

    await rest.update(RequestContext(), "a", label, UpdateOptions())
    await until_answered(is_labeled)


async def test_params(stack: AsyncExitStack) -> None:
    """Return parameters by name and by labels, and nothing for kinds that are not served."""
    standalone = await _start(MemoryBackend(), stack)
    params = standalone.sources.params
    assert await params.is_namespaced("v1", "ConfigMap") is None
    params.serve(standalone.endpoints, Catalog(), cast("ServingCache", None))
    for namespace, name, labels in (("n", "b", {"x": "1"}), ("n", "a", {"x": "1"}), ("m", "c", {"x": "1"}), ("n", "d", {})):
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace, "labels": labels}}
        await standalone.rest("configmaps").create(RequestContext(namespace=namespace), obj, CreateOptions())

    async def names(**query: str) -> list[str]:
        return [one["metadata"]["name"] for one in await params.params(ParamQuery("v1", "ConfigMap", **query))]

    assert (await params.is_namespaced("v1", "ConfigMap"), await params.is_namespaced("v1", "Namespace")) == (True, False)
    assert await params.is_namespaced("v2", "ConfigMap") is None
    assert await params.params(ParamQuery("v1", "Gadget", "n")) == ()
    assert await names(namespace="n", name="a") == ["a"]
    assert await names(namespace="n", name="missing") == []
    assert await names(namespace="n", selector="x=1") == ["a", "b"]
    assert await names(namespace="n") == ["a", "b", "d"]
    assert await names(namespace="") == ["c", "a", "b", "d"]

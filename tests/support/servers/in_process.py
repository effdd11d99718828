"""The serving rooms in the test's own process: real stores, definitions and endpoints over a backend in memory, without TLS."""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from aiohttp import ClientSession, web
from aiohttp.test_utils import RawTestServer

from apiext.admission.chain import Chain
from apiext.admission.lifecycle import NamespaceLifecycle
from apiext.authorization.authorizer import Authorizer, PrivilegedGroup
from apiext.definitions.catalog import Catalog
from apiext.definitions.controllers import Controllers
from apiext.endpoints.handlers.open_watches import Watches
from apiext.endpoints.request import HEADERS, INFO, USER, Handler
from apiext.filters.authorization import Authorization
from apiext.filters.error_rendering import ErrorRendering
from apiext.filters.request_info import WithRequestInfo
from apiext.filters.warning import WarningRecorder
from apiext.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS
from apiext.meta.request import UserInfo
from apiext.serving.builtin import BuiltinEndpoints, core_endpoints, definitions_endpoint
from apiext.serving.cache import ServingCache
from apiext.serving.definition_instances import DefinitionInstances
from apiext.serving.handler import ResourceHandler
from apiext.serving.import_handler import ImportHandler
from apiext.serving.mirror_guard import Custodian
from apiext.serving.namespace_controller import NamespaceController, phase_of
from apiext.storage.cacher.feed import MAX_WAIT
from apiext.storage.factory import StoreFactory
from tests.support.servers.memory_backend import MemoryBackend

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ADMIN = UserInfo("admin", ("system:masters", "system:authenticated"))


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer."""

    status: int
    headers: Mapping[str, str]
    warnings: list[str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def message(self) -> str:
        """What a Status says."""
        return str(self.json["message"])


class InProcess:
    """A whole standalone server but for filters of identity and limits."""

    def __init__(
        self,
        *,
        lifecycle: bool = True,
        authorizer: Authorizer | None = None,
        unsafe_deletion: bool = True,
        backend: MemoryBackend | None = None,
        max_wait: float = MAX_WAIT,
    ) -> None:
        """`backend` is one that others use, too; `max_wait` is how long, in seconds, reads wait for caches that are behind."""
        self.backend = backend or MemoryBackend()
        self.stores = StoreFactory(self.backend, max_wait=max_wait)
        self.catalog = Catalog()
        plugins = [NamespaceLifecycle(self._phase)] if lifecycle else []
        admission = Chain(plugins)
        resource = CUSTOM_RESOURCE_DEFINITIONS.resource.group_resource
        custodian = Custodian(self.catalog, self._refresh, self.stores.key_prefix(resource))
        self.cache = ServingCache(self.stores, admission, custodian)
        self.catalog.subscribe(self.cache.changed)
        definitions = self.stores.store(resource)
        self.controllers = Controllers(definitions, self.catalog, DefinitionInstances(self.cache))
        core = core_endpoints(self.stores, admission, Watches())
        self.namespaces = core[0]
        self.namespace_controller = NamespaceController(core[0], core, self.catalog, self.cache)
        self.definitions = own = definitions_endpoint(definitions, self.controllers, admission, Watches())
        handler = ResourceHandler(self.catalog, self.cache, BuiltinEndpoints([*core, own]))
        routes = _Routes(handler, ImportHandler(self.cache))
        authorization = Authorization(routes, authorizer=authorizer or PrivilegedGroup(), unsafe_deletion=unsafe_deletion)
        chain: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]] = _Identity(authorization)
        for wrap in (WarningRecorder, ErrorRendering, WithRequestInfo, _Headers):
            chain = wrap(chain)
        self._server = RawTestServer(chain)
        self._session: ClientSession | None = None

    async def _refresh(self, name: str) -> None:
        await self.controllers.refresh(name)

    async def _phase(self, name: str, *, live: bool) -> str | None:
        return await phase_of(self.namespaces, name, live=live)

    async def __aenter__(self) -> Self:
        await self.stores.start()
        await self.controllers.start()
        await self.namespace_controller.start()
        await self._server.start_server()
        self._session = ClientSession()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        if self._session is not None:
            await self._session.close()
        await self.cache.close()
        await self._server.close()
        await self.namespace_controller.close()
        await self.controllers.close()
        await self.stores.close()

    @property
    def session(self) -> ClientSession:
        """The client."""
        assert self._session is not None
        return self._session

    def url(self, path: str) -> str:
        """The address of a path."""
        return str(self._server.make_url("/")).rstrip("/") + path

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """One request; a body that is no text or bytes is sent as JSON. Headers are named with underscores."""
        sent = {name.replace("_", "-"): text for name, text in headers.items()}
        text = body if isinstance(body, bytes | str | None) else json.dumps(body)
        data = io.BytesIO(text) if isinstance(text, bytes) else text
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        async with self.session.request(
            method, self.url(path), data=data, headers=sent, skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding")
        ) as response:
            return Answer(response.status, dict(response.headers), response.headers.getall("Warning", []), await response.read())

    async def define(self, crd: dict[str, Any]) -> None:
        """Create a definition and return when it is served."""
        answer = await self.ask("POST", CRDS, crd)
        assert answer.status == 201, answer.body
        await self.until(lambda: self.catalog.lookup(crd["spec"]["group"], crd["spec"]["names"]["plural"]) is not None)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return when a condition holds, as the catalogue changes."""
        revision = self.catalog.revision
        while not condition():
            revision += 1
            await self.catalog.wait_for(revision, 0.05)


class _Routes:
    """Tells requests for resources from imports."""

    def __init__(self, resources: Handler, imports: Handler) -> None:
        self._resources = resources
        self._imports = imports

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        handler = self._resources if request[INFO].is_resource else self._imports
        return await handler(request)


class _Headers:
    """Opens the headers that filters add to."""

    def __init__(self, handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]) -> None:
        self._handler = handler

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        request[HEADERS] = {}
        return await self._handler(request)


class _Identity:
    """Makes everybody an administrator."""

    def __init__(self, handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]) -> None:
        self._handler = handler

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        request[USER] = ADMIN
        return await self._handler(request)


def definition(plural: str = "widgets", kind: str = "Widget", *, group: str = "example.com", **spec: Any) -> dict[str, Any]:
    """A definition with one version that has status and scale."""
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "replicas": {"type": "integer"},
                    "size": {"type": "string", "default": "m"},
                    "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            },
            "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
        },
        "additionalPrinterColumns": [
            {"name": "Size", "type": "string", "jsonPath": ".spec.size"},
            {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas", "priority": 1},
        ],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [version],
        }
        | spec,
    }


def versions(*names: str, **more: Any) -> Callable[[dict[str, Any]], list[dict[str, Any]]]:
    """Versions like a given one, the first of them stored."""
    return functools.partial(_versions, names, more)


def _versions(names: tuple[str, ...], more: dict[str, Any], like: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**like, **more.get(name, {}), "name": name, "storage": name == names[0]} for name in names]

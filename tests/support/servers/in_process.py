"""The serving rooms in the test process: real stores, definitions and endpoints over a backend in memory, without TLS."""

import functools
import io
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from aiohttp import ClientSession, web
from aiohttp.test_utils import RawTestServer

from apiext.api.admission.attributes import Admission
from apiext.api.admission.chain import Chain
from apiext.api.admission.dynamic import DynamicAdmission
from apiext.api.admission.lifecycle import NamespaceLifecycle
from apiext.api.authorization.authorizer import AuthorizationModes, Authorize, is_master
from apiext.api.endpoints.request import HEADERS, INFO, USER, Handler
from apiext.api.endpoints.scopes.open_watches import Watches
from apiext.api.filters.authorization import Authorization
from apiext.api.filters.failures import ErrorRendering
from apiext.api.filters.headers import WarningRecorder
from apiext.api.filters.request_info import WithRequestInfo
from apiext.api.serving.builtin.definitions import definitions_endpoint
from apiext.api.serving.builtin.endpoints import BuiltinEndpoints
from apiext.api.serving.builtin.kinds import endpoints_of
from apiext.api.serving.cache import ServingCache
from apiext.api.serving.definition_instances import DefinitionInstances
from apiext.api.serving.handler import ResourceHandler
from apiext.api.serving.held_writes import hold_writes
from apiext.api.serving.import_handler import ImportHandler
from apiext.api.serving.instance_guard import InstanceGuards
from apiext.api.serving.namespace_controller import NamespaceController, namespace_phase
from apiext.api.serving.remote.remote_scopes import with_remote_builtin
from apiext.api.serving.stored_documents import StoredHandler
from apiext.base.meta.builtin_resources import (
    BUILTINS,
    CUSTOM_RESOURCE_DEFINITIONS,
    FLOWCONTROL_V1,
    INTERNAL_V1ALPHA1,
    NAMESPACES,
    STORAGE_VERSION_MIGRATIONS,
    STORAGE_VERSIONS,
)
from apiext.base.meta.request import UserInfo
from apiext.base.workers.pool import WorkerPool
from apiext.resources.conversion.circuits import ConversionCircuits
from apiext.resources.conversion.factory import ConverterFactory
from apiext.resources.definitions.catalog import Catalog
from apiext.resources.definitions.controllers.definition_controllers import DefinitionControllers
from apiext.resources.definitions.definition_informer import DefinitionInformer
from apiext.resources.managedfields.field_manager import SERVER
from apiext.resources.registry.builtin.namespace import NAMESPACE_KIND
from apiext.resources.registry.prune_guard import PruneGuard
from apiext.server.routes.own_paths import OwnPaths
from apiext.server.version_map.handler import VersionMapHandler
from apiext.server.version_map.sources import MapSources
from apiext.storage.backend import Backend
from apiext.storage.cacher.feed import MAX_WAIT
from apiext.storage.factory import StoreFactory
from apiext.storage.value.encryption import Encryption
from apiext.storage.value.transforming_backend import TransformingBackend
from tests.support.event_loop import until
from tests.support.servers.memory_backend import MemoryBackend

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ADMIN = UserInfo("admin", ("system:masters", "system:authenticated"))


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete response."""

    status: int
    headers: Mapping[str, str]
    warnings: list[str]
    body: bytes

    @property
    def json(self) -> Any:
        """Return the body parsed as JSON."""
        return json.loads(self.body)

    @property
    def message(self) -> str:
        """Return the message of a Status."""
        return str(self.json["message"])


def _encrypting(backend: MemoryBackend, encryption: Encryption | None) -> Backend:
    return TransformingBackend(backend, "/registry", encryption) if encryption is not None else backend


class InProcess:
    """A complete standalone server, without the filters of authentication and limits."""

    def __init__(
        self,
        *,
        lifecycle: bool = True,
        plugins: Sequence[Admission] = (),
        dynamic: DynamicAdmission | None = None,
        authorize: Authorize | None = None,
        unsafe_deletion: bool = True,
        backend: MemoryBackend | None = None,
        max_wait: float = MAX_WAIT,
        watch_cache: bool = True,
        guard_stored_versions: bool = False,
        circuits: ConversionCircuits | None = None,
        encryption: Encryption | None = None,
    ) -> None:
        """Prepare the server, with further `plugins`. Servers may share a `backend`. Reads wait `max_wait` seconds for stale caches."""
        self.backend = backend or MemoryBackend()
        self.workers = WorkerPool()
        self.stores = StoreFactory(_encrypting(self.backend, encryption), max_wait=max_wait, watch_cache=watch_cache, encryption=encryption)
        self.catalog = Catalog()
        phase = functools.partial(namespace_phase, NAMESPACE_KIND.rest(self.stores.store(NAMESPACES.stored_resource)))
        admission = _chain([*([NamespaceLifecycle(phase)] if lifecycle else []), *plugins], dynamic)
        resource = CUSTOM_RESOURCE_DEFINITIONS.resource.group_resource
        self.informer = DefinitionInformer(self.stores.store(resource), self.catalog)
        guards = InstanceGuards(self.informer, self.stores.key_prefix(resource))
        self.converters = ConverterFactory(circuits=circuits)
        self.cache = ServingCache(self.stores, admission, guards, self.converters, self.workers)
        self.catalog.subscribe(self.cache.on_change)
        guard = PruneGuard(count=self.stores.count_stored, refuses=guard_stored_versions)
        self.definitions = own = with_remote_builtin(definitions_endpoint(self.informer, guard, admission, Watches()))
        instances, record = DefinitionInstances(self.cache), own.scopes["status"].fields.recorder(SERVER)
        self.controllers = DefinitionControllers(self.informer, instances, record, self.converters.circuits)
        groups = [*(group for group in BUILTINS if group is not FLOWCONTROL_V1), INTERNAL_V1ALPHA1]
        endpoints = endpoints_of(groups, self.stores, admission, Watches())
        served = {endpoint.resource: endpoint for endpoint in endpoints}
        self.namespaces = served[NAMESPACES]
        self.namespace_controller = NamespaceController(self.namespaces, endpoints, self.catalog, self.cache)
        self.migrations, self.storage_versions = served[STORAGE_VERSION_MIGRATIONS], served[STORAGE_VERSIONS]
        self.endpoints = [*map(with_remote_builtin, endpoints), own]
        handler = ResourceHandler(self.catalog, self.cache, BuiltinEndpoints(self.endpoints), self.workers)
        imports, stored = ImportHandler(self.cache, self.workers), StoredHandler(self.catalog, self.cache, self.workers)
        modes = AuthorizationModes(before=[] if authorize else [is_master], delegate=authorize)
        self.version_map = VersionMapHandler(self._map_sources(dynamic), modes.authorize, Watches())
        others: dict[str, Handler] = {"apiext": OwnPaths(imports, hold_writes, self.version_map), "stored": stored}
        authorization = Authorization(_Routes(handler, others), modes=modes, unsafe_deletion=unsafe_deletion)
        chain: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]] = _Identity(authorization)
        for wrap in (WarningRecorder, functools.partial(ErrorRendering, plain=not unsafe_deletion), WithRequestInfo, _Headers):
            chain = wrap(chain)
        self._server = RawTestServer(chain)
        self._session: ClientSession | None = None

    def _map_sources(self, dynamic: DynamicAdmission | None) -> MapSources:
        return MapSources(
            catalog=self.catalog,
            cache=self.cache,
            converters=self.converters,
            workers=self.workers,
            configurations=dynamic.sources.configurations if dynamic is not None else None,
            migrations=self.migrations.scopes[""],
        )

    async def __aenter__(self) -> Self:
        await self.stores.start()
        self.controllers.start()
        await self.informer.start()
        await self.namespace_controller.start()
        await self._server.start_server()
        self._session = ClientSession()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        if self._session is not None:
            await self._session.close()
        await self.version_map.close()
        await self.cache.close()
        await self._server.close()
        await self.workers.close()
        await self.namespace_controller.close()
        await self.informer.close()
        await self.controllers.close()
        await self.stores.close()

    @property
    def session(self) -> ClientSession:
        """Return the HTTP client."""
        assert self._session is not None
        return self._session

    def url(self, path: str) -> str:
        """Return the URL of a path."""
        return str(self._server.make_url("/")).rstrip("/") + path

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send a request and return the response. Send a body other than text and bytes as JSON. `_` in header names becomes `-`."""
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
        """Create a definition. Return once the server serves it."""
        answer = await self.ask("POST", CRDS, crd)
        assert answer.status == 201, answer.body
        await until(lambda: self.catalog.lookup(crd["spec"]["group"], crd["spec"]["names"]["plural"]) is not None)


def _chain(plugins: Sequence[Admission], dynamic: DynamicAdmission | None) -> Chain:
    return Chain(plugins) if dynamic is None else Chain([*plugins, *dynamic.plugins], dynamic, dynamic.sources.stats)


class _Routes:
    """Routes requests for resources, and others by the first segment of their path."""

    def __init__(self, resources: Handler, others: Mapping[str, Handler]) -> None:
        self._resources = resources
        self._others = others

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        handler = self._resources if request[INFO].is_resource else self._others[request.path.split("/")[1]]
        return await handler(request)


class _Headers:
    """Creates the response headers that filters add to."""

    def __init__(self, handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]) -> None:
        self._handler = handler

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        request[HEADERS] = {}
        return await self._handler(request)


class _Identity:
    """Attaches the administrator to every request."""

    def __init__(self, handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]) -> None:
        self._handler = handler

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        request[USER] = ADMIN
        return await self._handler(request)

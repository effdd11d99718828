"""Composition of the API: built-in resources, definitions and custom resources over one backend.

Mirrors apiextensions-apiserver pkg/apiserver/apiserver.go.
"""

from __future__ import annotations

import asyncio
import functools
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from apiext.definitions.catalog import Catalog
from apiext.definitions.controllers import DefinitionControllers
from apiext.definitions.definition_informer import DefinitionInformer
from apiext.discovery.handler import DiscoveryHandler
from apiext.endpoints.handlers.open_watches import Watches
from apiext.managedfields.field_manager import SERVER
from apiext.meta.builtin_resources import AGGREGATED_BUILTINS, BUILTINS, CORE_V1, CUSTOM_RESOURCE_DEFINITIONS
from apiext.meta.tasks import run_until_closed
from apiext.registry.event_expiry import EventExpiry
from apiext.server.admission import open_admission
from apiext.server.feature_gates import CBOR_GATE
from apiext.server.lazy_imports import LazyHandler
from apiext.server.routes.version import GIT_VERSION
from apiext.serving.builtin import BuiltinEndpoints, core_endpoints, definitions_endpoint
from apiext.serving.cache import ServingCache
from apiext.serving.definition_instances import DefinitionInstances
from apiext.serving.handler import ResourceHandler
from apiext.serving.import_handler import ImportHandler
from apiext.serving.mirror_guard import MirrorGuards
from apiext.serving.namespace_controller import NamespaceController
from apiext.serving.remote_scopes import with_remote_builtin
from apiext.storage.backend import BackendError
from apiext.storage.host_records import HostRecords

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.definitions.definition import Definition
    from apiext.endpoints.request import Handler
    from apiext.meta.builtin_resources import BuiltinGroupVersion
    from apiext.meta.gvk import GroupResource
    from apiext.registry.rest import ResourceRest
    from apiext.server.admission import HostInformer
    from apiext.server.host.clients import HostClients
    from apiext.server.options import ServerOptions
    from apiext.serving.builtin import BuiltinEndpoint
    from apiext.storage.factory import StoreFactory
    from apiext.workers.pool import WorkerPool

_DEFINITIONS: Final = CUSTOM_RESOURCE_DEFINITIONS.resource.group_resource
_COUNT_TIMEOUT: Final = 2.0
"""Seconds that the store has to count the objects of a resource."""


@dataclass(frozen=True, slots=True, kw_only=True)
class API:
    """Handlers of the API, and the parts that the server needs of it."""

    resources: Handler
    discovery: Handler
    openapi: Handler
    imports: Handler
    catalog: Catalog
    definitions: BuiltinEndpoint
    stores: StoreFactory
    watches: Watches
    """All open watches."""
    builtins: tuple[BuiltinGroupVersion, ...]
    """Built-in group versions that this server serves."""
    workers: WorkerPool
    informers: Sequence[HostInformer]
    """Informers of host objects that admission plugins need."""

    @property
    def has_core(self) -> bool:
        """Report whether this server serves core/v1: namespaces and events."""
        return CORE_V1 in self.builtins

    def paths(self) -> list[str]:
        """Return the paths of the API for the index of `/`."""
        groups: dict[str, set[str]] = {"apiextensions.k8s.io": {"v1"}}
        for definition in self.catalog.all():
            if definition.is_established:
                served = {version.name for version in definition.versions if version.served}
                groups.setdefault(definition.group, set()).update(served)
        custom = [f"/apis/{group}{tail}" for group, versions in groups.items() for tail in ("", *(f"/{version}" for version in versions))]
        core = ["/api", "/api/v1"] if self.has_core else []
        return [*core, "/apis", *custom]

    async def wait_until_served(self, names: Sequence[str], *, timeout: float) -> None:  # noqa: ASYNC109 -- a wait that just ends
        """Wait until each named definition is served, rejected or missing, but at most `timeout` seconds."""
        done = asyncio.Event()

        def check(*_change: object) -> None:
            if all(_is_reconciled(self.catalog.get(name)) for name in names):
                done.set()

        unsubscribe = self.catalog.subscribe(check)
        try:
            check()
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await done.wait()
        finally:
            unsubscribe()

    async def count_objects(self) -> Mapping[GroupResource, int]:
        """Return the number of stored objects by resource; -1 if the store does not answer in time."""
        resources = [resource.resource.group_resource for group in self.builtins for resource in group.resources]
        resources += [definition.resource for definition in self.catalog.all() if definition.is_established]
        counts = await asyncio.gather(*(self._count(resource) for resource in resources))
        return dict(zip(resources, counts, strict=True))

    async def _count(self, resource: GroupResource) -> int:
        try:
            async with asyncio.timeout(_COUNT_TIMEOUT):
                return await self.stores.store(resource).count()
        except (BackendError, TimeoutError):
            return -1


def _is_reconciled(definition: Definition | None) -> bool:
    """Report whether a definition has a status, or is missing."""
    return definition is None or definition.is_established or definition.condition("NamesAccepted") is not None


async def open_api(stores: StoreFactory, options: ServerOptions, clients: HostClients, workers: WorkerPool, stack: AsyncExitStack) -> API:
    """Compose and start the API; `stack` stops it.

    Changes of definitions take one path: store -> informer -> catalog -> serving cache, then controllers, then other listeners.

    Raises:
        StartError: the host's address or credentials are invalid.
        StatusError, BackendError, StorageError: the store cannot be read.
    """
    admission, informers = open_admission(options, stores, clients, stack)
    builtins = BUILTINS if options.host is None else AGGREGATED_BUILTINS
    catalog, watches = Catalog(), Watches(min_seconds=options.limits.min_request_timeout)
    informer = DefinitionInformer(stores.store(_DEFINITIONS), catalog)
    guards = MirrorGuards(informer, stores.key_prefix(_DEFINITIONS))
    cache = ServingCache(stores, admission, guards, watches, cbor=options.feature_gates.enabled(CBOR_GATE))
    stack.push_async_callback(cache.close)
    catalog.subscribe(cache.on_change)
    definitions = with_remote_builtin(definitions_endpoint(informer, admission, watches))
    record = definitions.scopes["status"].fields.recorder(SERVER)
    controllers = DefinitionControllers(informer, DefinitionInstances(cache), record)
    controllers.start()
    stack.push_async_callback(controllers.close)
    await informer.start()
    stack.push_async_callback(informer.close)
    core = core_endpoints(stores, admission, watches) if options.host is None else []
    if core:
        await _start_core_controllers(core, NamespaceController(core[0], core[1:], catalog, cache), stores, options, stack)
    return API(
        resources=ResourceHandler(catalog, cache, BuiltinEndpoints([*map(with_remote_builtin, core), definitions]), workers),
        discovery=DiscoveryHandler(catalog, builtins),
        openapi=LazyHandler(functools.partial(_openapi_handler, catalog, builtins)),
        imports=ImportHandler(cache, workers),
        catalog=catalog,
        definitions=definitions,
        stores=stores,
        watches=watches,
        builtins=builtins,
        workers=workers,
        informers=informers,
    )


def _openapi_handler(catalog: Catalog, builtins: tuple[BuiltinGroupVersion, ...]) -> Handler:
    # Imported with the first request for OpenAPI: the module takes long to import.
    from apiext.openapi.handler import OpenAPIHandler

    return OpenAPIHandler(catalog, builtins, version=GIT_VERSION)


async def _start_core_controllers(
    core: Sequence[BuiltinEndpoint], namespaces: NamespaceController, stores: StoreFactory, options: ServerOptions, stack: AsyncExitStack
) -> None:
    """Start the namespace controller and, if events expire, the deletion of old events."""
    await namespaces.start()
    stack.push_async_callback(namespaces.close)
    if options.limits.event_ttl:
        events = cast("ResourceRest", core[1].scopes[""].rest)
        records = HostRecords(stores.backend, options.storage.prefix)
        run_until_closed(stack, EventExpiry(events.store, events.codec, records, ttl=options.limits.event_ttl).run())

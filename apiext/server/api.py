"""Composition of the API: built-in resources, definitions and custom resources over one backend.

Changes of definitions take one path: store -> informer -> catalog -> serving cache, then controllers, then other listeners.
Mirrors apiextensions-apiserver pkg/apiserver/apiserver.go.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from aiohttp import web

from apiext.api.discovery.handler import DiscoveryHandler
from apiext.api.endpoints.request import Handler
from apiext.api.endpoints.scopes.open_watches import Watches
from apiext.api.reviews.review_rest import REVIEWS
from apiext.api.serving.builtin.definitions import definitions_endpoint
from apiext.api.serving.builtin.endpoints import BuiltinEndpoints
from apiext.api.serving.builtin.kinds import endpoints_of
from apiext.api.serving.cache import ServingCache
from apiext.api.serving.definition_instances import DefinitionInstances
from apiext.api.serving.handler import RefreshDefinition, ResourceHandler
from apiext.api.serving.held_writes import hold_writes
from apiext.api.serving.import_handler import ImportHandler
from apiext.api.serving.instance_guard import InstanceGuards
from apiext.api.serving.namespace_controller import NamespaceController
from apiext.api.serving.remote.remote_scopes import with_remote_builtin
from apiext.api.serving.stored_conversions import StoredConversions
from apiext.api.serving.stored_documents import StoredHandler
from apiext.base.meta.builtin_resources import (
    AGGREGATED_BUILTINS,
    BUILTINS,
    CORE_V1,
    CUSTOM_RESOURCE_DEFINITIONS,
    EVENTS,
    FLOWCONTROL_V1,
    INTERNAL_V1ALPHA1,
    NAMESPACES,
    STORAGEMIGRATION_V1,
)
from apiext.base.scheduling.tasks import run_until_closed
from apiext.resources.conversion.factory import ConverterFactory
from apiext.resources.definitions.catalog import Catalog
from apiext.resources.definitions.controllers.definition_controllers import DefinitionControllers
from apiext.resources.definitions.controllers.stored_versions_controller import StoredVersionsController
from apiext.resources.definitions.definition_informer import DefinitionInformer
from apiext.resources.managedfields.field_manager import SERVER
from apiext.resources.registry.builtin.event_expiry import EventExpiry
from apiext.resources.registry.prune_guard import PruneGuard
from apiext.server.composition.admission import OpenAdmission, open_admission
from apiext.server.composition.automatic_migration import start_automatic_migration
from apiext.server.composition.builtin_kinds import (
    NO_KINDS,
    fixed_endpoints,
    open_builtin_kinds,
    start_control_plane,
    with_constant_services,
)
from apiext.server.composition.conversion_status import StoredStatuses
from apiext.server.composition.reviews import serve_reviews
from apiext.server.composition.rules_in_use import RecordedRules
from apiext.server.composition.storage_versions import start_replicas, start_storage_versions
from apiext.server.composition.store_controllers import start_store_controllers
from apiext.server.composition.version_map import VersionMapParts
from apiext.server.options.feature_gates import CBOR_GATE, MIGRATOR_GATE, STORAGE_VERSION_GATE, WATCH_COMPRESSION_GATE
from apiext.server.routes.openid import CONFIGURATION, KEYS, OpenIDDocuments
from apiext.server.routes.own_paths import OwnPaths
from apiext.server.routes.version import GIT_VERSION
from apiext.storage.backend import BackendError
from apiext.storage.replicas.host_records import HostRecords

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.api.admission.attributes import Admission
    from apiext.api.garbagecollector.garbage_collection import GarbageCollection
    from apiext.api.migration.migration_controller import MigrationController
    from apiext.api.serving.builtin.endpoints import BuiltinEndpoint
    from apiext.base.meta.builtin_resources import BuiltinGroupVersion
    from apiext.base.meta.gvk import GroupResource
    from apiext.base.workers.pool import WorkerPool
    from apiext.resources.definitions.definition import Definition
    from apiext.resources.registry.rest import ResourceRest
    from apiext.server.composition.access import AccessControl
    from apiext.server.host.clients import HostClients
    from apiext.server.options.options import ServerOptions
    from apiext.server.routes.process_role import ProcessRole
    from apiext.storage.factory import StoreFactory
    from apiext.storage.replicas.roll_call import Replicas

_DEFINITIONS: Final = CUSTOM_RESOURCE_DEFINITIONS.resource.group_resource
_COUNT_TIMEOUT: Final = 2.0
"""Maximum of seconds to count the objects of a resource."""


class LazyHandler:
    """A handler that its first request constructs."""

    def __init__(self, make: Callable[[], Handler]) -> None:
        self._make = make
        self._handler: Handler | None = None

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the handler's answer. Raises what the handler raises."""
        if self._handler is None:
            self._handler = self._make()
        return await self._handler(request)


@dataclass(frozen=True, slots=True, kw_only=True)
class API:
    """Handlers of the API, and its parts that the server uses."""

    resources: Handler
    discovery: Handler
    others: Mapping[str, Handler]
    """Handlers of other paths, by their first segment."""
    catalog: Catalog
    definitions: BuiltinEndpoint
    stores: StoreFactory
    replicas: Replicas
    """The servers on the store."""
    watches: Watches
    """All open watches."""
    builtins: tuple[BuiltinGroupVersion, ...]
    """Built-in group versions that this server serves."""
    workers: WorkerPool
    converters: ConverterFactory
    admission: OpenAdmission
    migrations: MigrationController | None
    """None if this server does not serve StorageVersionMigrations."""
    garbage_collection: GarbageCollection | None
    """None if this server does not collect garbage."""

    @property
    def has_core(self) -> bool:
        """Report whether this server serves core/v1: namespaces and events."""
        return any(builtin.group_version == CORE_V1.group_version for builtin in self.builtins)

    def paths(self) -> list[str]:
        """Return the paths of the API for the index of `/`."""
        groups: dict[str, set[str]] = {}
        for group, version in (builtin.group_version for builtin in self.builtins):
            if group:
                groups.setdefault(group, set()).add(version)
        for definition in self.catalog.all():
            if definition.is_established:
                served = {version.name for version in definition.versions if version.served}
                groups.setdefault(definition.group, set()).update(served)
        custom = [f"/apis/{group}{tail}" for group, versions in groups.items() for tail in ("", *(f"/{version}" for version in versions))]
        core = ["/api", "/api/v1"] if self.has_core else []
        openid = [CONFIGURATION, KEYS] if self.has_core else []
        return [*core, "/apis", *custom, *openid]

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
        stored = {definition.resource: definition.resource for definition in self.catalog.all() if definition.is_established}
        for resource in (resource for group in self.builtins for resource in group.resources if "get" in resource.verbs):
            stored.setdefault(resource.stored_resource, resource.resource.group_resource)
        counts = await asyncio.gather(*map(self._count, stored))
        return dict(zip(stored.values(), counts, strict=True))

    def count_stored(self) -> Mapping[tuple[GroupResource, str], int]:
        """Return the number of stored objects by resource and version, for custom resources with a loaded watch cache.

        The version "unknown" counts objects in versions that are neither in the definition nor in its storedVersions.
        """
        counts: dict[tuple[GroupResource, str], int] = {}
        for definition in self.catalog.all():
            known = self.stores.stored_versions(definition.resource).known()
            if known is not None:
                names = {*(version.name for version in definition.versions), *(definition.head["status"]["storedVersions"] or ())}
                found = {name: known.of(name) for name in names}
                counts |= {(definition.resource, name): number for name, number in found.items()}
                counts[definition.resource, "unknown"] = known.total - sum(found.values())
        return counts

    async def _count(self, resource: GroupResource) -> int:
        try:
            async with asyncio.timeout(_COUNT_TIMEOUT):
                return await self.stores.count(resource)
        except (BackendError, TimeoutError):
            return -1


def _is_reconciled(definition: Definition | None) -> bool:
    """Report whether a definition has a status, or is missing."""
    return definition is None or definition.is_established or definition.condition("NamesAccepted") is not None


async def open_api(
    stores: StoreFactory,
    options: ServerOptions,
    role: ProcessRole,
    clients: HostClients,
    workers: WorkerPool,
    access: AccessControl,
    stack: AsyncExitStack,
) -> API:
    """Compose and start the API of the server; `stack` stops it. A standalone server adds its tokens to `access`.

    Raises:
        StartError: the host's address or credentials, or a key file are invalid.
        StatusError, BackendError, StorageError: the store cannot be read.
    """
    admission = (opened := await open_admission(options, role.url, stores, clients, access, stack)).chain
    builtins, catalog, watches = enabled_builtins(options), Catalog(), _watches(options)
    informer = DefinitionInformer(stores.store(_DEFINITIONS), catalog)
    cache = _open_cache(stores, informer, admission, options, workers, watches, stack)
    definitions = await _start_definitions(informer, cache, admission, watches, options, stack)
    replicas = await start_replicas(options.storage, role.name, catalog, cache, stack)
    start_automatic_migration(informer, definitions, cache, replicas, workers, options, stack)
    endpoints = await _stored_endpoints(builtins, stores, opened, watches, access, stack)
    further = open_builtin_kinds(stores, admission, watches) if options.builtin_kinds else NO_KINDS
    await _start_core_controllers([*endpoints, *further.endpoints], catalog, cache, options, stack)
    own = [*map(with_remote_builtin, endpoints), definitions]
    await start_storage_versions(own, options.storage, role.name, catalog, cache, stack)
    migration, collection = start_store_controllers([*own, *further.endpoints], catalog, cache, workers, replicas, options, stack)
    versions = VersionMapParts(catalog, cache, workers, watches, opened, access.authorize, own, migration, options.migrates, stack)
    served, openid = _with_reviews(options, role.url, own, access, admission)
    fixed, builtins = fixed_endpoints(builtins, options, role.url, stores, admission, watches), further.beside(builtins)
    if options.builtin_kinds:
        await start_control_plane([*endpoints, *further.endpoints], builtins, options, role, stores, access, stack)
    opened.serve_resources(stored := [*served, *further.endpoints], catalog, cache, workers, stack)
    return API(
        resources=ResourceHandler(catalog, cache, BuiltinEndpoints([*stored, *fixed]), workers, _refresh(informer, role)),
        discovery=DiscoveryHandler(catalog, builtins if options.builtin_kinds else with_constant_services(builtins)),
        others={**_others(catalog, cache, workers, replicas, builtins, versions), **openid},
        catalog=catalog,
        definitions=definitions,
        stores=stores,
        replicas=replicas,
        watches=watches,
        builtins=builtins,
        workers=workers,
        converters=cache.converters,
        admission=opened,
        migrations=migration,
        garbage_collection=collection,
    )


def _open_cache(
    stores: StoreFactory,
    informer: DefinitionInformer,
    admission: Admission,
    options: ServerOptions,
    workers: WorkerPool,
    watches: Watches,
    stack: AsyncExitStack,
) -> ServingCache:
    """Return the cache of what serves the definitions; `stack` closes it."""
    guards = InstanceGuards(informer, stores.key_prefix(_DEFINITIONS))
    converters = ConverterFactory(options.service_addresses)
    cache = ServingCache(stores, admission, guards, converters, workers, watches, cbor=options.feature_gates.enabled(CBOR_GATE))
    stack.push_async_callback(cache.close)
    return cache


def _refresh(informer: DefinitionInformer, role: ProcessRole) -> RefreshDefinition | None:
    """Return what reads a definition that is unknown here, if another worker may have told a client already that it is established."""
    return None if role.whole is None else informer.refresh


def _others(
    catalog: Catalog,
    cache: ServingCache,
    workers: WorkerPool,
    replicas: Replicas,
    builtins: tuple[BuiltinGroupVersion, ...],
    versions: VersionMapParts,
) -> dict[str, Handler]:
    """Return the handlers of paths that are neither resources nor discovery, by the first segment."""
    return {
        "openapi": LazyHandler(functools.partial(_openapi_handler, catalog, builtins)),
        "apiext": OwnPaths(ImportHandler(cache, workers), hold_writes, LazyHandler(versions.open)),
        "stored": StoredHandler(catalog, cache, workers, replicas.roll_call),
    }


def _watches(options: ServerOptions) -> Watches:
    return Watches(min_seconds=options.limits.min_request_timeout, compresses=options.feature_gates.enabled(WATCH_COMPRESSION_GATE))


def enabled_builtins(options: ServerOptions) -> tuple[BuiltinGroupVersion, ...]:
    """Return the built-in group versions that the options enable."""
    if options.host is not None:
        return AGGREGATED_BUILTINS
    enabled = options.feature_gates.enabled
    left_out = () if enabled(MIGRATOR_GATE) else (STORAGEMIGRATION_V1,)
    added = (INTERNAL_V1ALPHA1,) if enabled(STORAGE_VERSION_GATE) else ()
    return tuple(builtin for builtin in (*BUILTINS, *REVIEWS, *added) if builtin not in left_out)


async def _start_definitions(
    informer: DefinitionInformer,
    cache: ServingCache,
    admission: Admission,
    watches: Watches,
    options: ServerOptions,
    stack: AsyncExitStack,
) -> BuiltinEndpoint:
    """Start to follow definitions, with their controllers, and Conversions. Return the endpoint of definitions."""
    informer.catalog.subscribe(cache.on_change)
    guard = PruneGuard(count=cache.stores.count_stored, refuses=options.guard_stored_versions)
    definitions = with_remote_builtin(definitions_endpoint(informer, guard, admission, watches))
    _start_definition_controllers(informer, definitions, cache, stack, restores=options.guard_stored_versions or options.migrates)
    await informer.start()
    stack.push_async_callback(informer.close)
    await _follow_conversions(informer.catalog, cache, options, stack)
    return definitions


async def _follow_conversions(catalog: Catalog, cache: ServingCache, options: ServerOptions, stack: AsyncExitStack) -> None:
    """Follow the Conversions in the store. Behind a host they are the host's, and not known yet."""
    recorded = RecordedRules(cache.converters.known, HostRecords(cache.stores.backend, options.storage.prefix))
    await recorded.recall()
    run_until_closed(stack, recorded.run())
    if options.crd_selector is not None and options.host is not None:
        from apiext.server.host.conversions import NOT_LISTED

        cache.converters.known.missing = NOT_LISTED
        return
    statuses = StoredStatuses(catalog, cache)
    conversions = StoredConversions(catalog, cache, cache.converters.known, statuses)
    await conversions.start()
    stack.push_async_callback(statuses.close)
    stack.push_async_callback(conversions.close)


async def _stored_endpoints(
    builtins: tuple[BuiltinGroupVersion, ...],
    stores: StoreFactory,
    admission: OpenAdmission,
    watches: Watches,
    access: AccessControl,
    stack: AsyncExitStack,
) -> list[BuiltinEndpoint]:
    """Return the endpoints of the stored built-in kinds. Admission sees their writes and, with RBAC, the policy does."""
    groups = (group for group in builtins if group is not FLOWCONTROL_V1)
    endpoints = await admission.follow(endpoints_of(groups, stores, admission.chain, watches), stack)
    if access.policy is None:
        return endpoints
    # most servers have no RBAC
    from apiext.server.composition.rbac import start_rbac

    return await start_rbac(access.policy, endpoints, stack)


def _with_reviews(
    options: ServerOptions, url: str, own: list[BuiltinEndpoint], access: AccessControl, admission: Admission
) -> tuple[list[BuiltinEndpoint], Mapping[str, Handler]]:
    """Return the endpoints of a standalone server with those of reviews, and the handlers of OpenID Connect by path."""
    if options.host is not None:
        return [*own], {}
    served, tokens = serve_reviews(options, own, access, admission)
    documents = OpenIDDocuments(tokens, url)
    return served, {".well-known": documents, "openid": documents}


def _openapi_handler(catalog: Catalog, builtins: tuple[BuiltinGroupVersion, ...]) -> Handler:
    # Imported with the first request for OpenAPI: the module takes long to import.
    from apiext.api.openapi.handler import OpenAPIHandler

    return OpenAPIHandler(catalog, builtins, version=GIT_VERSION)


def _start_definition_controllers(
    informer: DefinitionInformer, definitions: BuiltinEndpoint, cache: ServingCache, stack: AsyncExitStack, *, restores: bool
) -> None:
    """Start the controllers of definitions, which act on the changes of the informer."""
    record = definitions.scopes["status"].fields.recorder(SERVER)
    controllers = DefinitionControllers(informer, DefinitionInstances(cache), record, cache.converters.circuits)
    stored_versions = StoredVersionsController(informer, cache.stores.stored_versions, record, restores=restores)
    for controller in (controllers, stored_versions):
        controller.start()
        stack.push_async_callback(controller.close)


async def _start_core_controllers(
    endpoints: Sequence[BuiltinEndpoint], catalog: Catalog, cache: ServingCache, options: ServerOptions, stack: AsyncExitStack
) -> None:
    """Start the namespace controller and the deletion of expired events, if the server has these resources."""
    found = {endpoint.resource: endpoint for endpoint in endpoints}
    if NAMESPACES not in found:
        return
    namespaces = NamespaceController(found[NAMESPACES], endpoints, catalog, cache)
    await namespaces.start()
    stack.push_async_callback(namespaces.close)
    if options.limits.event_ttl:
        events = cast("ResourceRest", found[EVENTS].scopes[""].rest)
        records = HostRecords(cache.stores.backend, options.storage.prefix)
        run_until_closed(stack, EventExpiry(events.store, events.codec, records, ttl=options.limits.event_ttl).run())

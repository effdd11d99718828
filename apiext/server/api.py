"""The API: built-in kinds, definitions and custom resources over one backend, joined here and nowhere else.

Mirrors apiextensions-apiserver pkg/apiserver/apiserver.go.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from apiext.definitions.catalog import Catalog
from apiext.definitions.controllers import Controllers
from apiext.discovery.handler import DiscoveryHandler
from apiext.endpoints.handlers.open_watches import Watches
from apiext.meta.builtin_resources import AGGREGATED_BUILTINS, BUILTINS, CORE_V1, CUSTOM_RESOURCE_DEFINITIONS
from apiext.registry.event_expiry import EventExpiry
from apiext.server.admission import open_admission
from apiext.server.lazy_imports import LateHandler
from apiext.server.routes.version import GIT_VERSION
from apiext.serving.builtin import BuiltinEndpoints, core_endpoints, definitions_endpoint
from apiext.serving.cache import ServingCache
from apiext.serving.definition_instances import DefinitionInstances
from apiext.serving.handler import ResourceHandler
from apiext.serving.import_handler import ImportHandler
from apiext.serving.mirror_guard import Custodian
from apiext.serving.namespace_controller import NamespaceController, phase_of
from apiext.storage.backend import BackendError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.definitions.definition import Definition
    from apiext.endpoints.request import Handler
    from apiext.meta.builtin_resources import BuiltinGroupVersion
    from apiext.meta.gvk import GroupResource
    from apiext.server.admission import Followed
    from apiext.server.options import Options
    from apiext.serving.builtin import BuiltinEndpoint
    from apiext.storage.factory import StoreFactory

_DEFINITIONS: Final = CUSTOM_RESOURCE_DEFINITIONS.resource.group_resource
_COUNTING: Final = 2.0
"""Seconds for the store to say how many objects there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class API:
    """What answers requests for the API, and who looks after what it serves."""

    resources: Handler
    discovery: Handler
    openapi: Handler
    imports: Handler
    catalog: Catalog
    definitions: BuiltinEndpoint
    stores: StoreFactory
    watches: Watches
    """Every open watch."""
    builtins: tuple[BuiltinGroupVersion, ...]
    """What there is besides custom resources."""
    followed: Sequence[Followed]
    """What admission follows in the host."""

    @property
    def has_core(self) -> bool:
        """Whether there are namespaces and events here."""
        return CORE_V1 in self.builtins

    def paths(self) -> list[str]:
        """Paths of the API for the index."""
        groups: dict[str, set[str]] = {"apiextensions.k8s.io": {"v1"}}
        for definition in self.catalog.all():
            if definition.is_established:
                served = {version.name for version in definition.versions if version.served}
                groups.setdefault(definition.group, set()).update(served)
        custom = [f"/apis/{group}{tail}" for group, versions in groups.items() for tail in ("", *(f"/{version}" for version in versions))]
        core = ["/api", "/api/v1"] if self.has_core else []
        return [*core, "/apis", *custom]

    async def settled(self, names: Sequence[str], *, timeout: float) -> None:  # noqa: ASYNC109 -- a wait that just ends
        """Wait until definitions are served or found not to be, but no longer than so many seconds."""
        done = asyncio.Event()

        def look(*_change: object) -> None:
            if all(_is_settled(self.catalog.get(name)) for name in names):
                done.set()

        unsubscribe = self.catalog.subscribe(look)
        try:
            look()
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await done.wait()
        finally:
            unsubscribe()

    async def count_objects(self) -> Mapping[GroupResource, int]:
        """Stored objects by resource; -1 where the store does not tell."""
        resources = [resource.resource.group_resource for group in self.builtins for resource in group.resources]
        resources += [definition.resource for definition in self.catalog.all() if definition.is_established]
        counts = await asyncio.gather(*(self._count(resource) for resource in resources))
        return dict(zip(resources, counts, strict=True))

    async def _count(self, resource: GroupResource) -> int:
        try:
            async with asyncio.timeout(_COUNTING):
                return await self.stores.store(resource).count()
        except (BackendError, TimeoutError):
            return -1


def _is_settled(definition: Definition | None) -> bool:
    return definition is None or definition.is_established or definition.condition("NamesAccepted") is not None


async def open_api(stores: StoreFactory, options: Options, stack: AsyncExitStack) -> API:
    """Put everything together and start it; `stack` stops it.

    Raises:
        StartError: the host's address or credentials cannot be used.
        Exception: what the backend raises.
    """
    core: list[BuiltinEndpoint] = []

    async def phase(name: str, *, live: bool) -> str | None:
        return await phase_of(core[0], name, live=live)

    async def refresh(name: str) -> None:
        await controllers.refresh(name)

    admission, followed = open_admission(options, phase, stack)
    builtins = BUILTINS if options.host is None else AGGREGATED_BUILTINS
    catalog, watches = Catalog(), Watches(min_seconds=options.limits.min_request_timeout)
    if options.host is None:
        core += core_endpoints(stores, admission, watches)
    cache = ServingCache(stores, admission, Custodian(catalog, refresh, stores.key_prefix(_DEFINITIONS)), watches)
    stack.push_async_callback(cache.close)
    catalog.subscribe(cache.changed)
    store = stores.store(_DEFINITIONS)
    controllers = Controllers(store, catalog, DefinitionInstances(cache))
    definitions = definitions_endpoint(store, controllers, admission, watches)
    await controllers.start()
    stack.push_async_callback(controllers.close)
    if core:
        await _look_after(core, NamespaceController(core[0], core[1:], catalog, cache), options, stack)

    def openapi() -> Handler:
        from apiext.openapi.handler import OpenAPIHandler

        return OpenAPIHandler(catalog, builtins, version=GIT_VERSION)

    return API(
        resources=ResourceHandler(catalog, cache, BuiltinEndpoints([*core, definitions])),
        discovery=DiscoveryHandler(catalog, builtins),
        openapi=LateHandler(openapi),
        imports=ImportHandler(cache),
        catalog=catalog,
        definitions=definitions,
        stores=stores,
        watches=watches,
        builtins=builtins,
        followed=followed,
    )


async def _look_after(core: Sequence[BuiltinEndpoint], namespaces: NamespaceController, options: Options, stack: AsyncExitStack) -> None:
    """Start what empties namespaces and ends events, for there is nobody else to do it."""
    await namespaces.start()
    stack.push_async_callback(namespaces.close)
    if options.limits.event_ttl:
        events = core[1].scopes[""].rest
        expiry = asyncio.create_task(EventExpiry(events, ttl=timedelta(seconds=options.limits.event_ttl)).run())
        stack.callback(expiry.cancel)

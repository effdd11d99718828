"""What admission plug-ins of a standalone server read: configurations, namespaces and parameters, all from the server's own store."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from apiext.api.admission.configuration.index import ConfigurationIndex
from apiext.api.admission.packed_objects import strip
from apiext.api.admission.typed_kinds import is_typed
from apiext.api.serving.builtin.endpoints import DeferredScopes, gated_scopes
from apiext.base.meta import errors
from apiext.base.meta.builtin_resources import ADMISSIONREGISTRATION_V1, NAMESPACES
from apiext.base.meta.gvk import GroupVersionKind, parse_group_version
from apiext.base.meta.selector_parser import parse_label_selector
from apiext.resources.registry.builtin.namespace import NAMESPACE_KIND
from apiext.resources.registry.observed_rest import observed
from apiext.resources.registry.registration_gates import DEFAULT_GATES, RegistrationGates
from apiext.resources.registry.request_context import RequestContext
from apiext.resources.registry.rest_informer import RestInformer
from apiext.storage.interface import ListOptions, Selection

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from contextlib import AsyncExitStack

    from apiext.api.admission.configuration.index import FollowedObjects
    from apiext.api.admission.sources import ParamQuery
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.api.serving.builtin.endpoints import BuiltinEndpoint
    from apiext.api.serving.cache import ServingCache
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.catalog import Catalog
    from apiext.resources.definitions.definition import Definition
    from apiext.resources.registry.rest import ResourceRest
    from apiext.storage.factory import StoreFactory
    from apiext.storage.interface import Item


_MAX_PARSED: Final = 64
"""Parsed namespaces that are kept, of some kilobytes each; all are forgotten when there are more."""


class StandaloneSources:
    """The sources of a standalone server. It implements ParamLookup, too."""

    def __init__(self, stores: StoreFactory, gates: RegistrationGates = DEFAULT_GATES) -> None:
        self._stores = stores
        self._gates = gates
        self.configurations = ConfigurationIndex()
        self.namespaces = StoredNamespaces(stores)
        self.params = ServedParams()

    async def start(self, endpoints: Sequence[BuiltinEndpoint], stack: AsyncExitStack) -> list[BuiltinEndpoint]:
        """Follow the stored configurations until `stack` closes. Return the endpoints, whose writes apply at once.

        Raises:
            BackendError, StorageError, StatusError: the store cannot be read.
        """
        followers = self.configurations.followers
        found = []
        for endpoint in endpoints:
            if endpoint.resource in ADMISSIONREGISTRATION_V1.resources:
                followed = _FollowedKind(endpoint, followers[endpoint.resource.plural], self._stores, self._gates)
                stack.push_async_callback(followed.close)
                await followed.start()
                found.append(followed.endpoint)
            else:
                found.append(endpoint)
        return found

    def policy(self, plural: str, name: str) -> Object | None:
        """Implement ParamLookup.policy."""
        return self.configurations.followers[plural].get(name)

    def plural(self, api_version: str, kind: str) -> str | None:
        """Implement ParamLookup.plural."""
        return self.params.plural(api_version, kind)


class _FollowedKind:
    """Follows the objects of a kind from the start if there are any, else from the first request for the kind or the first change."""

    def __init__(self, endpoint: BuiltinEndpoint, follower: FollowedObjects, stores: StoreFactory, gates: RegistrationGates) -> None:
        self._made = endpoint
        self._gates = gates
        self._follower = follower
        self._stores = stores
        self._informer: RestInformer | None = None
        self._is_awaited = False
        self.endpoint = dataclasses.replace(endpoint, scopes=DeferredScopes(self._scopes))

    async def start(self) -> None:
        resource = self._made.resource.stored_resource
        if not self._stores.report_change(resource, self._begin) or await self._stores.count(resource):
            self._is_awaited = True
            self._begin()
            if self._informer is not None:
                await self._informer.start()
        self._follower.ready.set()

    async def close(self) -> None:
        if self._informer is not None:
            await self._informer.close()

    def _begin(self) -> None:
        """Make the scopes."""
        _ = self.endpoint.scopes[""]

    def _scopes(self) -> Mapping[str, Scope]:
        made = self._made.scopes if self._gates == DEFAULT_GATES else gated_scopes(self._made.scopes, self._gates)
        rest = cast("ResourceRest", made[""].rest)
        self._informer = RestInformer(rest, partial(_put, self._follower), partial(_remove, self._follower))
        if not self._is_awaited:
            self._informer.begin()
        return {
            name: dataclasses.replace(scope, rest=observed(cast("ResourceRest", scope.rest), self._informer, in_workers=True))
            for name, scope in made.items()
        }


def _put(follower: FollowedObjects, item: Item) -> None:
    obj = item.object()
    obj["metadata"].pop("managedFields", None)
    follower.changed(obj)


def _remove(follower: FollowedObjects, key: str) -> None:
    follower.deleted({"metadata": {"name": key}})


class StoredNamespaces:
    """Implements admission.sources.NamespaceSource."""

    def __init__(self, stores: StoreFactory) -> None:
        self._rest = NAMESPACE_KIND.rest(stores.store(NAMESPACES.stored_resource))
        self._parsed: dict[str, tuple[bytes, Object]] = {}
        """Namespaces by name, with the JSON that they were parsed from."""

    async def namespace(self, name: str) -> Object | None:
        """Return a namespace from the cache, or from the store if the cache does not have it; None for a missing one.

        It is shared and must not be changed.
        """
        for resource_version in ("0", ""):
            try:
                return self._object(name, await self._rest.get(RequestContext(namespace=name), name, resource_version=resource_version))
            except errors.StatusError as error:
                if error.code != 404:
                    raise
        return None

    def _object(self, name: str, item: Item) -> Object:
        known = self._parsed.get(name)
        if known is None or known[0] is not item.data:
            if len(self._parsed) >= _MAX_PARSED:
                self._parsed.clear()
            known = self._parsed[name] = item.data, item.object()
        return known[1]


class ServedParams:
    """Implements admission.sources.ParamSource over the resources of a server."""

    def __init__(self) -> None:
        self._builtins: dict[GroupVersionKind, BuiltinEndpoint] = {}
        self._catalog: Catalog | None = None
        self._cache: ServingCache | None = None
        self._customs: dict[tuple[str, str], Definition] = {}
        self._generation = -1
        """The state of the catalog that `_customs` shows."""

    def serve(self, endpoints: Iterable[BuiltinEndpoint], catalog: Catalog, cache: ServingCache) -> None:
        """Set the resources. Until then there are no parameters."""
        self._builtins = {endpoint.resource.kind: endpoint for endpoint in endpoints if "list" in endpoint.resource.verbs}
        self._catalog = catalog
        self._cache = cache

    async def is_namespaced(self, api_version: str, kind: str) -> bool | None:
        """Return the scope of a kind, None for one that is not served."""
        rest = self._rest(api_version, kind)
        return None if rest is None else rest.namespaced

    def plural(self, api_version: str, kind: str) -> str | None:
        """Return the resource of a kind, None for one that is not served."""
        rest = self._rest(api_version, kind)
        return None if rest is None else rest.resource.resource

    async def params(self, query: ParamQuery) -> Sequence[Object]:
        """Return the objects from the cache."""
        rest = self._rest(query.api_version, query.kind)
        if rest is None:
            return ()
        context, typed = RequestContext(namespace=query.namespace if rest.namespaced else ""), is_typed(query.api_version)
        if query.name:
            try:
                return (strip((await rest.get(context, query.name, resource_version="0")).object(), typed=typed),)
            except errors.StatusError as error:
                if error.code == 404:
                    return ()
                raise
        labels = parse_label_selector(query.selector) if query.selector else None
        result = await rest.list(context, ListOptions(selection=Selection(labels=labels), resource_version="0"))
        return tuple(strip(item.object(), typed=typed) for item in result.items)

    def _rest(self, api_version: str, kind: str) -> ResourceRest | None:
        group, version = parse_group_version(api_version)
        builtin = self._builtins.get(GroupVersionKind(group, version, kind))
        if builtin is not None:
            return cast("ResourceRest", builtin.scopes[""].rest)
        definition = self._definition(group, kind)
        if definition is None or self._cache is None or not any(one.name == version for one in definition.served_versions):
            return None
        served = self._cache.version(self._cache.info(definition), version)
        return None if served is None else cast("ResourceRest", served.scopes[""].rest)

    def _definition(self, group: str, kind: str) -> Definition | None:
        if self._catalog is None:
            return None
        if self._generation != self._catalog.generation:
            self._generation = self._catalog.generation
            self._customs = {(one.group, one.names.kind): one for one in self._catalog.all() if one.is_established}
        return self._customs.get((group, kind))

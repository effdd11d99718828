"""Endpoints of the built-in resources, with the same handlers as custom resources.

Mirrors apiserver pkg/endpoints/installer.go (the routes of a resource) and go-restful's responses for other routes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, cast

from aiohttp import web

from apiext.api.endpoints.request import INFO
from apiext.api.endpoints.scopes.scope import Scope
from apiext.api.endpoints.serializers.negotiation import check_route, route_types
from apiext.api.serving.verbs import RESOURCE_VERBS
from apiext.base.meta import errors
from apiext.base.meta.builtin_resources import BuiltinResource
from apiext.base.meta.gvk import GroupVersionResource

if TYPE_CHECKING:
    from apiext.base.meta.request import RequestInfo
    from apiext.resources.registry.admissionregistration.strategies import RegistrationStrategy
    from apiext.resources.registry.registration_gates import RegistrationGates
    from apiext.resources.registry.rest import ResourceRest

_NOT_ALLOWED: Final = "the server does not allow this method on the requested resource"
_STREAMED: Final = frozenset({"list", "watch"})
_COLLECTION: Final = frozenset({"list", "watch", "create", "deletecollection"})


class LazyScopes(Mapping[str, Scope]):
    """Scopes by subresource; those with a maker are made at their first use."""

    def __init__(self, made: Mapping[str, Scope], makers: Mapping[str, Callable[[], Scope]]) -> None:
        self._made = dict(made)
        self._makers = makers

    def __getitem__(self, name: str) -> Scope:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._made, **self._makers})

    def __len__(self) -> int:
        return len({*self._made, *self._makers})


class DeferredScopes(Mapping[str, Scope]):
    """All scopes of a resource, which a function makes at their first use."""

    def __init__(self, make: Callable[[], Mapping[str, Scope]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Mapping[str, Scope]:
        return self._make()

    def __getitem__(self, name: str) -> Scope:
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


def gated_scopes(scopes: Mapping[str, Scope], gates: RegistrationGates) -> Mapping[str, Scope]:
    """Return the scopes with strategies that follow the gates."""
    return {name: dataclasses.replace(scope, rest=_gated(cast("ResourceRest", scope.rest), gates)) for name, scope in scopes.items()}


def _gated(rest: ResourceRest, gates: RegistrationGates) -> ResourceRest:
    return dataclasses.replace(rest, strategy=cast("RegistrationStrategy", rest.strategy).gated(gates))


@dataclass(frozen=True, slots=True)
class BuiltinEndpoint:
    """A built-in resource with the scopes of its subresources."""

    resource: BuiltinResource
    scopes: Mapping[str, Scope]
    """Scopes by subresource; "" is the resource itself."""


class BuiltinEndpoints:
    """Answers requests for built-in resources."""

    def __init__(self, endpoints: Iterable[BuiltinEndpoint]) -> None:
        self._by_resource: dict[GroupVersionResource, BuiltinEndpoint] = {endpoint.resource.resource: endpoint for endpoint in endpoints}
        self._groups = frozenset(resource.group for resource in self._by_resource)

    def serves(self, info: RequestInfo) -> bool:
        """Report whether a request is for one of the built-in groups."""
        return info.group in self._groups and (info.api_prefix == "api") == (not info.group)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request for a built-in resource.

        Raises:
            StatusError: the resource is unknown (404), has no such verb (405), or the verb fails.
        """
        info = request[INFO]
        endpoint = self._by_resource.get(GroupVersionResource(info.group, info.version, info.resource))
        scope = endpoint.scopes.get(info.subresource) if endpoint else None
        if endpoint is None or scope is None or not _has_path(info, scope, endpoint.resource):
            raise errors.path_not_found()
        if not _has_route(request, info, endpoint.resource):
            raise errors.StatusError(405, "MethodNotAllowed", _NOT_ALLOWED, {})
        check_route(request, route_types(request, streamed=info.verb in _STREAMED))
        return await RESOURCE_VERBS[info.verb](request, scope)


def _has_path(info: RequestInfo, scope: Scope, resource: BuiltinResource) -> bool:
    """Report whether a resource has the path of a request: with a namespace or without one, and with a name."""
    if len(info.parts) > 1 and not info.subresource and _COLLECTION.issuperset(resource.verbs):
        return False
    if info.namespace:
        return resource.namespaced or scope.is_namespaces
    # across namespaces there is only the list
    return not resource.namespaced or (len(info.parts) == 1 and "list" in resource.verbs)


def _has_route(request: web.BaseRequest, info: RequestInfo, resource: BuiltinResource) -> bool:
    verbs: Sequence[str] = resource.verbs
    if info.subresource:
        subresource = resource.subresource(info.subresource)
        verbs = subresource.verbs if subresource else ()
    if resource.namespaced and not info.namespace and info.verb not in _STREAMED:
        # only lists and watches span namespaces
        return False
    if request.method == "HEAD" or info.verb not in verbs or info.verb not in RESOURCE_VERBS:
        return False
    named = len(info.parts) > 1
    return info.verb == "watch" or (info.verb in _COLLECTION and not info.subresource) != named

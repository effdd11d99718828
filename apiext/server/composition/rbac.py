"""Composition of mode RBAC: the policy follows the store, default objects exist, and ClusterRoles are aggregated."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, cast

from apiext.api.serving.rbac import aggregation as policy_objects
from apiext.api.serving.rbac.aggregation import ClusterRoleAggregation
from apiext.api.serving.rbac.bootstrap_policy import ensure_policy
from apiext.base.meta.builtin_resources import RBAC_V1
from apiext.resources.registry.observed_rest import observed
from apiext.resources.registry.rest_informer import RestInformer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AsyncExitStack

    from apiext.api.authorization.rbac.policy import RolePolicy
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.api.serving.builtin.endpoints import BuiltinEndpoint
    from apiext.resources.registry.rest import ResourceRest
    from apiext.storage.interface import Item


async def start_rbac(policy: RolePolicy, endpoints: Sequence[BuiltinEndpoint], stack: AsyncExitStack) -> list[BuiltinEndpoint]:
    """Make the policy follow the stored roles and bindings until `stack` closes. Return the endpoints, whose writes it sees at once.

    Raises:
        StatusError, BackendError, StorageError: the store cannot be read or written.
    """
    rbac = RBAC_V1.resources
    scopes: dict[str, Scope] = {}
    following = _Following(policy)
    informers = []
    for resource in rbac:
        endpoint = next(endpoint for endpoint in endpoints if endpoint.resource is resource)
        main = endpoint.scopes[""]
        rest = cast("ResourceRest", main.rest)
        informer = RestInformer(rest, partial(following.put, resource.plural), partial(following.remove, resource.plural))
        scopes[resource.plural] = dataclasses.replace(main, rest=observed(rest, informer))
        informers.append(informer)
    following.aggregation = ClusterRoleAggregation(scopes["clusterroles"])
    for informer in informers:
        await informer.start()
        stack.push_async_callback(informer.close)
    await ensure_policy(scopes)
    await following.aggregation.start()
    stack.push_async_callback(following.aggregation.close)
    return [
        dataclasses.replace(endpoint, scopes={"": scopes[endpoint.resource.plural]}) if endpoint.resource in rbac else endpoint
        for endpoint in endpoints
    ]


class _Following:
    """Passes changes of the store to the policy and to the aggregation of ClusterRoles."""

    aggregation: ClusterRoleAggregation

    def __init__(self, policy: RolePolicy) -> None:
        self._policy = policy

    def put(self, resource: str, item: Item) -> None:
        obj = item.object()
        policy_objects.put(self._policy, resource, obj)
        if resource == "clusterroles":
            self.aggregation.put(obj)

    def remove(self, resource: str, key: str) -> None:
        namespace, _, name = key.rpartition("/")
        policy_objects.remove(self._policy, resource, namespace, name)
        if resource == "clusterroles":
            self.aggregation.remove(name)

"""The controller of the status of policies in a standalone server, which starts with the first policy, and the types that it checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta.gvk import GroupVersionKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AsyncExitStack

    from apiext.api.serving.builtin.endpoints import BuiltinEndpoint
    from apiext.api.serving.policy_status import PolicyStatusController
    from apiext.api.serving.standalone_sources import StandaloneSources
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.gvk import GroupVersionResource
    from apiext.base.workers.pool import WorkerPool
    from apiext.resources.definitions.catalog import Catalog
    from apiext.schema.model import Props

_POLICIES: Final = "validatingadmissionpolicies"


def keep_policy_status(
    sources: StandaloneSources, endpoints: Iterable[BuiltinEndpoint], catalog: Catalog, workers: WorkerPool, stack: AsyncExitStack
) -> None:
    """Write the status of all policies, present and future ones, until `stack` closes."""
    served = {endpoint.resource.resource: endpoint for endpoint in endpoints}
    found = next((endpoint for endpoint in served.values() if endpoint.resource.plural == _POLICIES), None)
    if found is None:
        return
    follower = sources.configurations.followers[_POLICIES]
    status = _LazyController(found, ServedTypes(served, catalog), workers)
    stack.push_async_callback(status.close)
    follower.listeners.append(status.put)
    for policy in follower.objects:
        status.put(policy)


class _LazyController:
    """Imports and starts the controller for the first policy."""

    def __init__(self, endpoint: BuiltinEndpoint, types: ServedTypes, workers: WorkerPool) -> None:
        self._endpoint = endpoint
        self._types = types
        self._workers = workers
        self._made: PolicyStatusController | None = None

    def put(self, policy: Object) -> None:
        """Take a new state of a policy."""
        if self._made is None:
            from apiext.api.serving.policy_status import PolicyStatusController

            self._made = PolicyStatusController(self._endpoint.scopes["status"], self._types, self._workers)
        self._made.put(policy)

    async def close(self) -> None:
        """Stop the controller."""
        if self._made is not None:
            await self._made.close()


class ServedTypes:
    """Implements TypeFinder by the kinds that a server serves."""

    def __init__(self, builtins: dict[GroupVersionResource, BuiltinEndpoint], catalog: Catalog) -> None:
        self._builtins = builtins
        self._catalog = catalog

    async def kinds(self, resource: GroupVersionResource) -> Sequence[GroupVersionKind]:
        """Implement TypeFinder.kinds."""
        builtin = self._builtins.get(resource)
        if builtin is not None:
            return [builtin.resource.kind]
        definition = self._catalog.lookup(resource.group, resource.resource)
        if definition is None or not any(version.name == resource.version for version in definition.served_versions):
            return []
        return [GroupVersionKind(resource.group, resource.version, definition.names.kind)]

    async def schema(self, kind: GroupVersionKind) -> Props | None:
        """Implement TypeFinder.schema."""
        from apiext.api.openapi import custom_resources, naming
        from apiext.api.openapi.builtin_definitions import closure, references
        from apiext.schema.cel.policies.type_checking import without_references

        if any(endpoint.resource.kind == kind for endpoint in self._builtins.values()):
            name = naming.builtin_model_name(kind)
            models = closure([name])
            return without_references(models[name], _finder(models)) if name in models else None
        definition = next((one for one in self._catalog.all() if (one.group, one.names.kind) == (kind.group, kind.kind)), None)
        version = None if definition is None else next((one for one in definition.served_versions if one.name == kind.version), None)
        if definition is None or version is None:
            return None
        own = custom_resources.definitions(definition, version, v2=False)
        model: Props = own[custom_resources.documented(definition, version).model]
        return without_references(model, _finder(closure(references(model))))


def _finder(models: Mapping[str, Props]) -> Callable[[str], Props | None]:
    """Return the function that finds a definition for a reference."""
    from apiext.api.openapi.builtin_definitions import V3_PREFIX

    return lambda reference: models.get(reference.removeprefix(V3_PREFIX))

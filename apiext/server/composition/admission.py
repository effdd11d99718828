"""Admission plugins in their order, and the informers of host objects that they need.

Mirrors apiserver pkg/server/options/admission.go and kube-apiserver's order (kubernetes pkg/kubeapiserver/options/plugins.go).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from apiext.api.admission.chain import Chain
from apiext.api.admission.dynamic import DYNAMIC_PLUGINS, MUTATING_POLICY, MUTATING_WEBHOOK, VALIDATING_WEBHOOK, DynamicAdmission
from apiext.api.admission.lifecycle import NamespaceLifecycle
from apiext.api.admission.metrics import AdmissionStats
from apiext.api.admission.remembered_reviews import RememberedReviews
from apiext.api.admission.sources import AdmissionPhase, AdmissionSources, ConfigurationSource, NamespaceSource, ParamSource
from apiext.api.serving.namespace_controller import namespace_phase
from apiext.api.serving.standalone_sources import StandaloneSources
from apiext.base.meta.builtin_resources import NAMESPACES
from apiext.base.meta.gvk import GroupVersionKind
from apiext.base.scheduling.tasks import run_until_closed
from apiext.resources.registry.builtin.namespace import NAMESPACE_KIND
from apiext.resources.registry.registration_gates import RegistrationGates
from apiext.server.options.admission_configuration import NO_SETTINGS, AdmissionConfiguration, read_admission_configuration
from apiext.server.options.feature_gates import MANIFEST_GATE, MUTATING_POLICY_GATE, VIRTUAL_RESOURCES_GATE
from apiext.server.start_error import StartError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AsyncExitStack
    from pathlib import Path

    from apiext.api.admission.attributes import Admission
    from apiext.api.admission.configuration.index import FollowedObjects
    from apiext.api.admission.sources import ReviewAnswer, ReviewCall
    from apiext.api.admission.webhooks.reviews import HookReviews
    from apiext.api.authorization.authorizer import Verdict
    from apiext.api.serving.builtin.endpoints import BuiltinEndpoint
    from apiext.api.serving.cache import ServingCache
    from apiext.api.serving.policy_status import PolicyStatusController
    from apiext.api.serving.static_manifests.static_source import ReloadStats
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.gvk import GroupVersionResource
    from apiext.base.meta.request import RequestInfo, UserInfo
    from apiext.base.webhook.client import WebhookClient
    from apiext.base.webhook.hook_users import HookUsers
    from apiext.base.workers.pool import WorkerPool
    from apiext.resources.definitions.catalog import Catalog
    from apiext.schema.model import Props
    from apiext.server.composition.access import AccessControl
    from apiext.server.host.admission_sources import HostInformer, HostSources
    from apiext.server.host.clients import HostClients
    from apiext.server.options.options import ServerOptions
    from apiext.storage.factory import StoreFactory

_WEBHOOKS: Final = {AdmissionPhase.MUTATING: MUTATING_WEBHOOK, AdmissionPhase.VALIDATING: VALIDATING_WEBHOOK}


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


class DynamicSources(Protocol):
    """What the plug-ins read."""

    @property
    def configurations(self) -> ConfigurationSource:
        """Return the configurations."""
        ...

    @property
    def namespaces(self) -> NamespaceSource:
        """Return the namespaces."""
        ...

    @property
    def params(self) -> ParamSource:
        """Return the parameters of policies."""
        ...


def open_dynamic_admission(
    sources: DynamicSources,
    options: ServerOptions,
    kubeconfigs: Mapping[str, Path],
    access: AccessControl,
    stats: AdmissionStats,
    stack: AsyncExitStack,
) -> DynamicAdmission:
    """Return the enabled plug-ins. `stack` closes the connections to webhooks.

    `kubeconfigs` have the users that call webhooks, by plug-in.

    Raises:
        StartError: a kubeconfig cannot be read.
    """
    reviews = _OpenedReviews(options, {phase: _users(kubeconfigs[name]) for phase, name in _WEBHOOKS.items() if name in kubeconfigs})
    stack.push_async_callback(reviews.close)
    gated = () if options.feature_gates.enabled(MUTATING_POLICY_GATE) else (MUTATING_POLICY,)
    made = AdmissionSources(
        configurations=sources.configurations,
        namespaces=sources.namespaces,
        params=sources.params,
        reviews=RememberedReviews(reviews),
        access=_Access(access),
        stats=stats,
    )
    return DynamicAdmission(made, {*DYNAMIC_PLUGINS} - options.admission_plugins.disabled - {*gated})


def _users(path: Path) -> HookUsers:
    from apiext.base.webhook.clientcmd.kubeconfig import KubeconfigError
    from apiext.base.webhook.hook_users import load_users

    try:
        return load_users(path)
    except KubeconfigError as error:
        raise StartError(f"--admission-control-config-file: {error}") from error


class _OpenedReviews:
    """Implements ReviewCaller. The clients of webhooks are imported and made for the first call."""

    def __init__(self, options: ServerOptions, users: Mapping[AdmissionPhase, HookUsers]) -> None:
        self._options = options
        self._users = users
        self._made: dict[HookUsers | None, HookReviews] = {}

    async def review(self, calls: Sequence[ReviewCall]) -> Sequence[ReviewAnswer]:
        """Implement ReviewCaller.review. All calls are those of one phase."""
        users = self._users.get(calls[0].hook.phase)
        if users not in self._made:
            from apiext.api.admission.webhooks.reviews import HookReviews
            from apiext.base.webhook.hook_client import HookClients
            from apiext.resources.conversion.factory import read_certificate

            self._made[users] = HookReviews(HookClients(self._options.service_addresses, read_certificate, users))
        return await self._made[users].review(calls)

    async def close(self) -> None:
        """Close the connections to webhooks."""
        for made in self._made.values():
            await made.close()


@dataclass(frozen=True, slots=True)
class _Access:
    """Implements AccessSource by the modes of the server."""

    control: AccessControl

    async def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """Implement AccessSource.authorize."""
        return await self.control.modes.authorize(user, info)


class OpenAdmission(NamedTuple):
    """The plugins of a server, and what they read from the host."""

    chain: Admission
    stats: AdmissionStats
    informers: Sequence[HostInformer] = ()
    """Informers of host objects that the plugins need."""
    host: HostSources | None = None
    """None without a host."""
    standalone: StandaloneSources | None = None
    """None behind a host."""
    manifests: ReloadStats | None = None
    """The loads of static configurations; None without any."""

    @property
    def files(self) -> Mapping[str, FollowedObjects]:
        """Return the followers of static configurations by plural."""
        if self.standalone is not None:
            return self.standalone.configurations.file_followers
        return self.host.files if self.host is not None else {}

    async def follow(self, endpoints: list[BuiltinEndpoint], stack: AsyncExitStack) -> list[BuiltinEndpoint]:
        """Follow the configurations of a standalone server. Return the endpoints, as StandaloneSources.start."""
        return endpoints if self.standalone is None else await self.standalone.start(endpoints, stack)

    def serve_resources(
        self, endpoints: Sequence[BuiltinEndpoint], catalog: Catalog, cache: ServingCache, workers: WorkerPool, stack: AsyncExitStack
    ) -> None:
        """Set the resources of a standalone server. Policies may use them as parameters, and are checked against their types."""
        if self.standalone is not None:
            self.standalone.params.serve(endpoints, catalog, cache)
            keep_policy_status(self.standalone, endpoints, catalog, workers, stack)


async def open_admission(
    options: ServerOptions, url: str, stores: StoreFactory, clients: HostClients, access: AccessControl, stack: AsyncExitStack
) -> OpenAdmission:
    """Return the enabled plugins of the server at `url`; `stack` stops their informers.

    Behind a host, the plugins use the host's namespaces, quotas, configurations and policies, else those in `stores`.

    Raises:
        StartError: the host's address or credentials, the plugins' configuration, or a static manifest are invalid.
    """
    parts = _Parts(options, _settings(options), access, stack)
    if options.host is not None:
        opened = _host_admission(parts, clients.client(options.host))
    else:
        phase, sources = (
            partial(namespace_phase, NAMESPACE_KIND.rest(stores.store(NAMESPACES.stored_resource))),
            StandaloneSources(stores, _gates(options)),
        )
        chain = parts.chain([NamespaceLifecycle(phase), *_param_access(sources, access)], sources)
        opened = OpenAdmission(chain, parts.stats, standalone=sources)
    enabled = {plugin: folder for plugin, folder in parts.settings.manifests.items() if parts.is_enabled(plugin)}
    if not enabled:
        return opened
    from apiext.server.composition.static_manifests import load_static_manifests

    return opened._replace(manifests=await load_static_manifests(enabled, opened.files, url, stack))


def _gates(options: ServerOptions) -> RegistrationGates:
    enabled = options.feature_gates.enabled
    return RegistrationGates(enabled(MANIFEST_GATE), enabled(VIRTUAL_RESOURCES_GATE))


def _settings(options: ServerOptions) -> AdmissionConfiguration:
    if options.admission_config_file is None:
        return NO_SETTINGS
    allowed = options.feature_gates.enabled(MANIFEST_GATE)
    return read_admission_configuration(options.admission_config_file, static_manifests=allowed)


def _param_access(sources: StandaloneSources, access: AccessControl) -> list[Admission]:
    """Return the check of references to parameters, if there are users that may not read all."""
    if access.policy is None and access.modes.delegate is None:
        return []
    from apiext.api.admission.param_access import ParamAccess

    return [ParamAccess(sources, access.modes.authorize)]


@dataclass(frozen=True, slots=True)
class _Parts:
    """What the plugins of both kinds of servers have in common."""

    options: ServerOptions
    settings: AdmissionConfiguration
    access: AccessControl
    stack: AsyncExitStack
    stats: AdmissionStats = field(default_factory=AdmissionStats)

    def is_enabled(self, name: str) -> bool:
        """Return whether a plugin is enabled that is enabled by default."""
        return name not in self.options.admission_plugins.disabled

    def chain(self, first: Sequence[Admission], sources: DynamicSources, last: Sequence[Admission] = ()) -> Chain:
        """Return the chain of the enabled plugins among `first`, those of webhooks and policies, and `last`."""
        dynamic = open_dynamic_admission(sources, self.options, self.settings.kubeconfigs, self.access, self.stats, self.stack)
        plugins = [*first, *dynamic.plugins, *self._escalation(), *last]
        return Chain([plugin for plugin in plugins if self.is_enabled(plugin.name)], dynamic, self.stats)

    def _escalation(self) -> list[Admission]:
        """Return the check against escalation of mode RBAC, which sees what the others have made of an object."""
        if self.access.policy is None:
            return []
        from apiext.api.admission.escalation import EscalationCheck

        return [EscalationCheck(self.access.policy, self.access.modes.authorize)]


def _host_admission(parts: _Parts, client: WebhookClient) -> OpenAdmission:
    # Imported here, since most servers have no host.
    from apiext.api.admission.resourcequota import access
    from apiext.api.admission.resourcequota.evaluator import Evaluator, ResourceQuota
    from apiext.base.webhook.reflector import Reflector
    from apiext.server.host.admission_sources import open_host_sources

    stack = parts.stack
    sources = open_host_sources(client, parts.options.admission_plugins.disabled, stack)
    informers: list[HostInformer] = [*sources.informers]
    last: list[Admission] = []
    if parts.is_enabled(ResourceQuota.name):
        quotas = access.QuotaAccess(client.ask)
        run_until_closed(stack, Reflector(client, access.COLLECTION, quotas).run())
        evaluator = Evaluator(quotas)
        stack.push_async_callback(evaluator.close)
        last.append(ResourceQuota(evaluator))
        informers.append(quotas)
    chain = parts.chain([NamespaceLifecycle(sources.namespaces)], sources, last)
    return OpenAdmission(chain, parts.stats, informers, sources)

"""What admission plug-ins read from the host: configurations, namespaces and parameters of policies."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from apiext.api.admission.configuration.index import ConfigurationIndex
from apiext.api.admission.host_lookup import ask_for
from apiext.api.admission.lifecycle import NamespaceLifecycle
from apiext.api.admission.namespace_informer import NamespaceInformer
from apiext.api.admission.packed_objects import reduce, strip
from apiext.api.admission.param_informer import READY_WAIT, ParamInformer
from apiext.api.admission.typed_kinds import is_typed
from apiext.base.meta import errors
from apiext.base.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS
from apiext.base.meta.host_annotations import MANAGED_BY, MANAGER, POLICY_PREFIX, SERVICE
from apiext.base.scheduling.tasks import SharedWork, end_tasks, run_until_closed
from apiext.server.host.discovery import HostDiscovery
from apiext.server.host.served_reflector import ServedReflector
from apiext.server.routes.healthz import UnhealthyError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from contextlib import AsyncExitStack

    from apiext.api.admission.configuration.index import FollowedObjects
    from apiext.api.admission.sources import AdmissionPhase, ConfigurationSource, HookEntry, ParamQuery, PolicyEntry, RequestPlace
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.webhook.client import WebhookClient
    from apiext.base.webhook.reflector import Follower, Found
    from apiext.server.host.discovery import HostResource

_DEFINITIONS: Final = CUSTOM_RESOURCE_DEFINITIONS.resource.group
_PLUGINS: Final = {
    "MutatingAdmissionPolicy": ("mutatingadmissionpolicies", "mutatingadmissionpolicybindings"),
    "MutatingAdmissionWebhook": ("mutatingwebhookconfigurations",),
    "ValidatingAdmissionPolicy": ("validatingadmissionpolicies", "validatingadmissionpolicybindings"),
    "ValidatingAdmissionWebhook": ("validatingwebhookconfigurations",),
}
"""The resources that configure each plug-in."""


_GROUP: Final = "admissionregistration.k8s.io"
_VERSIONS: Final = ("v1", "v1beta1", "v1alpha1")
"""Versions in which hosts serve policies, the newest first; their fields are the same. An older host may lack some kinds."""
POLICIES: Final = {
    "validatingadmissionpolicies": "validatingadmissionpolicybindings",
    "mutatingadmissionpolicies": "mutatingadmissionpolicybindings",
}
"""The resources of policies, each with that of its bindings."""
_MUTATING: Final = "mutatingwebhookconfigurations"
RESOURCES: Final = ("validatingwebhookconfigurations", _MUTATING, *POLICIES, *POLICIES.values())


_LIVE_SECONDS: Final = 1.0
"""Timeout of the live lookup of an object that the informer does not have (upstream getParamDirectly)."""
_MAX_PAUSE: Final = 5.0
"""Seconds between searches for a kind that the host does not serve; upstream asks every 30 s."""


class ParamKind(NamedTuple):
    """The kind of a policy's parameters."""

    api_version: str
    kind: str

    @property
    def is_typed(self) -> bool:
        """Return whether client-go has a Go type for the kind."""
        return is_typed(self.api_version)


class _Followed:
    """A kind with its informer and the task that feeds it."""

    def __init__(self, client: WebhookClient, discovery: HostDiscovery, kind: ParamKind, ready_wait: float) -> None:
        self.informer = ParamInformer(typed=kind.is_typed, ready_wait=ready_wait)
        self.reflector = ServedReflector(
            client,
            partial(discovery.of_kind, *kind),
            self.informer,
            what=f"{kind.api_version}, Kind={kind.kind}",
            reduce=partial(reduce, typed=kind.is_typed),
            max_pause=_MAX_PAUSE,
        )
        self.task = asyncio.create_task(self.reflector.run(), name=f"params-{kind.kind}")


class HostParams:
    """The ParamSource of a server behind a host."""

    def __init__(self, client: WebhookClient, discovery: HostDiscovery, *, ready_wait: float = READY_WAIT) -> None:
        self._ready_wait = ready_wait
        self._client = client
        self._discovery = discovery
        self._followed: dict[ParamKind, _Followed] = {}
        self._lookups: SharedWork[Sequence[Object]] = SharedWork()

    def use(self, kinds: Collection[ParamKind]) -> None:
        """Follow exactly these kinds: those of bound policies."""
        for kind in self._followed.keys() - set(kinds):
            self._followed.pop(kind).task.cancel()
        for kind in kinds:
            self._informer_of(kind)

    @property
    def unlisted(self) -> list[str]:
        """The kinds that are followed but have never been listed."""
        return sorted(f"{kind.kind} of {kind.api_version}" for kind, one in self._followed.items() if not one.informer.synced)

    async def close(self) -> None:
        """Follow no kind any more."""
        followed, self._followed = self._followed, {}
        await end_tasks(*(one.task for one in followed.values()))

    async def is_namespaced(self, api_version: str, kind: str) -> bool | None:
        """Return the scope of a kind, None for one that the host does not serve.

        Raises:
            StatusError: discovery failed.
        """
        resource = await self._resource(ParamKind(api_version, kind))
        return None if resource is None else resource.namespaced

    async def params(self, query: ParamQuery) -> Sequence[Object]:
        """Return objects by namespace and name. Ask the host for a named object that the informer does not have.

        Raises:
            NotReadyError: they are not listed within a second.
            StatusError: the live lookup failed.
        """
        kind = ParamKind(query.api_version, query.kind)
        informer = self._informer_of(kind).informer
        await informer.wait_until_listed()
        if not query.name:
            return await informer.select(query.namespace, query.selector)
        found = informer.get(query.namespace, query.name)
        return await self._live(kind, query) if found is None else [found]

    def _informer_of(self, kind: ParamKind) -> _Followed:
        followed = self._followed.get(kind)
        if followed is None:
            followed = self._followed[kind] = _Followed(self._client, self._discovery, kind, self._ready_wait)
        return followed

    async def _resource(self, kind: ParamKind) -> HostResource | None:
        reflector = self._informer_of(kind).reflector
        if reflector.resource is not None:
            return reflector.resource
        resource = await self._discovery.of_kind(*kind)
        if resource is not None:
            reflector.look_again()
        return resource

    async def _live(self, kind: ParamKind, query: ParamQuery) -> Sequence[Object]:
        """Return the object in the host's store, nothing for a missing one. Writes at the same time share a lookup."""
        resource = await self._resource(kind)
        if resource is None:
            return []
        path = resource.path(query.namespace, query.name)
        return await self._lookups.run(path, partial(self._fetch, path, typed=kind.is_typed))

    async def _fetch(self, path: str, *, typed: bool) -> Sequence[Object]:
        try:
            async with asyncio.timeout(_LIVE_SECONDS):
                return [strip(await ask_for(self._client.ask, path), typed=typed)]
        except TimeoutError as error:
            raise errors.unknown(f'Get "{path}": context deadline exceeded') from error
        except errors.StatusError as error:
            if error.code == 404:
                return []
            raise


def follow_admission(
    client: WebhookClient,
    discovery: HostDiscovery,
    followers: Mapping[str, Follower],
    use_params: Callable[[Collection[ParamKind]], None],
    stack: AsyncExitStack,
) -> None:
    """Pass the objects of the host to the follower of each resource until `stack` closes. Tell `use_params` the kinds of parameters.

    A kind that the host does not serve has no objects. A follower whose objects the host refuses to list gets no list.
    """
    used = UsedParams(use_params)
    for plural, follower in followers.items():
        wrapped = used.following(plural, follower)
        reflector = ServedReflector(
            client, partial(_find, discovery, plural), wrapped, what=plural, absent=partial(wrapped.replaced, ()), reduce=strip
        )
        run_until_closed(stack, reflector.run())


async def _find(discovery: HostDiscovery, plural: str) -> HostResource | None:
    for version in _VERSIONS:
        if found := await discovery.named(f"{_GROUP}/{version}", plural):
            return found
    return None


def is_freeze(found: Mapping[str, Any]) -> bool:
    """Return whether a policy or webhook makes the host's own copies of a group read-only: the operator's, for the host alone."""
    metadata = found.get("metadata") or {}
    is_ours = (metadata.get("labels") or {}).get(MANAGED_BY) == MANAGER and SERVICE in (metadata.get("annotations") or {})
    return is_ours and str(metadata.get("name", "")).startswith(POLICY_PREFIX)


class UsedParams:
    """Keeps the kinds of parameters that bound policies use."""

    def __init__(self, use: Callable[[Collection[ParamKind]], None]) -> None:
        self._use = use
        self.kinds: dict[str, dict[str, ParamKind]] = {plural: {} for plural in POLICIES}
        """By resource of policies and name."""
        self.bound: dict[str, dict[str, str]] = {plural: {} for plural in POLICIES}
        """Names of policies by their resource and the name of a binding."""

    def following(self, plural: str, follower: Follower) -> Follower:
        """Return a follower that passes on objects and keeps the kinds in them."""
        if plural in POLICIES:
            return _Passing(follower, self.kinds[plural], _param_kind, self.update, hidden=is_freeze)
        if plural == _MUTATING:
            return _Passing(follower, {}, lambda _found: None, self.update, hidden=is_freeze)
        bound = next((self.bound[policies] for policies, bindings in POLICIES.items() if bindings == plural), None)
        return follower if bound is None else _Passing(follower, bound, _policy_name, self.update)

    def update(self) -> None:
        """Report the kinds that are used now."""
        used = {kind for plural, kinds in self.kinds.items() for name, kind in kinds.items() if name in set(self.bound[plural].values())}
        self._use(used)


class _Passing:
    """Passes objects on, except hidden ones, and keeps one fact about each."""

    def __init__(
        self,
        follower: Follower,
        facts: dict[str, Any],
        fact: Callable[[Found], Any],
        update: Callable[[], None],
        *,
        hidden: Callable[[Found], bool] = lambda _found: False,
    ) -> None:
        self._follower = follower
        self._facts = facts
        self._fact = fact
        self._update = update
        self._hidden = hidden

    def replaced(self, objects: Sequence[Found]) -> None:
        """Replace all objects."""
        shown = [found for found in objects if not self._hidden(found)]
        self._follower.replaced(shown)
        self._facts.clear()
        for found in shown:
            self._keep(found)
        self._update()

    def changed(self, found: Found) -> None:
        """Add or update an object, remove one that is hidden now."""
        if self._hidden(found):
            self.deleted(found)
            return
        self._follower.changed(found)
        self._keep(found)
        self._update()

    def deleted(self, found: Found) -> None:
        """Remove an object."""
        self._follower.deleted(found)
        self._facts.pop(_name(found), None)
        self._update()

    def _keep(self, found: Found) -> None:
        fact = self._fact(found)
        if fact is None:
            self._facts.pop(_name(found), None)
        else:
            self._facts[_name(found)] = fact


def _name(found: Found) -> str:
    return str((found.get("metadata") or {}).get("name", ""))


def _param_kind(policy: Found) -> ParamKind | None:
    kind = (policy.get("spec") or {}).get("paramKind")
    return None if kind is None else ParamKind(str(kind.get("apiVersion", "")), str(kind.get("kind", "")))


def _policy_name(binding: Found) -> str:
    return str((binding.get("spec") or {}).get("policyName", ""))


class HostInformer(Protocol):
    """An informer whose first list the server needs to be ready."""

    @property
    def type_name(self) -> str:
        """The Go type of its objects, for /readyz."""
        ...

    @property
    def synced(self) -> bool:
        """Whether the first list is complete."""
        ...


class HostConfigurations:
    """The ConfigurationSource of a server behind a host: the host's configurations, for custom resources.

    They do not apply to definitions: the host has admitted those that apiext mirrors, and a webhook that refused a mirror would keep its
    group from moving back.
    """

    def __init__(self, index: ConfigurationSource) -> None:
        self._index = index

    def phases(self, place: RequestPlace) -> Collection[AdmissionPhase]:
        """Implement ConfigurationSource.phases."""
        return () if place.group == _DEFINITIONS else self._index.phases(place)

    def is_used(self, phase: AdmissionPhase, *, webhooks: bool) -> bool:
        """Implement ConfigurationSource.is_used."""
        return self._index.is_used(phase, webhooks=webhooks)

    async def webhooks(self, phase: AdmissionPhase, place: RequestPlace) -> Sequence[HookEntry]:
        """Implement ConfigurationSource.webhooks."""
        return () if place.group == _DEFINITIONS else await self._index.webhooks(phase, place)

    async def policies(self, phase: AdmissionPhase, place: RequestPlace) -> Sequence[PolicyEntry]:
        """Implement ConfigurationSource.policies."""
        return () if place.group == _DEFINITIONS else await self._index.policies(phase, place)


@dataclass(frozen=True, slots=True)
class HostSources:
    """The sources of a server behind a host."""

    configurations: ConfigurationSource
    namespaces: NamespaceInformer
    params: HostParams
    guards: Sequence[HostInformer]
    """The informers of configurations."""
    informers: Sequence[HostInformer] = ()
    """The informers that a write needs; those of parameters concern single policies."""
    files: Mapping[str, FollowedObjects] = field(default_factory=dict)
    """The followers of static configurations by plural."""

    def check(self) -> None:
        """Check that all configurations of the host are known.

        Raises:
            UnhealthyError: some have never been listed. All writes are refused until they are.
        """
        missing = [informer.type_name for informer in self.guards if not informer.synced]
        if missing:
            raise UnhealthyError(f"the host's configurations have not been listed: [{' '.join(missing)}]")

    def remarks(self) -> list[str]:
        """Return the kinds of parameters that have never been listed: writes that need them are refused."""
        missing = self.params.unlisted
        return [f"parameters not listed: {', '.join(missing)}"] if missing else []


def open_host_sources(client: WebhookClient, disabled: Collection[str], stack: AsyncExitStack) -> HostSources:
    """Follow what the plug-ins that are not disabled need, until `stack` closes: the host's namespaces, and their configurations."""
    namespaces = NamespaceInformer(client.ask)
    discovery = HostDiscovery(client.ask)
    informers: list[HostInformer] = []
    if not {NamespaceLifecycle.name, *_PLUGINS}.issubset(disabled):
        informers.append(namespaces)
        find = partial(discovery.named, "v1", "namespaces")
        run_until_closed(stack, ServedReflector(client, find, namespaces, what="namespaces", reduce=reduce).run())
    params = HostParams(client, discovery)
    stack.push_async_callback(params.close)
    index = ConfigurationIndex()
    wanted = {plural for plugin, plurals in _PLUGINS.items() if plugin not in disabled for plural in plurals}
    followers = {plural: follower for plural, follower in index.followers.items() if plural in wanted}
    follow_admission(client, discovery, followers, params.use, stack)
    guards = list(followers.values())
    return HostSources(HostConfigurations(index), namespaces, params, guards, [*informers, *guards], index.file_followers)

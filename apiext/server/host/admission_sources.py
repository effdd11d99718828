"""What admission plug-ins read from the host: configurations, namespaces and parameters of policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from apiext.api.admission.configuration.index import ConfigurationIndex
from apiext.api.admission.lifecycle import NamespaceLifecycle
from apiext.api.admission.namespace_informer import NamespaceInformer
from apiext.api.admission.packed_objects import reduce
from apiext.base.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS
from apiext.base.scheduling.tasks import run_until_closed
from apiext.server.host.admission_objects import follow_admission
from apiext.server.host.discovery import HostDiscovery
from apiext.server.host.params import HostParams
from apiext.server.host.served_reflector import ServedReflector
from apiext.server.routes.healthz import UnhealthyError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from contextlib import AsyncExitStack

    from apiext.api.admission.configuration.followed import FollowedObjects
    from apiext.api.admission.sources import AdmissionPhase, ConfigurationSource, HookEntry, PolicyEntry, RequestPlace
    from apiext.base.webhook.client import WebhookClient

_DEFINITIONS: Final = CUSTOM_RESOURCE_DEFINITIONS.resource.group
_PLUGINS: Final = {
    "MutatingAdmissionPolicy": ("mutatingadmissionpolicies", "mutatingadmissionpolicybindings"),
    "MutatingAdmissionWebhook": ("mutatingwebhookconfigurations",),
    "ValidatingAdmissionPolicy": ("validatingadmissionpolicies", "validatingadmissionpolicybindings"),
    "ValidatingAdmissionWebhook": ("validatingwebhookconfigurations",),
}
"""The resources that configure each plug-in."""


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

"""The plug-ins of webhooks and policies, over the sources of a standalone server or of a host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from apiext.api.admission.dynamic import DYNAMIC_PLUGINS, MUTATING_POLICY, MUTATING_WEBHOOK, VALIDATING_WEBHOOK, DynamicAdmission
from apiext.api.admission.remembered_reviews import RememberedReviews
from apiext.api.admission.sources import AdmissionPhase, AdmissionSources, ConfigurationSource, NamespaceSource, ParamSource
from apiext.server.options.feature_gates import MUTATING_POLICY_GATE
from apiext.server.start_error import StartError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AsyncExitStack
    from pathlib import Path

    from apiext.api.admission.metrics import AdmissionStats
    from apiext.api.admission.sources import ReviewAnswer, ReviewCall
    from apiext.api.admission.webhooks.reviews import HookReviews
    from apiext.api.authorization.authorizer import Verdict
    from apiext.base.meta.request import RequestInfo, UserInfo
    from apiext.base.webhook.hook_users import HookUsers
    from apiext.server.composition.access import AccessControl
    from apiext.server.options.options import ServerOptions


_WEBHOOKS: Final = {AdmissionPhase.MUTATING: MUTATING_WEBHOOK, AdmissionPhase.VALIDATING: VALIDATING_WEBHOOK}


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

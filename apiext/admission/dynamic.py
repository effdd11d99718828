"""The plug-ins of webhooks and policies, which are imported when the first of their configurations exists.

Until then each of them costs a lookup in the index of configurations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.admission.attributes import Admission, Attributes, not_ready
from apiext.admission.sources import AdmissionPhase, NotReadyError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from apiext.admission.sources import AdmissionSources, RequestPlace

MUTATING_POLICY: Final = "MutatingAdmissionPolicy"
MUTATING_WEBHOOK: Final = "MutatingAdmissionWebhook"
VALIDATING_POLICY: Final = "ValidatingAdmissionPolicy"
VALIDATING_WEBHOOK: Final = "ValidatingAdmissionWebhook"


class DynamicAdmission:
    """Implements DynamicPart: the enabled plug-ins in kube-apiserver's order."""

    def __init__(self, sources: AdmissionSources, enabled: Collection[str]) -> None:
        self.sources = sources
        self.plugins: tuple[_LazyPlugin, ...] = tuple(_PLUGINS[name][0](name, sources) for name in DYNAMIC_PLUGINS if name in enabled)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the enabled plug-ins."""
        return tuple(plugin.name for plugin in self.plugins)

    def may_apply(self, place: RequestPlace) -> bool:
        """Implement DynamicPart.may_apply."""
        return bool(self.phases(place))

    def phases(self, place: RequestPlace) -> Collection[AdmissionPhase]:
        """Return the phases in which a plug-in may apply to requests at a place."""
        return self.sources.configurations.phases(place) if self.plugins else ()


class _LazyPlugin(Admission):
    """A plug-in that is made when a configuration first applies to a write."""

    phase: AdmissionPhase

    def __init__(self, name: str, sources: AdmissionSources) -> None:
        self.name = name
        self._sources = sources
        self._is_webhook = name in {MUTATING_WEBHOOK, VALIDATING_WEBHOOK}
        self._made: Admission | None = None

    async def _plugin(self, attributes: Attributes) -> Admission | None:
        """Return the plug-in, None before a configuration may match a write. Raise StatusError (403) if they are unknown."""
        if self._made is None and await self._applies(attributes):
            self._made = _PLUGINS[self.name][1](self._sources)
        return self._made

    async def _applies(self, attributes: Attributes) -> bool:
        configurations = self._sources.configurations
        find = configurations.webhooks if self._is_webhook else configurations.policies
        try:
            return bool(await find(self.phase, attributes.place))
        except NotReadyError as error:
            raise not_ready(attributes) from error


class _LazyMutation(_LazyPlugin):
    phase = AdmissionPhase.MUTATING

    async def admit(self, attributes: Attributes) -> None:
        """Implement Admission.admit."""
        plugin = await self._plugin(attributes)
        if plugin is not None:
            await plugin.admit(attributes)


class _LazyValidation(_LazyPlugin):
    phase = AdmissionPhase.VALIDATING

    async def validate(self, attributes: Attributes) -> None:
        """Implement Admission.validate."""
        plugin = await self._plugin(attributes)
        if plugin is not None:
            await plugin.validate(attributes)


def _mutating_policies(sources: AdmissionSources) -> Admission:
    from apiext.admission.policy.mutating import MutatingAdmissionPolicies

    return MutatingAdmissionPolicies(sources)


def _validating_policies(sources: AdmissionSources) -> Admission:
    from apiext.admission.policy.validating import ValidatingAdmissionPolicies

    return ValidatingAdmissionPolicies(sources)


def _mutating_webhooks(sources: AdmissionSources) -> Admission:
    from apiext.admission.webhooks.mutating import MutatingWebhooks

    return MutatingWebhooks(sources)


def _validating_webhooks(sources: AdmissionSources) -> Admission:
    from apiext.admission.webhooks.validating import ValidatingWebhooks

    return ValidatingWebhooks(sources)


_PLUGINS: Final[dict[str, tuple[type[_LazyPlugin], Callable[[AdmissionSources], Admission]]]] = {
    MUTATING_POLICY: (_LazyMutation, _mutating_policies),
    MUTATING_WEBHOOK: (_LazyMutation, _mutating_webhooks),
    VALIDATING_POLICY: (_LazyValidation, _validating_policies),
    VALIDATING_WEBHOOK: (_LazyValidation, _validating_webhooks),
}
DYNAMIC_PLUGINS: Final = tuple(_PLUGINS)
"""The names of the plug-ins in kube-apiserver's order."""

"""The plug-ins of webhooks and policies, which are imported when the first of their configurations exists.

Until then each of them costs a lookup in the index of configurations.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

from apiext.api.admission.attributes import Admission, Attributes, not_ready
from apiext.api.admission.sources import AdmissionPhase, NotReadyError
from apiext.base.scheduling.side_thread import aside

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from apiext.api.admission.sources import AdmissionSources, RequestPlace

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

    def import_used(self) -> None:
        """Implement DynamicPart.import_used."""
        for plugin in self.plugins:
            if plugin.is_used:
                plugin.import_class()

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
        self._class: Callable[[AdmissionSources], Admission] | None = None
        """The plug-in's class, once its module is completely imported: one that a thread imports is in `sys.modules` before."""
        self._made: Admission | None = None

    async def _plugin(self, attributes: Attributes) -> Admission | None:
        """Return the plug-in, None before a configuration may match a write. Raise StatusError (403) if they are unknown."""
        if self._made is None and await self._applies(attributes):
            if self._class is None:
                # takes some 10 ms
                await aside(self.import_class)
            self._make()
        return self._made

    def _make(self) -> None:
        """Make the plug-in, unless another write has done so meanwhile."""
        if self._made is None and self._class is not None:
            self._made = self._class(self._sources)

    def import_class(self) -> None:
        """Import the plug-in."""
        _, module, name = _PLUGINS[self.name]
        self._class = getattr(importlib.import_module(module), name)

    @property
    def is_used(self) -> bool:
        """Return whether the plug-in has configurations, as far as is known."""
        return self._sources.configurations.is_used(self.phase, webhooks=self._is_webhook)

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


_PLUGINS: Final[dict[str, tuple[type[_LazyPlugin], str, str]]] = {
    MUTATING_POLICY: (_LazyMutation, "apiext.api.admission.policy.mutating", "MutatingAdmissionPolicies"),
    MUTATING_WEBHOOK: (_LazyMutation, "apiext.api.admission.webhooks.mutating", "MutatingWebhooks"),
    VALIDATING_POLICY: (_LazyValidation, "apiext.api.admission.policy.validating", "ValidatingAdmissionPolicies"),
    VALIDATING_WEBHOOK: (_LazyValidation, "apiext.api.admission.webhooks.validating", "ValidatingWebhooks"),
}
"""What stands for a plug-in, its module and its class."""
DYNAMIC_PLUGINS: Final = tuple(_PLUGINS)
"""The names of the plug-ins in kube-apiserver's order."""

"""Follows the webhook configurations and admission policies of the host."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from apiext.api.admission.packed_objects import strip
from apiext.base.meta.host_annotations import MANAGED_BY, MANAGER, POLICY_PREFIX, SERVICE
from apiext.base.scheduling.tasks import run_until_closed
from apiext.server.host.params import ParamKind
from apiext.server.host.served_reflector import ServedReflector

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from contextlib import AsyncExitStack

    from apiext.base.webhook.client import WebhookClient
    from apiext.base.webhook.reflector import Follower, Found
    from apiext.server.host.discovery import HostDiscovery, HostResource

_GROUP: Final = "admissionregistration.k8s.io"
_VERSIONS: Final = ("v1", "v1beta1", "v1alpha1")
"""Versions in which hosts serve policies, the newest first; their fields are the same. An older host may lack some kinds."""
POLICIES: Final = {
    "validatingadmissionpolicies": "validatingadmissionpolicybindings",
    "mutatingadmissionpolicies": "mutatingadmissionpolicybindings",
}
"""The resources of policies, each with that of its bindings."""
RESOURCES: Final = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations", *POLICIES, *POLICIES.values())


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


def is_freeze_policy(found: Mapping[str, Any]) -> bool:
    """Return whether a policy makes the host's own copies of a group read-only: the operator's, which concerns the host alone."""
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
            return _Passing(follower, self.kinds[plural], _param_kind, self.update, hidden=is_freeze_policy)
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

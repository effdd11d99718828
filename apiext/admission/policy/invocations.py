"""Selects the bindings of policies that apply to a write (apiserver pkg/admission/plugin/policy/generic)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from apiext.admission.attributes import not_ready
from apiext.admission.expression_runner import ExpressionRunner
from apiext.admission.matching.candidates import candidates
from apiext.admission.matching.exemptions import VIRTUAL_RESOURCES
from apiext.admission.matching.matcher import Matcher, labels_of_objects, match_objects, selects
from apiext.admission.policy.params import ConfigurationFaultError, collect_params, param_scope
from apiext.admission.sources import NotReadyError
from apiext.meta import errors

if TYPE_CHECKING:
    from apiext.admission.attributes import Attributes
    from apiext.admission.matching.criteria import MatchCriteria
    from apiext.admission.object_interfaces import EquivalentResource
    from apiext.admission.policy.bound_policy import BoundPolicies, BoundPolicy, PolicyBinding
    from apiext.admission.sources import AdmissionPhase, AdmissionSources
    from apiext.meta.encoding.json_codec import Object

Compiled = TypeVar("Compiled")

_NO_PARAMS: Final = (None,)
"""Of a policy or binding without parameters: it is evaluated once."""


@dataclass(slots=True, eq=False)
class BindingMatch(Generic[Compiled]):
    """A binding that applies to a write."""

    policy: BoundPolicy[Compiled]
    binding: PolicyBinding
    compiled: Compiled
    matched: EquivalentResource
    """The resource and kind of the policy's rule."""
    params: Sequence[Object | None]
    """Evaluate the policy once for each."""


@dataclass(frozen=True, slots=True, eq=False)
class PolicyFault:
    """A policy or a binding that matches, or may match, and cannot be applied."""

    policy: BoundPolicy[Any]
    binding: PolicyBinding | None
    """None if the fault is the policy's."""
    message: str


class PolicySelection(Generic[Compiled]):
    """Finds the bindings of a phase that apply to a write."""

    def __init__(self, sources: AdmissionSources, phase: AdmissionPhase, policies: BoundPolicies[Compiled]) -> None:
        self._sources = sources
        self._phase = phase
        self._policies = policies
        self._matcher = Matcher(sources.namespaces)
        self.runner = ExpressionRunner(sources.access.authorize)
        """Evaluates the expressions of the policies."""

    async def candidates(self, attributes: Attributes) -> Sequence[BoundPolicy[Compiled]]:
        """Return the policies with a rule for the place of a write.

        Raises:
            StatusError: 403, the policies have not been listed in time.
        """
        if attributes.resource.group_resource in VIRTUAL_RESOURCES:
            return []
        entries = await candidates(self._sources.configurations.policies, self._phase, attributes)
        return list(map(self._policies.bound, entries))

    async def selected(self, attributes: Attributes) -> Sequence[BoundPolicy[Compiled]]:
        """Return the candidates whose selectors match the labels of a write's objects, which stay as they are.

        Raises:
            StatusError: as `candidates`.
        """
        labels = labels_of_objects(attributes.new, attributes.old)
        return [policy for policy in await self.candidates(attributes) if selects(policy.criteria.object_selector, labels)]

    async def matches(self, policy: BoundPolicy[Compiled], attributes: Attributes) -> Sequence[BindingMatch[Compiled] | PolicyFault]:
        """Return the bindings of a policy that apply to a write, and faults, in the order of the bindings' names.

        Raises:
            StatusError: 403, namespaces have not been listed in time.
        """
        kind = policy.param_kind
        try:
            matched = match_objects(policy.criteria, attributes, attributes.new)
            if matched is not None and policy.criteria.needs_namespace:
                matched = await self._match(policy.criteria, attributes)
            if matched is None:
                return ()
            namespaced = kind is not None and await param_scope(self._sources.params, kind)
        except ConfigurationFaultError as error:
            return (PolicyFault(policy, None, f"failed to configure policy: {error}"),)
        compiled = await self._policies.compiled(policy)
        found: list[BindingMatch[Compiled] | PolicyFault] = []
        for binding in policy.bindings:
            try:
                if binding.criteria is not None and await self._match(binding.criteria, attributes) is None:
                    continue
                reference = binding.spec.get("paramRef")
                params: Sequence[Object | None] = _NO_PARAMS
                if kind is not None and reference is not None:
                    params = await collect_params(self._sources.params, kind, reference, attributes.namespace, namespaced=namespaced)
            except ConfigurationFaultError as error:
                found.append(PolicyFault(policy, binding, f"failed to configure binding: {error}"))
            else:
                found.append(BindingMatch(policy, binding, compiled, matched, params))
        return found

    async def _match(self, criteria: MatchCriteria, attributes: Attributes) -> EquivalentResource | None:
        """Return what criteria match. Raises ConfigurationFaultError, and StatusError if namespaces are not known yet."""
        try:
            return await self._matcher.match(criteria, attributes, attributes.new)
        except NotReadyError as error:
            raise not_ready(attributes) from error
        except errors.StatusError as error:
            raise ConfigurationFaultError(str(error)) from error

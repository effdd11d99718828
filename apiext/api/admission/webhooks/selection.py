"""Selects the webhooks that a write concerns (apiserver plugin/webhook/generic/webhook.go, plugin/webhook/matchconditions)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.api.admission.attributes import not_ready
from apiext.api.admission.matching.candidates import candidates
from apiext.api.admission.matching.matcher import Matcher
from apiext.api.admission.metrics import ADMIT, VALIDATE
from apiext.api.admission.sources import AdmissionPhase, NotReadyError
from apiext.api.admission.webhooks.invocation import CompiledHooks, HookInvocation
from apiext.base.meta import errors

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from apiext.api.admission.attributes import Attributes
    from apiext.api.admission.expression_runner import ExpressionRunner
    from apiext.api.admission.sources import AdmissionSources, HookEntry
    from apiext.api.admission.webhooks.versioned_objects import VersionedObjects
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.gvk import GroupVersionKind
    from apiext.schema.cel.policies.match_conditions import ConditionsResult

_METRIC_TYPES: Final = {AdmissionPhase.MUTATING: (ADMIT, ADMIT), AdmissionPhase.VALIDATING: ("validating", VALIDATE)}
"""The types of conditions and of exclusions in metrics."""


class HookSelection:
    """Finds the webhooks of a phase that a write concerns."""

    def __init__(self, sources: AdmissionSources, phase: AdmissionPhase) -> None:
        self._sources = sources
        self._phase = phase
        self._matcher = Matcher(sources.namespaces)
        self._compiled = CompiledHooks()
        self._runner: ExpressionRunner | None = None

    async def candidates(self, attributes: Attributes) -> Sequence[HookEntry]:
        """Return the webhooks with a rule for the place of a write.

        Raises:
            StatusError: 403, the configurations have not been listed in time.
        """
        return await candidates(self._sources.configurations.webhooks, self._phase, attributes)

    def may_fail(self, entry: HookEntry) -> bool:
        """Return whether `invocation` may raise an error for a webhook, or count something."""
        hook = self._compiled.get(entry)
        return hook.has_conditions or hook.criteria.needs_namespace

    async def invocation(
        self,
        entry: HookEntry,
        attributes: Attributes,
        new: Object | None,
        versions: Callable[[GroupVersionKind], Awaitable[VersionedObjects]],
    ) -> HookInvocation | None:
        """Return how a webhook is asked about a write, None if it is not.

        `new` is the new object as earlier webhooks have changed it; `versions` converts objects for conditions.

        Raises:
            StatusError: this cannot be decided.
        """
        hook = self._compiled.get(entry)
        try:
            matched = await self._matcher.match(hook.criteria, attributes, new)
        except NotReadyError as error:
            raise not_ready(attributes) from error
        if matched is None:
            return None
        invocation = HookInvocation(hook, matched.resource, matched.kind)
        if hook.has_conditions and not await self._meets_conditions(invocation, attributes, await versions(matched.kind)):
            return None
        return invocation

    async def _meets_conditions(self, invocation: HookInvocation, attributes: Attributes, objects: VersionedObjects) -> bool:
        hook = invocation.hook
        result = await self._evaluated(invocation, attributes, objects)
        stats = self._sources.stats
        condition_type, exclusion_type = _METRIC_TYPES[self._phase]
        labels = hook.name, "webhook", condition_type, attributes.operation.value
        stats.condition_seconds[labels].observe(result.seconds)
        stats.condition_errors[labels] += result.failures
        if result.error is not None and not hook.fails_open:
            raise errors.forbidden(attributes.resource.group_resource, attributes.name, result.error)
        if not result.matches:
            stats.condition_exclusions[hook.name, "webhook", exclusion_type, attributes.operation.value] += 1
        return result.matches

    async def _evaluated(self, invocation: HookInvocation, attributes: Attributes, objects: VersionedObjects) -> ConditionsResult:
        from apiext.api.admission.expression_inputs import ExpressionInputs
        from apiext.api.admission.expression_runner import ExpressionRunner

        runner = self._runner = self._runner or ExpressionRunner(self._sources.access.authorize)
        conditions, values = await invocation.hook.conditions(), ExpressionInputs(attributes)
        # unlike in reviews, the request's own resource
        inputs = values.of(objects.kind, attributes.resource, objects.new, objects.old)

        def evaluate() -> ConditionsResult:
            return conditions.evaluate(inputs)

        return await runner.run(evaluate, values.answers, conditions)

"""ValidatingAdmissionPolicy: rejects, audits or warns about writes (apiserver pkg/admission/plugin/policy/validating/dispatcher.go)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from apiext.api.admission.attributes import Admission, Attributes
from apiext.api.admission.policy.bound_policy import BoundPolicies
from apiext.api.admission.policy.counting import error_type, observe_conditions
from apiext.api.admission.policy.invocations import BindingMatch, PolicyFault, PolicySelection
from apiext.api.admission.policy.policy_expressions import ALL_HOLD, PolicyDecision, PolicyResult, PolicyValidator
from apiext.api.admission.policy.policy_request import PolicyRequest
from apiext.api.admission.sources import AdmissionPhase
from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.time_slice import Pace

if TYPE_CHECKING:
    from apiext.api.admission.metrics import AdmissionStats
    from apiext.api.admission.policy.bound_policy import BoundPolicy, PolicyBinding
    from apiext.api.admission.sources import AdmissionSources
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.gvk import GroupVersionKind

_LOG: Final = get_logger(__name__)
_CODES: Final[Mapping[str, int]] = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}
_INVALID: Final = ("Invalid", 422)
_FAILURES: Final = "validation.policy.admission.k8s.io/validation_failure"
_MAX_FAILURES: Final = 50
"""Violations in an audit annotation."""
_MAX_VALUE_BYTES: Final = 10 * 1024
"""UTF-8 bytes of the value of an audit annotation."""


_Objects = dict["GroupVersionKind", "tuple[Object | None, Object | None]"]
"""The new and the old object by their version."""


@dataclass(slots=True)
class _Report:
    """What all policies together say about a write."""

    stats: AdmissionStats
    pace: Pace
    """How long the evaluations have held the event loop."""
    denials: list[tuple[BoundPolicy[Any], PolicyBinding | None, str, str]] = field(default_factory=list)
    """Policy, binding, message and reason."""
    failures: list[dict[str, Any]] = field(default_factory=list)
    """Violations for the audit event."""


class ValidatingAdmissionPolicies(Admission):
    """Evaluates the validating policies that match a write."""

    name = "ValidatingAdmissionPolicy"

    def __init__(self, sources: AdmissionSources) -> None:
        self._namespaces = sources.namespaces
        self._stats = sources.stats
        self._policies = BoundPolicies(PolicyValidator)
        self._selection = PolicySelection(sources, AdmissionPhase.VALIDATING, self._policies)

    async def validate(self, attributes: Attributes) -> None:
        """Evaluate the policies.

        Raises:
            StatusError: a policy rejects the write; the first denial is the answer.
        """
        policies = await self._selection.selected(attributes)
        if not policies:
            return
        report, request = _Report(self._stats, Pace()), PolicyRequest(attributes, self._namespaces)
        objects: _Objects = {}
        for policy in policies:
            await self._apply(policy, request, objects, report)
        if report.failures:
            _publish_failures(attributes, report.failures)
        if report.denials:
            raise _denial(attributes, *report.denials[0])

    async def _apply(self, policy: BoundPolicy[PolicyValidator], request: PolicyRequest, objects: _Objects, report: _Report) -> None:
        annotations: dict[str, list[str]] = {}
        attributes = request.attributes
        for match in await self._selection.matches(policy, attributes):
            if isinstance(match, PolicyFault):
                if match.policy.fails_closed:
                    report.denials.append((match.policy, match.binding, match.message, ""))
                continue
            kind = match.matched.kind
            if match.params and kind not in objects:
                try:
                    objects[kind] = await request.versioned(attributes.new, kind), await request.old(kind)
                except ValueError as error:
                    if match.policy.fails_closed:
                        message = f"failed to configure binding: failed to convert object version: {error}"
                        report.denials.append((match.policy, match.binding, message, ""))
                    continue
            namespace = await request.namespace()
            for params in match.params:
                result = await self._evaluate(match, request, objects[kind], params, namespace)
                if result is not ALL_HOLD:
                    _take(match, result, attributes, report, annotations)
                if report.pace.due:
                    await report.pace.pause()
        for key, values in annotations.items():
            attributes.annotations.setdefault(f"{policy.name}/{key}", ", ".join(values))

    async def _evaluate(
        self,
        match: BindingMatch[PolicyValidator],
        request: PolicyRequest,
        objects: tuple[Object | None, Object | None],
        params: Object | None,
        namespace: Mapping[str, Any] | None,
    ) -> PolicyResult:
        if params is not None and not params.get("kind"):
            # the informers of built-in kinds have objects without type
            kind = match.policy.param_kind or {}
            params = {**params, "apiVersion": kind.get("apiVersion"), "kind": kind.get("kind")}
        inputs = request.inputs(match.matched, *objects, params, namespace)
        conditions = request.condition_inputs(match.matched, inputs) if match.compiled.has_conditions else None

        def evaluate() -> PolicyResult:
            return match.compiled.validate(inputs, conditions)

        return await self._selection.runner.run(evaluate, request.answers, match.compiled)


def _take(
    match: BindingMatch[Any], result: PolicyResult, attributes: Attributes, report: _Report, annotations: dict[str, list[str]]
) -> None:
    """Do what the binding says about violations, and collect audit annotations."""
    observe_conditions(report.stats, match.policy.name, attributes, result.conditions)
    for number, decision in enumerate(result.decisions):
        if decision.denied:
            _enforce(match, number, decision, attributes, report)
        elif decision.failed:
            _observe(report, match, decision.message, "allow", decision.seconds)
    for published in result.annotations:
        if published.error:
            _observe(report, match, published.error, "deny", published.seconds)
            report.denials.append((match.policy, match.binding, published.error, ""))
            continue
        value = published.value.encode()[:_MAX_VALUE_BYTES].decode(errors="replace")
        values = annotations.setdefault(published.key, [])
        if value not in values:
            values.append(value)


def _enforce(match: BindingMatch[Any], number: int, decision: PolicyDecision, attributes: Attributes, report: _Report) -> None:
    policy, binding = match.policy, match.binding
    actions = binding.spec.get("validationActions") or ()
    for action in actions:
        _observe(report, match, decision.message, action.lower(), decision.seconds)
        if action == "Deny":
            report.denials.append((policy, binding, decision.message, decision.reason))
        elif action == "Audit":
            failure = {
                "message": decision.message,
                "policy": binding.spec.get("policyName") or "",
                "binding": binding.name,
                "expressionIndex": number,
                "validationActions": list(actions),
            }
            report.failures.append(failure)
        elif action == "Warn":
            place = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}'"
            attributes.warnings.append(f"Validation failed for {place}: {decision.message}")


def _observe(report: _Report, match: BindingMatch[Any], message: str, action: str, seconds: float) -> None:
    labels = match.policy.name, match.binding.name, error_type(message), action
    report.stats.validating_policies[labels].observe(seconds)


def _publish_failures(attributes: Attributes, failures: list[dict[str, Any]]) -> None:
    if len(failures) > _MAX_FAILURES:
        _LOG.warning("audit annotation of violations truncated", resource=str(attributes.resource.group_resource), violations=len(failures))
    attributes.annotations.setdefault(_FAILURES, json_codec.dumps(failures[:_MAX_FAILURES], sort_keys=False).decode())


def _denial(
    attributes: Attributes, policy: BoundPolicy[Any], binding: PolicyBinding | None, message: str, reason: str
) -> errors.StatusError:
    place = f"ValidatingAdmissionPolicy '{policy.name}'" + (f" with binding '{binding.name}'" if binding is not None else "")
    text = f"{place} denied request: {message}"
    error = errors.forbidden(attributes.resource.group_resource, attributes.object_name, text)
    error.reason = reason or _INVALID[0]
    error.code = _CODES.get(error.reason, _INVALID[1])
    error.details = {**(error.details or {}), "causes": [{"message": text}]}
    return error

"""The expressions of a ValidatingAdmissionPolicy, and the decisions that follow from them (validator.go, and plugin.go's compilePolicy)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from apiext.api.admission.policy.bound_policy import FAIL
from apiext.base.meta.golang.formatting import trim_space
from apiext.schema.cel.policies.compiler import ANNOTATION, CONDITION, MESSAGE, PolicyCompiler
from apiext.schema.cel.policies.environments import Declarations
from apiext.schema.cel.policies.evaluation import MAX_CALL_COST, MAX_POLICY_COST, Evaluation, ExpressionOutcome, OutOfBudgetError
from apiext.schema.cel.policies.match_conditions import ConditionsResult, compile_match_conditions

if TYPE_CHECKING:
    from apiext.schema.cel.policies.compiler import CompiledExpression
    from apiext.schema.cel.policies.inputs import Inputs

_INVALID: Final = "Invalid"
_MAX_MESSAGE_BYTES: Final = 5 * 1024
"""UTF-8 bytes of an evaluated message. Part of the API."""


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """The decision of one validation, or of an error that concerns all."""

    denied: bool
    failed: bool = False
    """Whether an error made the decision."""
    message: str = ""
    reason: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PublishedAnnotation:
    """An audit annotation, or an error that rejects the write."""

    key: str
    value: str = ""
    error: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """The outcome of a policy for a binding and a parameter."""

    decisions: Sequence[PolicyDecision] = ()
    """One for each validation, in their order; or one error; or none if all validations hold."""
    annotations: Sequence[PublishedAnnotation] = ()
    conditions: ConditionsResult | None = None
    """The outcome of match conditions, if there are any."""


ALL_HOLD: Final = PolicyResult()
"""The outcome of a policy without conditions and annotations whose validations hold."""


@dataclass(frozen=True, slots=True, eq=False)
class _Validation:
    source: Mapping[str, Any] = field(repr=False)
    expression: CompiledExpression
    message: CompiledExpression | None

    def text(self, outcome: ExpressionOutcome | None) -> str:
        """Return the message of a violation; `outcome` is that of messageExpression."""
        text = ""
        if outcome is not None and isinstance(outcome.value, str):
            text = trim_space(outcome.value)
            if "\n" in text or len(text.encode()) > _MAX_MESSAGE_BYTES:
                text = ""
        return text or trim_space(self.source.get("message") or "") or f"failed expression: {trim_space(self.expression.source)}"


class PolicyValidator:
    """The compiled form of a policy. Expressions that are not valid fail when they are evaluated."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        """Compile the spec of a stored policy."""
        self._fails_closed = (spec.get("failurePolicy") or FAIL) == FAIL
        params = spec.get("paramKind") is not None
        declarations = Declarations(params=params)
        compiler = PolicyCompiler(composed=True)
        compiler.compile_variables(stored_variables(spec), declarations)
        conditions = spec.get("matchConditions")
        self._conditions = compile_match_conditions(conditions, compiler, params=params) if conditions else None
        self._validations = [_compile_validation(source, compiler, declarations) for source in spec.get("validations") or ()]
        self._annotations = [
            (one.get("key") or "", compiler.compile(one.get("valueExpression") or "", ANNOTATION, declarations))
            for one in spec.get("auditAnnotations") or ()
        ]
        self._variables = compiler.variables
        self._most_for_messages = MAX_CALL_COST * (sum(one.message is not None for one in self._validations) + len(self._variables))
        """What all messages cost at most."""

    @property
    def has_conditions(self) -> bool:
        """Return whether the policy has match conditions."""
        return self._conditions is not None

    def validate(self, inputs: Inputs, condition_inputs: Inputs | None) -> PolicyResult:
        """Return the decisions about a write. Match conditions get `condition_inputs`."""
        conditions = None
        if self._conditions is not None and condition_inputs is not None:
            conditions = self._conditions.evaluate(condition_inputs)
            if not conditions.matches:
                is_error = conditions.error is not None and self._fails_closed
                return PolicyResult((self._failure(conditions.error or ""),) if is_error else (), (), conditions)
        evaluation = Evaluation(inputs, self._variables, limit=MAX_POLICY_COST)
        try:
            outcomes = [evaluation.run(one.expression) for one in self._validations]
        except OutOfBudgetError as error:
            return PolicyResult((self._failure(str(error)),), (), conditions)
        decisions: tuple[PolicyDecision, ...] = ()
        if evaluation.left < self._most_for_messages or not all(outcome.value is True for outcome in outcomes):
            messages = Evaluation(inputs.without_authorizer(), self._variables, limit=evaluation.left)
            decisions = self._decisions(outcomes, messages)
        if not self._annotations:
            if not decisions and conditions is None:
                return ALL_HOLD
            return PolicyResult(decisions, (), conditions)
        published = Evaluation(inputs.without_authorizer(), self._variables, limit=MAX_POLICY_COST)
        try:
            annotations = tuple(self._published(published))
        except OutOfBudgetError as error:
            return PolicyResult((self._failure(str(error)),), (), conditions)
        return PolicyResult(decisions, annotations, conditions)

    def _failure(self, message: str, seconds: float = 0.0) -> PolicyDecision:
        return PolicyDecision(denied=self._fails_closed, failed=True, message=message, seconds=seconds)

    def _decisions(self, outcomes: Sequence[ExpressionOutcome], evaluation: Evaluation) -> tuple[PolicyDecision, ...]:
        """Return the decision of each validation. The evaluation is that of the messages."""
        # as in the reference, messages of validations that hold count, too, where they might exceed the budget
        needs_all = evaluation.left < self._most_for_messages
        messages: list[ExpressionOutcome | None] = []
        try:
            for one, outcome in zip(self._validations, outcomes, strict=True):
                is_needed = one.message is not None and (needs_all or (not outcome.error and outcome.value is not True))
                messages.append(evaluation.run(one.message) if is_needed and one.message is not None else None)
        except OutOfBudgetError as error:
            text = f"failed messageExpression: {error}"
            return tuple(self._failure(outcome.error or text, outcome.seconds) for outcome in outcomes)
        return tuple(map(self._decision, self._validations, outcomes, messages))

    def _decision(self, validation: _Validation, outcome: ExpressionOutcome, message: ExpressionOutcome | None) -> PolicyDecision:
        if outcome.error:
            return self._failure(outcome.error, outcome.seconds)
        if outcome.value is True:
            return PolicyDecision(denied=False, seconds=outcome.seconds)
        reason = validation.source.get("reason") or _INVALID
        return PolicyDecision(denied=True, message=validation.text(message), reason=reason, seconds=outcome.seconds)

    def _published(self, evaluation: Evaluation) -> Iterator[PublishedAnnotation]:
        for key, expression in self._annotations:
            outcome = evaluation.run(expression)
            if outcome.error:
                if self._fails_closed:
                    yield PublishedAnnotation(key, error=outcome.error, seconds=outcome.seconds)
            elif isinstance(outcome.value, str) and (value := trim_space(outcome.value)):
                yield PublishedAnnotation(key, value, seconds=outcome.seconds)


def stored_variables(spec: Mapping[str, Any]) -> dict[str, str]:
    """Return the expressions of a policy's variables by name, in their order."""
    return {one.get("name") or "": one.get("expression") or "" for one in spec.get("variables") or ()}


def _compile_validation(source: Mapping[str, Any], compiler: PolicyCompiler, declarations: Declarations) -> _Validation:
    message = source.get("messageExpression") or ""
    unnamed = Declarations(params=declarations.params, authorizer=False)
    return _Validation(
        source,
        compiler.compile(source.get("expression") or "", CONDITION, declarations),
        compiler.compile(message, MESSAGE, unnamed) if message else None,
    )

"""Match conditions of webhooks and policies (apiserver pkg/admission/plugin/webhook/matchconditions)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from apiext.schema.cel.policies.compiler import CONDITION, CompiledExpression, PolicyCompiler
from apiext.schema.cel.policies.environments import Declarations
from apiext.schema.cel.policies.evaluation import MAX_CONDITIONS_COST, Evaluation, OutOfBudgetError

if TYPE_CHECKING:
    from apiext.schema.cel.policies.inputs import Inputs


@dataclass(frozen=True, slots=True)
class ConditionsResult:
    """Whether a request meets all conditions. The owner's failurePolicy decides about an error: Ignore makes it no match."""

    matches: bool
    error: str | None = None
    """Why that is unknown, in the reference's words. `matches` is False then."""
    failed_condition: str = ""
    """The name of the first condition that is false."""
    failures: int = 0
    """Number of conditions that failed, for the metrics of the reference."""
    seconds: float = 0.0


class MatchConditions:
    """The compiled conditions of a webhook or policy."""

    def __init__(
        self, names: Sequence[str], expressions: Sequence[CompiledExpression], variables: Mapping[str, CompiledExpression]
    ) -> None:
        """Join names and expressions. `variables` are those of the policy; a webhook has none."""
        self._conditions = list(zip(names, expressions, strict=True))
        self._variables = variables

    def evaluate(self, inputs: Inputs) -> ConditionsResult:
        """Return whether all conditions are true. All are evaluated first; then the first false one decides, whatever fails."""
        begun = time.perf_counter()
        evaluation = Evaluation(inputs, self._variables, limit=MAX_CONDITIONS_COST)
        try:
            outcomes = [(name, evaluation.run(expression)) for name, expression in self._conditions]
        except OutOfBudgetError as error:
            return ConditionsResult(matches=False, error=str(error), seconds=time.perf_counter() - begun)
        errors: list[str] = []
        for name, outcome in outcomes:
            if outcome.error:
                errors.append(outcome.error)
            elif outcome.value is False:
                taken = time.perf_counter() - begun
                return ConditionsResult(matches=False, failed_condition=name, failures=len(errors), seconds=taken)
        taken = time.perf_counter() - begun
        if errors:
            return ConditionsResult(matches=False, error=aggregate(errors), failures=len(errors), seconds=taken)
        return ConditionsResult(matches=True, seconds=taken)


def compile_match_conditions(
    conditions: Sequence[Mapping[str, Any]], compiler: PolicyCompiler | None = None, *, params: bool = False
) -> MatchConditions:
    """Compile stored match conditions. One that is not valid fails when it is evaluated.

    Args:
        conditions: The member matchConditions.
        compiler: The compiler of a policy, with its variables; None for a webhook.
        params: Whether the policy has a paramKind.
    """
    compiler = compiler or PolicyCompiler()
    declarations = Declarations(params=params)
    expressions = [compiler.compile(condition.get("expression") or "", CONDITION, declarations) for condition in conditions]
    return MatchConditions([condition.get("name") or "" for condition in conditions], expressions, compiler.variables)


def aggregate(errors: Sequence[str]) -> str:
    """Return the text of several errors, each once (apimachinery pkg/util/errors, Aggregate)."""
    distinct = list(dict.fromkeys(errors))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"

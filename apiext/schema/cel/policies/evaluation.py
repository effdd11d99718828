"""Evaluates compiled expressions for one request within a budget (ForInput of apiserver pkg/admission/plugin/cel)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.limits import MAX_INLINE_EVALUATION_COST, MAX_INLINE_RULE_COST
from apiext.base.scheduling.inline_work import current_work
from apiext.schema.cel.errors import CALL_COST_EXCEEDED, BudgetError, CelError, no_such_attribute
from apiext.schema.cel.escaping import unescape
from apiext.schema.cel.libraries.authorization import CHECK_COST, AuthorizationAnswer, Authorizer
from apiext.schema.cel.policies.environments import AUTHORIZER_NAME, REQUEST_RESOURCE, VARIABLES_NAME
from apiext.schema.cel.program import CostMeter

if TYPE_CHECKING:
    from apiext.base.meta.request import RequestInfo, UserInfo
    from apiext.schema.cel.policies.compiler import CompiledExpression
    from apiext.schema.cel.policies.inputs import Inputs

MAX_CALL_COST: Final = 1_000_000
"""Cost units of one evaluation of an expression or variable; part of the API."""
MAX_POLICY_COST: Final = 10_000_000
"""Cost units of all validations and messages, of all audit annotations, or of one mutation, for one binding; part of the API."""
MAX_CONDITIONS_COST: Final = 2_500_000
"""Cost units of the match conditions of a webhook or policy; part of the API."""
_EXPRESSION_COST: Final = 50
"""Cost units that stand for the evaluation of an expression that costs nothing."""
_SPENT: Final = "validation failed due to running out of cost budget, no further validation rules will be run"


class OutOfBudgetError(Exception):
    """The budget is used up: no further expression is evaluated. The text is the reference's."""

    def __init__(self) -> None:
        super().__init__(_SPENT)


@dataclass(slots=True)
class ExpressionOutcome:
    """The result of an expression."""

    value: Any = None
    error: str = ""
    """Why there is no value, in the reference's words."""
    seconds: float = 0.0
    """The time that the evaluation took."""


class Evaluation:
    """Evaluates expressions of one owner for one request: each variable at most once."""

    __slots__ = ("_expressions", "_inline_left", "_inputs", "_meters", "_variables", "_work", "cost", "left")

    def __init__(self, inputs: Inputs, variables: Mapping[str, CompiledExpression], *, limit: int) -> None:
        """Begin with a budget in cost units."""
        self._inputs = inputs
        self._work = work = current_work()
        self._inline_left = MAX_INLINE_RULE_COST * work.cost_stretch
        """The rest of what all evaluations may cost on the event loop."""
        self._meters: list[CostMeter] = []
        """The meters of the running evaluations: that of an expression, then those of variables that need each other."""
        self._expressions = variables
        self._variables: _LazyVariables | None = None
        self.left = limit
        """The rest of the budget."""
        self.cost = 0
        """The costs of variables that are not yet taken from the budget."""

    def run(self, expression: CompiledExpression) -> ExpressionOutcome:
        """Return the outcome of an expression, and charge its cost.

        Raises:
            OutOfBudgetError: the budget does not suffice.
        """
        if expression.error:
            return ExpressionOutcome(error=f"compilation error: {expression.error}")
        begun = time.perf_counter()
        value, error = None, ""
        try:
            value = self._evaluate(expression)
        except (CelError, BudgetError) as failure:
            error = f"expression '{expression.source}' resulted in error: {failure}"
        self.left -= self.cost
        self.cost = 0
        if self.left < 0:
            raise OutOfBudgetError
        return ExpressionOutcome(value, error, time.perf_counter() - begun)

    def variable(self, name: str, expression: CompiledExpression) -> Any:
        """Return the value of a variable.

        Raises:
            CelError: it has none.
            OutOfBudgetError: the budget does not suffice.
        """
        if expression.error:
            raise CelError(f'composited variable "{name}" fails to compile: {expression.error}')
        try:
            return self._evaluate(expression)
        except (CelError, BudgetError) as error:
            raise CelError(f'composited variable "{name}" fails to evaluate: {error}') from None
        finally:
            if self.cost > self.left:
                raise OutOfBudgetError

    def _evaluate(self, expression: CompiledExpression) -> Any:
        if self._inputs.authorizer is None:
            expression = expression.without_authorizer
        if expression.program is None:
            raise CelError("unexpected internal error compiling expression")
        values = [self._value(name) for name in expression.uses]
        allowed = MAX_CALL_COST
        if self._work.is_limited:
            allowed = min(MAX_INLINE_EVALUATION_COST * self._work.cost_stretch, self._inline_left)
        meter = CostMeter(allowed)
        self._meters.append(meter)
        try:
            return expression.program.evaluate_counted(*values, meter=meter)
        except BudgetError:
            self._work.decline()
            raise CelError(CALL_COST_EXCEEDED) from None
        finally:
            self._meters.pop()
            self.cost += meter.cost
            # the limit has grown by the costs of authorization checks, which are no work
            self._inline_left -= meter.cost - (meter.limit - allowed) + _EXPRESSION_COST

    def _value(self, name: str) -> Any:
        if name == VARIABLES_NAME:
            if self._variables is None:
                self._variables = _LazyVariables(self, self._expressions)
            return self._variables
        value = self._inputs.value(name)
        if self._work.is_limited and value is not None:
            if name == AUTHORIZER_NAME:
                return Authorizer(value.user, self._answer)
            if name == REQUEST_RESOURCE:
                return replace(value, authorizer=Authorizer(value.authorizer.user, self._answer))
        return value

    def _answer(self, user: UserInfo, info: RequestInfo) -> AuthorizationAnswer:
        """Answer an authorization check, whose cost stands for no work of the event loop."""
        authorizer = self._inputs.authorizer
        if authorizer is None:
            raise no_such_attribute(AUTHORIZER_NAME)
        answer = authorizer.answer(user, info)
        meter = self._meters[-1]
        meter.limit = min(meter.limit + CHECK_COST, MAX_CALL_COST)
        return answer


class _LazyVariables(dict[str, Any]):
    """The map `variables`: it evaluates a variable at its first use, and keeps value or error."""

    __slots__ = ("_errors", "_evaluation", "_expressions")

    def __init__(self, evaluation: Evaluation, expressions: Mapping[str, CompiledExpression]) -> None:
        super().__init__()
        self._evaluation = evaluation
        self._expressions = expressions
        self._errors: dict[str, CelError] = {}

    def get(self, key: object, default: Any = None) -> Any:
        """Return a variable's value, `default` if there is none of this name. Raises CelError."""
        name = unescape(str(key))
        if name is None or name not in self._expressions:
            return default
        if name in self._errors:
            raise self._errors[name]
        if not super().__contains__(name):
            try:
                self[name] = self._evaluation.variable(name, self._expressions[name])
            except CelError as error:
                self._errors[name] = error
                raise
        return self[name]

    def __len__(self) -> int:
        return len(self._expressions)

    def __iter__(self) -> Any:
        return iter(self._expressions)

    def __contains__(self, key: object) -> bool:
        return key in self._expressions

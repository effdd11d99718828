"""Limits of the run-time costs of rules (apiserver pkg/apis/cel/config.go), and of their time on the event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta.limits import MAX_INLINE_EVALUATION_COST, MAX_INLINE_RULE_COST
from apiext.base.scheduling.inline_work import current_work
from apiext.schema.cel.errors import BudgetError, CelError
from apiext.schema.cel.program import CostMeter

if TYPE_CHECKING:
    from apiext.schema.cel.rules.expression import Expression

MAX_CALL_COST: Final = 1_000_000
"""Cost units of one evaluation of an expression; part of the API."""
MAX_OBJECT_COST: Final = 10_000_000
"""Cost units of all evaluations for one object; part of the API."""


class SpentError(Exception):
    """All evaluations for an object together exceed its cost limit."""


class InexactError(Exception):
    """Worst cases exceed a limit. The evaluation must start again and count all costs."""


class Budget:
    """The cost units left for an object's rules.

    Cheap expressions are charged their worst case. If an object exceeds a limit this way, its evaluation starts again and counts costs.
    """

    __slots__ = ("_exact", "_reserve", "largest", "left", "strict")

    def __init__(self, limit: int, *, exact: bool) -> None:
        """Begin with a limit. `exact`: values may exceed limits of the schema, so that worst cases do not hold."""
        self._exact = exact
        self.left = limit
        self.largest = 0
        """The cost of the most expensive evaluation whose costs were counted."""
        self.strict = False
        """Whether the next values may exceed limits of the schema, or be of other types."""
        # the event loop may only use a part of the budget
        work = current_work()
        self._reserve = max(limit - MAX_INLINE_RULE_COST * work.cost_stretch, 0) if work.is_limited else 0

    def require_some(self) -> None:
        """Check that the budget allows another rule.

        Raises:
            SpentError: the budget is used up.
            InexactError: the costs must be counted.
        """
        if self.left <= 0:
            raise SpentError if self._exact else InexactError

    def run(self, expression: Expression, *values: object) -> object:
        """Return the value of an expression for values of its variables, and charge its cost.

        Raises:
            CelError: the evaluation failed.
            BudgetError: it cost more than a single evaluation may.
            SpentError: all evaluations for the object cost more than they may.
            InexactError: the costs must be counted.
        """
        if self._exact or self.strict or expression.is_counted:
            return self._count(expression, values)
        self.left -= expression.worst_case
        if self.left < self._reserve:
            raise InexactError
        return expression.program.evaluate(*values)

    def _count(self, expression: Expression, values: tuple[object, ...]) -> object:
        work = current_work()
        largest = MAX_INLINE_EVALUATION_COST * work.cost_stretch if work.is_limited else MAX_CALL_COST
        limit = min(largest, self.left - self._reserve)
        meter = CostMeter(min(limit, self.left))
        program = expression.program.strict if self.strict else expression.program
        result: object = None
        failure: CelError | BudgetError | None = None

        def evaluate(_: None) -> object:
            return program.evaluate_counted(*values, meter=meter)

        try:
            result = work.run(evaluate, None)
        except (CelError, BudgetError) as error:
            failure = error
        self.largest = max(self.largest, meter.cost)
        if meter.cost > self.left:
            # another expression would cost more than is left, too
            self.left = 0
            raise SpentError if self._exact else InexactError
        if work.is_limited and isinstance(failure, BudgetError):
            if self._exact or limit == largest:
                work.decline()
            raise InexactError
        self.left -= meter.cost
        if failure is not None:
            raise failure
        return result

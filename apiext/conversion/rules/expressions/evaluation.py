"""Evaluates the expressions about one object within a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.conversion.interface import ConversionError
from apiext.scheduling.inline_work import unlimited_work
from apiext.schema.cel.errors import BudgetError, CelError
from apiext.schema.cel.rules.budget import Budget, SpentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.conversion.rules.expressions.compile import CompiledAssignment
    from apiext.meta.encoding.json_codec import Object

MAX_CONVERSION_COST: Final = 1_000_000
"""Cost units of all expressions about one object in one conversion: at most about 0.1 seconds of the event loop."""


def evaluate(assignments: Sequence[CompiledAssignment], obj: Object) -> list[Any]:
    """Return the values of expressions as JSON, MISSING for empty optionals.

    Values may have other types than the schema's, and exceed its limits: types are checked and all costs counted.

    Raises:
        ConversionError: an expression fails, or all of them cost too much.
    """
    with unlimited_work():
        budget = Budget(MAX_CONVERSION_COST, exact=True)
        budget.strict = True
        return [_value(each, obj, budget) for each in assignments]


def _value(assignment: CompiledAssignment, obj: Object, budget: Budget) -> Any:
    try:
        budget.require_some()
        return assignment.json(budget.run(assignment.expression, obj))
    except CelError as error:
        raise ConversionError(f"the expression for {assignment.path} failed: {error}") from None
    except BudgetError as error:
        raise ConversionError(f"the expression for {assignment.path} costs too much: {error}") from None
    except SpentError:
        raise ConversionError(f"the expressions for {assignment.path} and the fields before cost too much for one object") from None

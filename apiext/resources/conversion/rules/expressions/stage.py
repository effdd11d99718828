"""The way from one version to another by rules with expressions."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_values
from apiext.base.meta.limits import MAX_DEPTH
from apiext.base.scheduling.inline_work import PartialWork, current_work, unlimited_work
from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.rules.expressions.compile import CompiledAssignment
from apiext.resources.conversion.rules.expressions.json_results import JsonResults, LargeResultError
from apiext.resources.conversion.rules.operations.operation import MISSING
from apiext.resources.conversion.rules.paths import MAX_PATH_STEPS
from apiext.schema.cel.errors import BudgetError, CelError, NoSuchKeyError
from apiext.schema.cel.rules.budget import Budget, SpentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.conversion.rules.finish import Finish
    from apiext.resources.conversion.rules.operations.operation import Step


MAX_CONVERSION_COST: Final = 1_000_000
"""Cost units of all expressions about one object in one conversion: at most about 0.2 seconds, of which the event loop takes a fraction."""
MAX_RESULT_VALUES: Final = 500_000
"""Values that all expressions about one object make in one conversion: at most about 0.2 seconds."""
_MAX_INLINE_VALUES: Final = 4_000
"""The same on the event loop: a millisecond."""
_MAX_LEVELS: Final = MAX_DEPTH - MAX_PATH_STEPS
"""Levels of a value, below any path."""


def evaluate(assignments: Sequence[CompiledAssignment], obj: Object) -> list[Any]:
    """Return the values of expressions as JSON, MISSING for empty optionals, and for expressions that read a missing field.

    A server-side apply converts objects that lack what their managers do not set, whatever the schema requires.

    Values may have other types than the schema's, and exceed its limits: types are checked and all costs counted.

    Raises:
        ConversionError: an expression fails, all of them cost too much, or they make too much.
    """
    is_limited = current_work().is_limited
    # each object has a time of its own: between objects the event loop has its turns
    work: AbstractContextManager[None] = PartialWork() if is_limited else unlimited_work()
    with work:
        budget, results = Budget(MAX_CONVERSION_COST, exact=True), JsonResults(_MAX_INLINE_VALUES if is_limited else MAX_RESULT_VALUES)
        budget.strict = True
        try:
            return [_value(each, obj, budget, results) for each in assignments]
        except LargeResultError as error:
            current_work().decline()
            raise ConversionError(f"the expressions make more than {MAX_RESULT_VALUES} values for one object") from error


def _value(assignment: CompiledAssignment, obj: Object, budget: Budget, results: JsonResults) -> Any:
    try:
        budget.require_some()
        value = assignment.json(budget.run(assignment.expression, obj), results)
    except NoSuchKeyError:
        return MISSING
    except CelError as error:
        raise ConversionError(f"the expression for {assignment.path} failed: {error}") from None
    except BudgetError as error:
        raise ConversionError(f"the expression for {assignment.path} costs too much: {error}") from None
    except SpentError:
        raise ConversionError(f"the expressions for {assignment.path} and the fields before cost too much for one object") from None
    if (type(value) is dict or type(value) is list) and json_values.is_deeper(value, _MAX_LEVELS):
        raise ConversionError(f"the expression for {assignment.path} makes a value that is nested deeper than {_MAX_LEVELS} levels")
    return value


class ExpressionStage:
    """Implements Stage. Expressions read the object as it was before all rules."""

    __slots__ = ("_api_version", "_assignments", "_finish", "_steps")

    def __init__(self, steps: Sequence[Step | CompiledAssignment], finish: Finish, api_version: str) -> None:
        self._steps = tuple(steps)
        self._assignments = [step for step in steps if isinstance(step, CompiledAssignment)]
        self._finish = finish
        self._api_version = api_version

    def prepare(self) -> None:
        """Generate the functions of the expressions, which takes long for long ones."""
        for each in self._assignments:
            each.expression.program.strict.prepare(counting=True)

    def failures(self, obj: Object) -> list[tuple[str, str]]:
        """Implement Stage.failures."""
        found: list[tuple[str, str]] = []
        for each in self._assignments:
            try:
                evaluate([each], obj)
            except ConversionError as error:
                found.append((each.place, str(error)))
        return found

    def apply(self, obj: Object, known: Object) -> bool:
        """Implement Stage.apply: no result is surely exact."""
        values = iter(evaluate(self._assignments, obj))
        for step in self._steps:
            if isinstance(step, CompiledAssignment):
                step.assign(obj, next(values))
            else:
                step(obj)
        obj["apiVersion"] = self._api_version
        self._finish(obj, known)
        return False

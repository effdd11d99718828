"""The way from one version to another by rules with expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.conversion.rules.expressions.compile import CompiledAssignment
from apiext.conversion.rules.expressions.evaluation import evaluate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.conversion.rules.finish import Finish
    from apiext.conversion.rules.operations.operation import Step
    from apiext.meta.encoding.json_codec import Object


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

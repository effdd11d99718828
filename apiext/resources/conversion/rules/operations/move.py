"""Move and rename."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.resources.conversion.rules.operations.fields import FieldAccess
from apiext.resources.conversion.rules.operations.operation import EXACT, INEXACT, MISSING, Reversible, Step
from apiext.resources.conversion.rules.operations.walk import in_objects

if TYPE_CHECKING:
    from apiext.resources.conversion.rules.model import FieldSteps, Move


def compile_move(rule: Move) -> Reversible:
    """Return the functions of a rule."""
    return Reversible(in_objects((rule.source, rule.target), _moving), in_objects((rule.target, rule.source), _moving))


def _moving(source: FieldSteps, target: FieldSteps) -> Step:
    if source[:-1] == target[:-1]:
        return _renaming(source, target[-1])
    taken, placed = FieldAccess(source), FieldAccess(target)

    def move(container: Any) -> bool:
        value = taken.take(container)
        if value is MISSING:
            # the way back would move the target, if there is one
            return placed.get(container) is MISSING
        return placed.place(container, value)

    return move


def _renaming(source: FieldSteps, name: str) -> Step:
    parents, old = source[:-1], source[-1]

    def rename(container: Any) -> bool:
        for parent in parents:
            if type(container) is not dict:
                return EXACT
            container = container.get(parent)
        if type(container) is not dict:
            return EXACT
        is_exact = EXACT if name not in container else INEXACT
        if old in container:
            container[name] = container.pop(old)
        return is_exact

    return rename

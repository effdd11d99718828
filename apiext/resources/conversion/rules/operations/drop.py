"""Drop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.resources.conversion.rules.model import Side
from apiext.resources.conversion.rules.operations.fields import FieldAccess
from apiext.resources.conversion.rules.operations.operation import EXACT, MISSING, Reversible, Step
from apiext.resources.conversion.rules.operations.walk import in_objects

if TYPE_CHECKING:
    from apiext.resources.conversion.rules.model import Drop, FieldSteps


def compile_drop(rule: Drop) -> Reversible:
    """Return the functions of a rule. What it loses does not count as inexact."""
    operation = Reversible(in_objects((rule.path,), _dropping), in_objects((rule.path,), _ignoring))
    return operation if rule.side is Side.SPOKE else operation.reversed()


def _dropping(path: FieldSteps) -> Step:
    field, name = FieldAccess(path), path[-1]

    def drop(container: Any) -> bool:
        parent = field.parent(container)
        if parent is not None:
            parent.pop(name, None)
        return EXACT

    return drop


def _ignoring(path: FieldSteps) -> Step:
    field = FieldAccess(path)

    def ignore(container: Any) -> bool:
        # the way back would drop the field
        return field.get(container) is MISSING

    return ignore

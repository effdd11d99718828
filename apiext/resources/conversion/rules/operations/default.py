"""Default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.base.meta.encoding import json_values
from apiext.resources.conversion.rules.model import Side
from apiext.resources.conversion.rules.operations.fields import FieldAccess
from apiext.resources.conversion.rules.operations.operation import EXACT, MISSING, Reversible, Step
from apiext.resources.conversion.rules.operations.walk import in_objects

if TYPE_CHECKING:
    from apiext.resources.conversion.rules import model
    from apiext.resources.conversion.rules.model import FieldSteps


def compile_default(rule: model.Default, *, shared: bool) -> Reversible:
    """Return the functions of a rule. `shared`: both versions have the field, so the way back leaves it."""

    def setting(path: FieldSteps) -> Step:
        return _setting(path, rule.value, shared=shared)

    def removing(path: FieldSteps) -> Step:
        return _leaving(path) if shared else _removing(path, rule.value)

    operation = Reversible(in_objects((rule.path,), setting), in_objects((rule.path,), removing))
    return operation if rule.side is Side.HUB else operation.reversed()


def _setting(path: FieldSteps, default: Any, *, shared: bool) -> Step:
    field, name = FieldAccess(path), path[-1]

    def set_default(container: Any) -> bool:
        parent = field.parent(container)
        if parent is None:
            return EXACT
        if name in parent:
            # the way back leaves the field only if it is shared
            return shared
        parent[name] = json_values.copy(default)
        return not shared

    return set_default


def _removing(path: FieldSteps, default: Any) -> Step:
    field, name = FieldAccess(path), path[-1]

    def remove(container: Any) -> bool:
        parent = field.parent(container)
        return parent is None or json_values.equal(parent.pop(name, MISSING), default)

    return remove


def _leaving(path: FieldSteps) -> Step:
    field, name = FieldAccess(path), path[-1]

    def leave(container: Any) -> bool:
        # the way back sets the default where the field is missing
        parent = field.parent(container)
        return parent is None or name in parent

    return leave

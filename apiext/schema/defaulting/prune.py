"""Pruning of defaults before their use (defaulting/prune.go, defaulting/surroundingobject.go).

A default is pruned inside the smallest object that has it at its position in the schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apiext.base.meta.encoding import json_values
from apiext.base.meta.encoding.json_values import count_members
from apiext.base.meta.limits import MAX_INLINE_STEPS
from apiext.base.scheduling.inline_work import current_work
from apiext.schema.embedded_metadata import coerce
from apiext.schema.model import Default, Structural
from apiext.schema.pruning import prune

_MEMBERS_OF_A_STEP: Final = 10
"""Members of a default that a step copies, checks and writes."""


def pruned_defaults(schema: Structural) -> tuple[Default, ...]:
    """Return the pruned default of each property that has one."""
    named: Mapping[str, Any] = schema.raw.get("properties") or {}
    names = [name for name, child in named.items() if child and child.get("default") is not None]
    current_work().step(len(names))
    found = ((name, child, counted_default(child)) for name in names for child in (schema.properties[name],))
    return tuple((name, value, child.nullable, steps) for name, child, (value, steps) in found if value is not None)


def counted_default(node: Structural) -> tuple[Any, int]:
    """Return the pruned default of a node, None if nothing remains, and the steps of a copy of it. They are computed on first use."""
    try:
        return node.pruned
    except AttributeError:
        steps = count_members(node.default, at_most=MAX_INLINE_STEPS * _MEMBERS_OF_A_STEP) // _MEMBERS_OF_A_STEP
        # pruning takes as long as a copy
        current_work().step(steps)
        node.pruned = pruned_default(node), steps
        return node.pruned


def pruned_default(node: Structural) -> Any:
    """Return the default without fields unknown to the schema or ObjectMeta; None if nothing remains."""
    steps = node.steps
    if (not node.default or not isinstance(node.default, dict | list)) and "metadata" not in steps:
        return node.default
    obj, resource = surround(json_values.copy(node.default), steps), node.surrounding().as_resource()
    coerce(obj, resource, drop_invalid=True)
    prune(obj, resource, report=False)
    return focus(obj, steps)


def has_unpruned_defaults(root: Structural) -> bool:
    """Return whether pruning changes any default of the schema (schemaHasUnprunedDefaults)."""
    pending = [root]
    while pending:
        node = pending.pop()
        if node.default is not None and pruned_default(node) != node.default:
            return True
        pending.extend(node.children())
    return False


def surround(value: Any, steps: list[str | None]) -> Any:
    """Return the smallest object that has the value at the end of the steps."""
    for step in reversed(steps):
        value = [value] if step is None else {step: value}
    return value


def focus(obj: Any, steps: list[str | None]) -> Any:
    """Return the value at the end of the steps, None if there is none."""
    for step in steps:
        if isinstance(obj, list):
            obj = obj[0] if obj else None
        elif isinstance(obj, dict):
            obj = obj.get(step)
        else:
            return None
    return obj

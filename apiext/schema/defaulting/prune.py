"""Pruning of defaults before their use (defaulting/prune.go, defaulting/surroundingobject.go).

A default is pruned inside the smallest object that has it at its position in the schema.
"""

from __future__ import annotations

from typing import Any

from apiext.meta.encoding import json_values
from apiext.schema.embedded_metadata import coerce
from apiext.schema.model import Structural
from apiext.schema.pruning import prune


def pruned_defaults(schema: Structural) -> tuple[tuple[str, Any, bool], ...]:
    """Return name, pruned default and nullable of each property with a default."""
    return tuple(
        (name, value, child.nullable)
        for name, child in schema.properties.items()
        if child.default is not None and (value := pruned_default(child)) is not None
    )


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

"""Pruning of defaults before they are used (defaulting/prune.go)."""

from __future__ import annotations

from typing import Any, Final

from apiext.schema.defaulting.surrounding_object import ABSENT, focus, steps_to, surround
from apiext.schema.json_values import copy_json
from apiext.schema.model import Structural
from apiext.schema.objectmeta.algorithm import coerce
from apiext.schema.pruning import prune

_NESTED: Final = (dict, list)


def pruned_defaults(schema: Structural) -> tuple[tuple[str, Any, bool], ...]:
    """Name, pruned default and nullable of each property that has a default."""
    found = []
    for name, child in schema.properties.items():
        if child.default is not None:
            value = pruned_default(child)
            if value is not None:
                found.append((name, value, child.nullable))
    return tuple(found)


def pruned_default(node: Structural) -> Any:
    """The default without what the schema, or ObjectMeta, does not know; None if nothing is left of it."""
    root = node.root
    steps = steps_to(node, root)
    if (not node.default or type(node.default) not in _NESTED) and "metadata" not in steps:
        return node.default
    obj = surround(copy_json(node.default), steps)
    coerce(obj, root, resource_root=True, drop_invalid=True)
    prune(obj, root, resource_root=True)
    value = focus(obj, steps)
    return None if value is ABSENT else value


def has_unpruned_defaults(root: Structural) -> bool:
    """Whether any default of the schema changes when pruned (schemaHasUnprunedDefaults)."""
    pending = [root]
    while pending:
        node = pending.pop()
        if node.default is not None and pruned_default(node) != node.default:
            return True
        pending.extend(node.children())
    return False

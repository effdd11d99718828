"""Which nodes of an expression made a list or map, and its members.

cel-go holds what an expression spells in other Go types than what comes from objects. Here only the tree tells them apart.
"""

from __future__ import annotations

from typing import Any

from apiext.schema.cel.ast import Call, Comprehension, Constant, Expression, ListLiteral, MapLiteral


def origin(node: Expression | None, value: Any) -> Expression | None:
    """Return the literal or loop that made a list or map, None for a part of an object and the result of a function."""
    match node:
        case ListLiteral():
            fits = isinstance(value, list) and (bool(node.optional_indices) or len(node.elements) == len(value))
        case MapLiteral():
            fits = isinstance(value, dict) and len(node.entries) >= len(value)
        case Comprehension():
            fits = isinstance(value, list if isinstance(node.accu_init, ListLiteral) else dict)
            fits = fits and isinstance(node.accu_init, ListLiteral | MapLiteral)
        case Call(function="dyn", arguments=(inner,)):
            return origin(inner, value)
        case Call(function="_?_:_", arguments=(_, one, other)):
            return origin(one, value) or origin(other, value)
        case _:
            return None
    return node if fits else None


def member_origin(node: Expression, key: Any) -> Expression | None:
    """Return the node that made a member of a list or map, by its place or key and the node of `origin`; None for an unknown one."""
    match node:
        case ListLiteral() if not node.optional_indices:
            element: Expression = node.elements[key]
            return element
        case MapLiteral():
            return next((entry.value for entry in node.entries if isinstance(entry.key, Constant) and entry.key.value == key), None)
        case Comprehension():
            return _collected(node.loop_step)
    return None


def _collected(step: Expression) -> Expression | None:
    """Return what a step of map(), filter() or a transformation adds to the result."""
    match step:
        case Call(function="_?_:_", arguments=(_, added, _)):
            return _collected(added)
        case Call(function="_+_", arguments=(_, ListLiteral(elements=(element,)))):
            return element
        case Call(function="cel.@mapInsert", arguments=(_, _, value)):
            return value
    return None

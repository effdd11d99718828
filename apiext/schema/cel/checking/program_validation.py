"""Faults of expressions that cel-go finds while planning a program (interpreter/planner.go, decorators.go, optimizations.go)."""

from __future__ import annotations

from typing import Final

from apiext.schema.cel.ast import Call, CheckedAst, Constant, Expression, post_order
from apiext.schema.cel.compiler.folding import fold
from apiext.schema.cel.environment import Environment
from apiext.schema.cel.errors import CelError
from apiext.schema.cel.types import CelType
from apiext.schema.pattern import PatternError, check_pattern

_UNDEFINED_TYPES: Final = frozenset({"duration", "timestamp"})
"""Short names of types that only the type checker knows."""


def program_fault(ast: CheckedAst, environment: Environment) -> str | None:
    """Return why an expression has no program: a type has no value, or a constant is an invalid pattern or cannot be converted."""
    for node in post_order(ast.expression):
        fault = _undefined(node, ast, environment) if node.id in ast.names else _pattern_fault(node, environment)
        if fault is not None:
            return fault
    try:
        fold(ast)
    except CelError as error:
        return str(error)
    return None


def _undefined(node: Expression, ast: CheckedAst, environment: Environment) -> str | None:
    name = ast.names[node.id]
    if ast.types[node.id].name == "type" and (name in _UNDEFINED_TYPES or environment.is_object(CelType(name))):
        return f"reference to undefined type: {name}"
    return None


def _pattern_fault(node: Expression, environment: Environment) -> str | None:
    if not isinstance(node, Call):
        return None
    index = environment.pattern_argument(node.function)
    arguments = node.arguments if node.target is None else (node.target, *node.arguments)
    if index is None or index >= len(arguments):
        return None
    pattern = arguments[index]
    if not isinstance(pattern, Constant) or not isinstance(pattern.value, str):
        return None
    try:
        check_pattern(pattern.value)
    except PatternError as error:
        return str(error)
    return None

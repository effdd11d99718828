"""Validation of literals in checked expressions (cel-go cel/validator.go)."""

from __future__ import annotations

from apiext.schema.cel.ast import Call, CheckedAst, Constant, Expression, ListLiteral, MapLiteral, children
from apiext.schema.cel.checking.format_validation import format_fault
from apiext.schema.cel.checking.type_inference import display_type, unwrap_optional
from apiext.schema.cel.errors import CelError
from apiext.schema.cel.standard.conversions import int_to_timestamp, text_to_duration, text_to_timestamp
from apiext.schema.cel.syntax.source import Issue
from apiext.schema.cel.types import CelType
from apiext.schema.pattern import PatternError, check_pattern


def literal_issues(ast: CheckedAst) -> list[Issue]:
    """Return the errors of literals: mixed lists and maps, and constants that are not a valid duration, time, pattern or format."""
    issues: list[Issue] = []
    stack = [(ast.expression, False)]
    while stack:
        node, formatted = stack.pop()
        if isinstance(node, Call):
            issues += _call_issues(node, ast)
            formatted = formatted or node.function == "format"
        elif not formatted:
            issues += _mixed(node, ast)
        stack.extend((child, formatted) for child in children(node))
    return issues


def _call_issues(node: Call, ast: CheckedAst) -> list[Issue]:
    fault = format_fault(node, ast)
    if fault is not None:
        place, message = fault
        return [Issue(ast.positions[place], message)]
    if node.function in {"duration", "timestamp", "matches"} and node.arguments and isinstance(node.arguments[0], Constant):
        argument = node.arguments[0]
        if not _is_valid(node.function, argument.value):
            return [Issue(ast.positions[argument.id], f"invalid {node.function} argument")]
    return []


def _is_valid(function: str, value: object) -> bool:
    try:
        match function, value:
            case "matches", str():
                check_pattern(value)
            case "duration", str():
                text_to_duration(value)
            case "timestamp", str():
                text_to_timestamp(value)
            case "timestamp", int():
                int_to_timestamp(value)
            case _:
                pass
    except (PatternError, CelError):
        return False
    return True


def _mixed(node: Expression, ast: CheckedAst) -> list[Issue]:
    """Return the first element of a list, and the entries of a map, whose type differs from the earlier ones."""
    if isinstance(node, ListLiteral):
        optional = set(node.optional_indices)
        elements = [(element.id, _type(element.id, ast, optional=index in optional)) for index, element in enumerate(node.elements)]
        return _different(elements, ast)[:1]
    if isinstance(node, MapLiteral):
        keys = [(entry.key.id, ast.types[entry.key.id]) for entry in node.entries]
        values = [(entry.value.id, _type(entry.value.id, ast, optional=entry.optional)) for entry in node.entries]
        return _different(keys, ast) + _different(values, ast)
    return []


def _type(node: int, ast: CheckedAst, *, optional: bool) -> CelType:
    return unwrap_optional(ast.types[node])[0] if optional else ast.types[node]


def _different(typed: list[tuple[int, CelType]], ast: CheckedAst) -> list[Issue]:
    return [
        Issue(ast.positions[node], f"expected type '{display_type(typed[0][1])}' but found '{display_type(kind)}'")
        for node, kind in typed
        if kind != typed[0][1]
    ]

"""Validation of literals in checked expressions (cel-go cel/validator.go)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from apiext.schema.cel.ast import Call, CheckedAst, Constant, Expression, ListLiteral, MapLiteral, children
from apiext.schema.cel.checking.type_inference import display_type, unwrap_optional
from apiext.schema.cel.errors import CelError
from apiext.schema.cel.libraries.strings import CLAUSE, RULES, parse_clause
from apiext.schema.cel.standard.conversions import int_to_timestamp, text_to_duration, text_to_timestamp
from apiext.schema.cel.syntax.source import Issue
from apiext.schema.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, NULL, STRING, TIMESTAMP, TYPE, UINT, CelType
from apiext.schema.pattern import PatternError, check_pattern

_PRINTED: Final = frozenset(
    {"list", "map", *(kind.name for kind in (INT, UINT, DOUBLE, BOOL, STRING, TIMESTAMP, BYTES, DURATION, TYPE, NULL, DYN))}
)
_ALLOWED: Final = {
    "d": {"int", "uint"},
    "f": {"double", "string"},
    "e": {"double", "string"},
    "b": {"int", "uint", "bool"},
    "x": {"int", "uint", "string", "bytes"},
    "o": {"int", "uint"},
}


class _ClauseError(Exception):
    """A clause does not fit its argument. `node` is the argument with the error, None for the call."""

    def __init__(self, message: str, node: int | None = None) -> None:
        super().__init__(message)
        self.node = node


def format_fault(call: Call, ast: CheckedAst) -> tuple[int, str] | None:
    """Return node and message of the first fault in a call of `format`. None without a fault, or for a format that is not constant."""
    if call.function != "format" or "string_format" not in ast.overloads.get(call.id, ()) or not isinstance(call.target, Constant):
        return None
    (arguments,) = call.arguments
    if not isinstance(call.target.value, str) or not isinstance(arguments, ListLiteral):
        return None
    count = 0
    try:
        for letter in _clauses(call.target.value, len(arguments.elements)):
            _check_argument(letter, arguments.elements[count], ast)
            count += 1
    except _ClauseError as error:
        return call.id if error.node is None else error.node, str(error)
    if count < len(arguments.elements):
        return call.id, f"too many arguments supplied to string.format (expected {count}, got {len(arguments.elements)})"
    return None


def _clauses(text: str, arguments: int) -> Iterator[str]:
    index = 0
    for found in CLAUSE.finditer(text):
        percent, digits, verb = found.groups()
        if percent:
            continue
        if index >= arguments and found[0] != "%":
            raise _ClauseError(f"index {index} out of range")
        try:
            verb, _ = parse_clause(digits, verb)
        except ValueError as error:
            raise _ClauseError(str(error)) from None
        yield verb.lower()
        index += 1


def _check_argument(letter: str, argument: Expression, ast: CheckedAst) -> None:
    kind = ast.types[argument.id]
    if letter == "s":
        unprintable = _unprintable(argument, ast)
        if unprintable is not None:
            raise _ClauseError(f"error during formatting: {RULES[letter]}, was given {ast.types[unprintable].name}", unprintable)
        return
    if kind.name not in _ALLOWED[letter] and kind != DYN:
        raise _ClauseError(f"error during formatting: {RULES[letter]}, was given {kind.name}", argument.id)


def _unprintable(node: Expression, ast: CheckedAst) -> int | None:
    """Return the first part of a value that has no text."""
    stack = [node]
    while stack:
        node = stack.pop()
        if ast.types[node.id].name not in _PRINTED:
            return node.id
        if isinstance(node, ListLiteral):
            stack.extend(reversed(node.elements))
        elif isinstance(node, MapLiteral):
            for entry in reversed(node.entries):
                stack += (entry.value, entry.key)
    return None


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

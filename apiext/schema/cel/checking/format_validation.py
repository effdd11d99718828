"""Validation of constant format strings (stringFormatValidator of cel-go ext/formatting.go)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from apiext.schema.cel.ast import Call, CheckedAst, Constant, Expression, ListLiteral, MapLiteral
from apiext.schema.cel.libraries.format_clauses import CLAUSE, RULES, parse_clause
from apiext.schema.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, NULL, STRING, TIMESTAMP, TYPE, UINT

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

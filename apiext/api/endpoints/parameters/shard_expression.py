"""The expression of a shard selector: CEL that is parsed, and never evaluated (apiserver pkg/sharding/parser.go)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from apiext.base.meta.golang.formatting import quote
from apiext.base.meta.objectmeta.sharding import SHARD_FIELDS, ShardSelector
from apiext.schema.cel import ast
from apiext.schema.cel.syntax.parser import parse
from apiext.schema.cel.syntax.source import CompileError

_KINDS: Final[dict[type[Any], int]] = {
    ast.Call: 1,
    ast.Identifier: 3,
    ast.ListLiteral: 4,
    ast.Constant: 5,
    ast.MapLiteral: 6,
    ast.Select: 7,
    ast.StructLiteral: 8,
}
"""Numbers of the kinds of expressions in error texts (cel-go common/ast, ExprKind)."""
_GO_TYPES: Final[dict[type[Any], str]] = {
    bool: "bool",
    int: "int64",
    ast.Uint: "uint64",
    float: "float64",
    bytes: "[]uint8",
    type(None): "structpb.NullValue",
}
_MESSAGE: Final = re.compile(r"ERROR: <input>:-?\d+:\d+: (.*)")
_DIGITS: Final = 16
"""Hexadecimal digits of a hash."""
_END: Final = f"0x1{'0' * _DIGITS}"
"""The end of the range with the largest hash."""


class ShardSelectorError(Exception):
    """An expression is no shard selector. The text is the reference's, except for errors of CEL's syntax."""


def parse_shard_selector(expression: str) -> ShardSelector:
    """Return the selector of an expression: calls of shardRange, combined by `||`.

    Raises:
        ShardSelectorError: the expression is malformed, or has anything else.
    """
    expression = expression.strip()
    if not expression:
        raise ShardSelectorError("empty shard selector is not allowed; omit the parameter for unfiltered lists")
    try:
        tree, _ = parse(expression, {}, optional_syntax=False)
    except CompileError as error:
        found = _MESSAGE.match(str(error))
        raise ShardSelectorError(f"CEL parse error: {found[1] if found is not None else error}") from error
    ranges = [_range(call) for call in _calls(tree)]
    field = ranges[0][0]
    for other, *_ in ranges:
        if other != field:
            raise ShardSelectorError(f"all shard ranges must use the same field, got {quote(field)} and {quote(other)}")
    return ShardSelector(field, tuple((first, end) for _, first, end in ranges))


def _calls(node: ast.Expression) -> Iterator[ast.Call]:
    """Yield the calls of shardRange from left to right."""
    if not isinstance(node, ast.Call):
        raise ShardSelectorError(f"unexpected expression kind {_kind(node)}; expected shardRange() call or || operator")
    if node.function == "_||_":
        for argument in node.arguments:
            yield from _calls(argument)
    elif node.function == "shardRange":
        yield node
    else:
        raise ShardSelectorError(f"unsupported function {quote(node.function)}; only shardRange() and || are allowed")


def _range(call: ast.Call) -> tuple[str, int, int]:
    """Return the field, the first hash and the end of a range."""
    if len(call.arguments) != 3:
        raise ShardSelectorError(f"shardRange() requires exactly 3 arguments, got {len(call.arguments)}")
    field = _field(call.arguments[0])
    if field not in SHARD_FIELDS:
        raise ShardSelectorError(f"unsupported field path {quote(field)}; supported: {', '.join(SHARD_FIELDS)}")
    start, end = _hash_text(call.arguments[1], "hexStart"), _hash_text(call.arguments[2], "hexEnd")
    first, after = int(start, 16), int(end, 16)
    if first >= after:
        raise ShardSelectorError(f"shard range start {start} must be less than end {end}")
    return field, first, after


def _field(node: ast.Expression) -> str:
    names: list[str] = []
    while isinstance(node, ast.Select):
        names.append(node.field)
        node = node.operand
    if not isinstance(node, ast.Identifier):
        expected = "expected field path (e.g. object.metadata.uid)"
        raise ShardSelectorError(f"shardRange() first argument: {expected}, got expression kind {_kind(node)}")
    return ".".join([node.name, *reversed(names)])


def _hash_text(node: ast.Expression, name: str) -> str:
    """Return a bound of a range as it is written: `0x` and 16 digits, or the end of all ranges."""
    if not isinstance(node, ast.Constant):
        raise ShardSelectorError(f"{name} must be a string literal (e.g. '0xff'), got expression kind {_kind(node)}")
    value = node.value
    if not isinstance(value, str):
        raise ShardSelectorError(f"{name} must be a string literal, got {_GO_TYPES[type(value)]}")
    if not value.startswith("0x"):
        raise ShardSelectorError(f"{name} must have '0x' prefix, got {quote(value)}")
    digits = value[2:]
    size = len(digits.encode())
    if not digits:
        raise ShardSelectorError(f"{name}: hex value is required after '0x'")
    if size > _DIGITS + 1:
        raise ShardSelectorError(f"{name}: hex value too long ({size} chars, max {_DIGITS + 1}): {quote(digits)}")
    for digit in digits:
        if digit not in "0123456789abcdef":
            raise ShardSelectorError(f"{name}: invalid hex character {quote(digit)} in {quote(value)}")
    if size > _DIGITS and value != _END:
        raise ShardSelectorError(f"{name}: {_DIGITS + 1}-digit hex value must be '{_END}' (2^64), got {quote(value)}")
    if size < _DIGITS:
        padded = f"0x{digits:0>{_DIGITS}}"
        raise ShardSelectorError(
            f"{name} must be a 0x-prefixed {_DIGITS}-digit hex value, got {quote(value)} (did you mean {quote(padded)}?)"
        )
    return value


def _kind(node: ast.Expression) -> int:
    return _KINDS[type(node)]

"""Estimates of the extension libraries lists and sets (cel-go ext/lists.go, ext/sets.go)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from apiext.schema.cel.ast import Constant, Uint
from apiext.schema.cel.cost.estimate import MAX_UINT64, ONE, Estimate, exactly
from apiext.schema.cel.cost.operand import CallEstimate, Invocation, Operand
from apiext.schema.cel.cost.standard import STRING_FACTOR, Estimator

LIST_COST: Final = exactly(10)
"""Cost units to create a list."""
_SORTABLE: Final = ("int", "uint", "double", "bool", "google.protobuf.Duration", "google.protobuf.Timestamp", "string", "bytes")


def _list_call(size: Estimate, factor: float = 1) -> CallEstimate:
    """Return the estimate of a function that creates a list."""
    return CallEstimate(size.scaled(factor).plus(ONE).plus(LIST_COST), size)


def _literal(operand: Operand, default: int) -> int:
    """Return an integer literal, 0 for a negative one, and the default for any other expression."""
    expression = operand.expression
    if not isinstance(expression, Constant) or not isinstance(expression.value, int) or isinstance(expression.value, bool | Uint):
        return default
    return max(expression.value, 0)


def _slice(call: Invocation) -> CallEstimate | None:
    if call.target is None:
        return None
    start, end = call.arguments
    length = _literal(end, call.declared_size(call.target).max) - _literal(start, 0)
    return _list_call(exactly(length & MAX_UINT64))


def _range(call: Invocation) -> CallEstimate:
    return _list_call(exactly(_literal(call.arguments[0], MAX_UINT64)))


def _reverse(call: Invocation) -> CallEstimate | None:
    return None if call.target is None else _list_call(call.declared_size(call.target))


def _flatten(call: Invocation) -> CallEstimate | None:
    if call.target is None:
        return None
    depth = _literal(call.arguments[0], MAX_UINT64) if call.arguments else 1
    return _list_call(call.declared_size(call.target), float(depth))


def _distinct(call: Invocation) -> CallEstimate | None:
    if call.target is None:
        return None
    size = call.declared_size(call.target)
    return _list_call(size.times(size), 2)


def _sort(call: Invocation) -> CallEstimate | None:
    if call.target is None:
        return None
    keys = call.arguments[0] if call.arguments else call.target
    size = call.declared_size(keys)
    is_text = call.overload.startswith(("list_string_", "list_bytes_"))
    return _list_call(size.times(size), 2 + STRING_FACTOR if is_text else 2)


def _sets(call: Invocation) -> CallEstimate:
    left, right = map(call.declared_size, call.arguments)
    factor = 2 if call.overload == "list_sets_equivalent_list" else 1
    return CallEstimate(left.times(right).scaled(factor).plus(ONE))


EXTENSION_ESTIMATORS: Final[Mapping[str, Estimator]] = {
    "list_slice": _slice,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "lists_range": _range,
    "list_reverse": _reverse,
    "list_distinct": _distinct,
    **{f"list_{kind}_{function}": _sort for kind in _SORTABLE for function in ("sort", "sortByAssociatedKeys")},
    "list_sets_contains_list": _sets,
    "list_sets_intersects_list": _sets,
    "list_sets_equivalent_list": _sets,
}
"""Estimates by overload. They take precedence over those of Kubernetes for functions of the same name."""

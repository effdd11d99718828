"""Estimates of CEL's standard functions and operators (cel-go checker/cost.go, functionCost)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from apiext.schema.cel.cost.estimate import MAX_UINT64, ONE, Estimate
from apiext.schema.cel.cost.operand import CallEstimate, Invocation, Operand

STRING_FACTOR: Final = 0.1
"""Cost units to traverse a character."""
PATTERN_FACTOR: Final = 0.25
"""Cost units of a character of a regular expression, for each unit of the text that it is matched with."""

Estimator = Callable[[Invocation], CallEstimate | None]
"""Returns the estimate of a call; None for a shape of call that it does not know, which costs 1."""


def match_cost(text: Estimate, pattern: Estimate) -> Estimate:
    """Return the cost to match a text with a regular expression, from their sizes; an empty text costs, too."""
    return text.plus(ONE).scaled(STRING_FACTOR).times(pattern.scaled(PATTERN_FACTOR))


def _traversal(operand: Operand | None) -> CallEstimate | None:
    return None if operand is None else CallEstimate(operand.size.scaled(STRING_FACTOR))


def _format(call: Invocation) -> CallEstimate | None:
    return _traversal(call.target)


def _affix(call: Invocation) -> CallEstimate | None:
    return _traversal(call.arguments[0]) if len(call.arguments) == 1 else None


def _string_to_bytes(call: Invocation) -> CallEstimate:
    size = call.arguments[0].size
    return CallEstimate(size.scaled(STRING_FACTOR), Estimate(size.min, size.max * 4 & MAX_UINT64))


def _bytes_to_string(call: Invocation) -> CallEstimate:
    size = call.arguments[0].size
    return CallEstimate(size.scaled(STRING_FACTOR), Estimate(size.min // 4, size.max))


def _quote(call: Invocation) -> CallEstimate:
    size = call.arguments[0].size
    return CallEstimate(size.scaled(STRING_FACTOR), Estimate(size.min + 2 & MAX_UINT64, size.max * 2 + 2 & MAX_UINT64))


def _in_list(call: Invocation) -> CallEstimate:
    return CallEstimate(call.arguments[1].size.scaled(1))


def _matches(call: Invocation) -> CallEstimate:
    text, pattern = call.arguments if call.target is None else (call.target, call.arguments[0])
    return CallEstimate(match_cost(text.size, pattern.size))


def _contains(call: Invocation) -> CallEstimate | None:
    if call.target is None:
        return None
    return CallEstimate(call.target.size.scaled(STRING_FACTOR).times(call.arguments[0].size.scaled(STRING_FACTOR)))


def _logical(call: Invocation) -> CallEstimate:
    left, right = (argument.cost for argument in call.arguments)
    return CallEstimate(Estimate(left.min, left.plus(right).max), includes_operands=True)


def _conditional(call: Invocation) -> CallEstimate:
    condition, left, right = call.arguments
    entries = left.entries.union(right.entries) if left.entries and right.entries else None
    cost = condition.cost.plus(left.cost.union(right.cost))
    return CallEstimate(cost, left.size.union(right.size), entries, includes_operands=True)


def _concatenation(call: Invocation) -> CallEstimate:
    left, right = call.arguments
    size = left.size.plus(right.size)
    entries = left.entries.union(right.entries) if left.entries and right.entries else None
    return CallEstimate(ONE if call.overload == "add_list" else size.scaled(STRING_FACTOR), size, entries)


def _comparison(call: Invocation) -> CallEstimate:
    left, right = call.arguments
    shorter = min(left.size.max, right.size.max)
    return CallEstimate(Estimate(1 if shorter else 0, shorter).scaled(STRING_FACTOR))


STANDARD_ESTIMATORS: Final[Mapping[str, Estimator]] = {
    "string_format": _format,
    "string_to_bytes": _string_to_bytes,
    "bytes_to_string": _bytes_to_string,
    "strings_quote": _quote,
    "starts_with_string": _affix,
    "ends_with_string": _affix,
    "in_list": _in_list,
    "matches": _matches,
    "matches_string": _matches,
    "contains_string": _contains,
    "logical_or": _logical,
    "logical_and": _logical,
    "conditional": _conditional,
    "add_string": _concatenation,
    "add_bytes": _concatenation,
    "add_list": _concatenation,
    **dict.fromkeys(
        (f"{order}_{kind}" for order in ("less", "less_equals", "greater", "greater_equals") for kind in ("string", "bytes")), _comparison
    ),
    "equals": _comparison,
    "not_equals": _comparison,
}
"""Estimates by overload. All other overloads cost 1."""

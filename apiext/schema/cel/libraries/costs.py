"""Run-time costs of calls (cel-go common/cost.go, apiserver pkg/cel/library/cost.go)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, cast

from apiext.base.meta.names import size
from apiext.schema.cel.cost.standard import PATTERN_FACTOR, STRING_FACTOR
from apiext.schema.cel.values.run_time_values import OpaqueValue

LIST_CREATION_COST: Final = 10
"""Cost of a list made by a call."""


def actual_size(value: object) -> int:
    """Return a value's size for costs: characters, bytes, elements or entries; 1 if it has none."""
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    return value.size() if isinstance(value, OpaqueValue) else 1


def string_cost(length: int, factor: float = STRING_FACTOR) -> int:
    """Return the cost of reading a text, rounded up."""
    return math.ceil(length * factor)


def pattern_cost(length: int, pattern_length: int) -> int:
    """Return the cost of matching a text. An empty text has a cost too."""
    return math.ceil((1 + length) * STRING_FACTOR) * math.ceil(pattern_length * PATTERN_FACTOR)


def read_once(arguments: Sequence[object], _result: object) -> int:
    """Return the cost of reading the first argument."""
    return string_cost(actual_size(arguments[0]))


def read_twice(arguments: Sequence[object], _result: object) -> int:
    """Return the cost of reading the first argument and a result of the same size."""
    return string_cost(actual_size(arguments[0]), 2 * STRING_FACTOR)


def traversal(arguments: Sequence[object], _result: object) -> int:
    """Return the cost of visiting every value in the first argument. Texts count their bytes."""
    pending, cost = [arguments[0]], 0
    while pending:
        value = pending.pop()
        if isinstance(value, str | bytes):
            cost += int((size(value) if isinstance(value, str) else len(value)) * STRING_FACTOR)
        elif isinstance(value, list):
            pending += value
        elif isinstance(value, dict):
            pending += value.keys()
            pending += value.values()
        else:
            cost += 1
    return cost


def allocation(length: int, factor: float) -> int:
    """Return the cost of making a list, with a factor for each element."""
    return int(length * (factor if factor >= 0 else 1.0)) + 1 + LIST_CREATION_COST


def matching(arguments: Sequence[object], _result: object) -> int:
    """Return the cost of matching the first argument, a text, against the second one, a regular expression."""
    text, pattern = cast("tuple[str, str]", arguments[:2])
    return pattern_cost(len(text), len(pattern))

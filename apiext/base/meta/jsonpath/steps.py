"""Evaluates JSONPath: each step maps the current values to the next ones.

Mirrors client-go util/jsonpath (jsonpath.go) on plain JSON values. A step raises EvalError if the values do not fit it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.golang import formatting
from apiext.base.meta.limits import MAX_PATH_VALUES, MAX_ROW_CHARACTERS

Values = list[Any]


class EvalError(ValueError):
    """A value that does not fit the path, or too many values."""


class Meter:
    """Counts the steps and values of a row's evaluation, and the text of its cells. Repeated unions and descents multiply the values."""

    __slots__ = ("_characters", "_values")

    def __init__(self) -> None:
        self._values = MAX_PATH_VALUES
        self._characters = MAX_ROW_CHARACTERS

    def take(self, values: Iterable[Any]) -> Values:
        """Return values as a list.

        Raises:
            EvalError: the row has taken more than MAX_PATH_VALUES steps and values, or MAX_ROW_CHARACTERS.
        """
        taken = values if type(values) is list else list(islice(values, max(self._values, 0)))
        self._values -= len(taken) + 1
        if self._values < 0 or self._characters < 0:
            raise EvalError("the values of the row are too many or too long")
        return taken

    def show(self, text: str) -> str:
        """Return the text of a cell, and count its characters."""
        self._characters -= len(text)
        return text


Step = Callable[[Values, Meter], Values]
"""One node of a path."""


def sequence(steps: Sequence[Step]) -> Step:
    """Return a step that applies several steps in order."""
    if len(steps) == 1:
        return steps[0]

    def run(values: Values, meter: Meter) -> Values:
        for step in steps:
            values = step(values, meter)
        return values

    return run


def constant(value: object) -> Step:
    """Return a step to a literal."""
    return lambda values, meter: meter.take(value for _ in values)


def member(name: str) -> Step:
    """Return a step to a field."""
    return lambda values, meter: meter.take([value[name] for value in values if isinstance(value, dict) and name in value])


def _members(value: Any) -> Values:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, str):
        return [number for char in value for number in char.encode()]
    return value if isinstance(value, list) else []


def wildcard(values: Values, meter: Meter) -> Values:
    """Step to all members and elements."""
    return meter.take(chain.from_iterable(map(_members, values)))


def recursive(values: Values, meter: Meter) -> Values:
    """Step to all values with members, at any depth."""
    return meter.take(_descendants(values))


def _descendants(values: Values) -> Iterator[Any]:
    pending = values[::-1]
    while pending:
        value = pending.pop()
        members = _members(value)
        if members:
            yield value
            pending += reversed(members)


def identifier(name: str) -> Step:
    """Return a step for a word that is not a literal. No value fits it."""

    def step(_values: Values, _meter: Meter) -> Values:
        raise EvalError(f"unrecognized identifier {name}")

    return step


def union(branches: Sequence[Step]) -> Step:
    """Return a step to the values of several branches."""
    return lambda values, meter: meter.take(chain.from_iterable(branch(values, meter) for branch in branches))


def elements(params: tuple[int | None, int | None, bool, int | None]) -> Step:
    """Return a step to a slice: start, end, whether the end was derived from the start (a single index), and stride."""
    start, end, derived, stride = params

    def step(values: Values, meter: Meter) -> Values:
        found: Values = []
        for value in values:
            if value is None:
                continue
            if not isinstance(value, list):
                raise EvalError(f"{type(value).__name__} is not array or slice")
            size = len(value)
            first, last = start or 0, size if end is None else end
            first += size if first < 0 else 0
            last += size if last < 0 or (last == 0 and derived) else 0
            if first == last:
                return found
            if not 0 <= first < size or not 0 <= last <= size or first > last:
                raise EvalError("array index out of bounds")
            if stride is not None and stride <= 0:
                raise EvalError("step must be > 0")
            found += meter.take(value[first : last : stride or 1])
        return found

    return step


def _filtered(values: Values, meter: Meter) -> Values:
    for value in values:
        if not isinstance(value, list):
            raise EvalError(f"{type(value).__name__} is not array or slice and cannot be filtered")
    return meter.take(chain.from_iterable(values))


def exists(inner: Step) -> Step:
    """Return a step to the elements in which a path finds values."""
    return lambda values, meter: meter.take([element for element in _filtered(values, meter) if _try(inner, element, meter)])


def _try(inner: Step, element: Any, meter: Meter) -> Values:
    try:
        return inner([element], meter)
    except EvalError:
        return []


def compare(left: Step, operator: str, right: Step) -> Step:
    """Return a step to the elements that satisfy a comparison."""

    def step(values: Values, meter: Meter) -> Values:
        found: Values = []
        for element in _filtered(values, meter):
            lefts = left([element], meter)
            rights = right([element], meter) if lefts else []
            if len(lefts) > 1 or len(rights) > 1:
                raise EvalError("can only compare one element at a time")
            if lefts and rights and _holds(lefts[0], operator, rights[0]):
                found.append(element)
        return found

    return step


def _holds(left: Any, operator: str, right: Any) -> bool:
    if _basic_kind(left) != _basic_kind(right):
        raise EvalError("incompatible types for comparison")
    match operator:
        case "==":
            return bool(left == right)
        case "!=":
            return bool(left != right)
        case "<" | ">" | "<=" | ">=" if not isinstance(left, bool):
            ordered = left < right if operator[0] == "<" else left > right
            return bool(ordered or (len(operator) == 2 and left == right))
    raise EvalError(f"unrecognized filter operator {operator}")


def _basic_kind(value: Any) -> str:
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind.__name__
    raise EvalError("invalid type for comparison")


def print_value(value: Any) -> str:
    """Return a value as the reference prints it: JSON for maps and lists, Go's %v for scalars."""
    if isinstance(value, dict | list):
        return json_codec.dumps(value).decode()
    return "<no value>" if value is None else formatting.value(value)

"""The inverse of rules, and where rules put fields."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from apiext.resources.conversion.rules import model
from apiext.resources.conversion.rules.model import EACH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.resources.conversion.rules.model import FieldSteps, Rule


def inverse(rule: Rule) -> Rule:
    """Return the rule that puts each field back to where it was."""
    match rule:
        case model.Move(source, target):
            return model.Move(target, source)
        case model.Wrap(path, member):
            return model.Unwrap(path, member)
        case model.Unwrap(path, member):
            return model.Wrap(path, member)
        case model.ListToMap(path, key, value):
            return model.MapToList(path, key, value)
        case model.MapToList(path, key, value):
            return model.ListToMap(path, key, value)
        case model.Split(source, targets, separator, last):
            return model.Join(targets, source, separator, last=last)
        case model.Join(sources, target, separator, last):
            return model.Split(target, sources, separator, last=last)
    return rule


class MovedPaths:
    """Where the rules of a spoke put fields. Each question takes time by the rules that move the field, not by all."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._count = len(rules)
        self._forth = _Movers(rules)
        self._back = _Movers([inverse(rule) for rule in reversed(rules)])

    def after(self, path: FieldSteps, begin: int) -> FieldSteps | None:
        """Return the place in the hub of a field that is at the path before the rule at a position; None if it has none."""
        return self._forth.moved(path, begin)

    def before(self, path: FieldSteps, end: int) -> FieldSteps | None:
        """Return the place in the spoke of a field that is at the path before the rule at a position; None if it had none."""
        return self._back.moved(path, self._count - end)


class _Movers:
    """Rules in an order, by the places from which they move fields."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self._positions: dict[FieldSteps, list[int]] = {}
        for position, rule in enumerate(rules):
            for place in _sources(rule):
                self._positions.setdefault(place, []).append(position)

    def moved(self, path: FieldSteps, begin: int) -> FieldSteps | None:
        """Return the place that a field has after the rules from a position on; None if it has none."""
        found: FieldSteps | None = path
        while found is not None and (position := self._next(found, begin)) < len(self._rules):
            found, begin = _moved(found, self._rules[position]), position + 1
        return found

    def _next(self, path: FieldSteps, begin: int) -> int:
        """Return the position of the next rule that may move a field, their number without one."""
        first = len(self._rules)
        for length in range(1, len(path) + 1):
            positions = self._positions.get(path[:length])
            if positions is not None and (index := bisect_left(positions, begin)) < len(positions):
                first = min(first, positions[index])
        return first


def _sources(rule: Rule) -> tuple[FieldSteps, ...]:
    """Return the places from which a rule moves fields, or what is below them."""
    match rule:
        case model.Move(source=source) | model.Split(source=source):
            return (source,)
        case model.Join(sources=sources):
            return sources
        case model.Wrap(path=path) | model.Unwrap(path=path) | model.ListToMap(path=path) | model.MapToList(path=path):
            return (path,)
    return ()


def _moved(path: FieldSteps, rule: Rule) -> FieldSteps | None:
    match rule:
        case model.Move(source, target):
            return target + path[len(source) :] if _is_within(path, source) else path
        case model.Wrap(place, member) if _is_within(path, place):
            return (*place, EACH if member is None else member, *path[len(place) :])
        case model.Unwrap(place, member) if _is_within(path, place):
            inner = (*place, EACH if member is None else member)
            return place + path[len(inner) :] if _is_within(path, inner) else place if path == place else None
        case model.ListToMap(place, key, value) if _is_within(path, (*place, EACH)) and len(path) > len(place) + 1:
            member, rest = path[len(place) + 1], path[len(place) + 2 :]
            if member == key:
                return None
            return path if value is None else (*place, EACH, *rest) if member == value else None
        case model.MapToList(place, _, value) if value is not None and _is_within(path, (*place, EACH)):
            return (*place, EACH, value, *path[len(place) + 1 :])
        case model.Split(source=source) if _is_within(path, source):
            return None
        case model.Join(sources=sources) if any(_is_within(path, source) for source in sources):
            return None
    return path


def _is_within(path: FieldSteps, place: FieldSteps) -> bool:
    return path[: len(place)] == place

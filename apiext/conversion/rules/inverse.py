"""The inverse of rules, and where rules put fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.conversion.rules import model
from apiext.conversion.rules.model import EACH

if TYPE_CHECKING:
    from collections.abc import Iterable

    from apiext.conversion.rules.model import FieldSteps, Rule


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


def hub_path(path: FieldSteps, rules: Iterable[Rule]) -> FieldSteps | None:
    """Return the place that a field has after rules, None if it has none."""
    found: FieldSteps | None = path
    for rule in rules:
        if found is None:
            return None
        found = _moved(found, rule)
    return found


def spoke_path(path: FieldSteps, rules: Iterable[Rule]) -> FieldSteps | None:
    """Return the place that a field had before rules, None if it had none."""
    return hub_path(path, [inverse(rule) for rule in reversed(list(rules))])


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

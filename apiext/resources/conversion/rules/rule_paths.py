"""The paths that a rule names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.resources.conversion.rules import model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.resources.conversion.rules.model import FieldSteps, Rule


def named_paths(rule: Rule) -> Iterator[FieldSteps]:
    """Yield the paths of all fields that a rule names, with those below by name."""
    match rule:
        case model.Move(source, target) | model.Copy(source, target):
            yield from (source, target)
        case model.Split(source=whole, targets=parts) | model.Join(target=whole, sources=parts):
            yield from (whole, *parts)
        case model.Expressions(to_hub, to_spoke):
            yield from (each.path for each in (*to_hub, *to_spoke))
        case model.ListToMap(path, key, value) | model.MapToList(path, key, value):
            yield (*path, key, value or key)
        case model.Wrap(path, member) | model.Unwrap(path, member):
            yield (*path, member or model.EACH)
        case _:
            yield rule.path

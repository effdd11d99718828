"""The fields that rules drop on purpose, as places in the version that has them: they are not carried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.resources.conversion.rules.inverse import MovedPaths
from apiext.resources.conversion.rules.model import EACH, Drop, Side

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from apiext.resources.conversion.rules.model import ConversionRules, FieldSteps, Rule


class DeclaredLosses:
    """The fields that rules drop."""

    def __init__(self, rules: ConversionRules) -> None:
        self._rules = {spoke.version: spoke.rules for spoke in rules.spokes}
        self._known: dict[tuple[str, str], list[FieldSteps]] = {}

    def between(self, source: str, target: str) -> list[FieldSteps]:
        """Return the fields of the source version that the conversion to the target version drops on purpose."""
        found = self._known.get((source, target))
        if found is None:
            found = self._known[source, target] = self._between(source, target)
        return found

    def _between(self, source: str, target: str) -> list[FieldSteps]:
        # the hub has no rules
        to_hub, to_target = self._rules.get(source, ()), self._rules.get(target, ())
        moves = MovedPaths(to_hub)
        in_source = (moves.before(path, len(to_hub)) for path in _losses_to_spoke(to_target))
        return [*_losses_to_hub(to_hub, moves), *(path for path in in_source if path is not None)]


def ignore_losses(original: Any, returned: Any, losses: Sequence[FieldSteps]) -> Any:
    """Return an object with the values of the returned one at the places of declared losses. It shares values with both."""
    for steps in losses:
        original = _ignored(original, returned, steps)
    return original


def _ignored(original: Any, returned: Any, steps: FieldSteps) -> Any:
    step, below = steps[0], steps[1:]
    if type(original) is list:
        if step != EACH or not below:
            return original
        others = returned if type(returned) is list and len(returned) == len(original) else [None] * len(original)
        return [_ignored(item, other, below) for item, other in zip(original, others, strict=True)]
    if type(original) is not dict:
        return original
    known, found = returned if type(returned) is dict else {}, original.copy()
    for name in list(original) if step == EACH else [step] if step in original or step in known else []:
        if below:
            if name in original:
                found[name] = _ignored(original[name], known.get(name), below)
        elif name in known:
            found[name] = known[name]
        else:
            found.pop(name, None)
    return found


def _losses_to_hub(rules: Sequence[Rule], moves: MovedPaths) -> Iterator[FieldSteps]:
    """Yield the paths in the spoke of the fields that its rules drop on the way to the hub."""
    for position, rule in enumerate(rules):
        if isinstance(rule, Drop) and rule.side is Side.SPOKE and (path := moves.before(rule.path, position)) is not None:
            yield path


def _losses_to_spoke(rules: Sequence[Rule]) -> Iterator[FieldSteps]:
    """Yield the paths in the hub of the fields that a spoke's rules drop on the way to the spoke."""
    moves = MovedPaths(rules)
    for position, rule in enumerate(rules):
        if isinstance(rule, Drop) and rule.side is Side.HUB and (path := moves.after(rule.path, position + 1)) is not None:
            yield path

"""The fields that rules drop on purpose, as places in the version that has them: they are not carried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.conversion.rules.inverse import hub_path, spoke_path
from apiext.conversion.rules.model import EACH, Drop, Side
from apiext.meta.encoding import json_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from apiext.conversion.rules.model import ConversionRules, FieldSteps, Rule


class DeclaredLosses:
    """The fields that rules drop."""

    def __init__(self, rules: ConversionRules) -> None:
        self._rules = {spoke.version: spoke.rules for spoke in rules.spokes}

    def between(self, source: str, target: str) -> list[FieldSteps]:
        """Return the fields of the source version that the conversion to the target version drops on purpose."""
        # the hub has no rules
        to_hub, to_target = self._rules.get(source, ()), self._rules.get(target, ())
        in_source = (spoke_path(path, to_hub) for path in _losses_to_spoke(to_target))
        return [*_losses_to_hub(to_hub), *(path for path in in_source if path is not None)]


def ignore_losses(original: Any, returned: Any, losses: Sequence[FieldSteps]) -> None:
    """Give an object the values of the returned one, in place, at the places of declared losses."""
    for steps in losses:
        _ignore(original, returned, steps)


def _ignore(original: Any, returned: Any, steps: FieldSteps) -> None:
    step, below = steps[0], steps[1:]
    if type(original) is list:
        others = returned if type(returned) is list and len(returned) == len(original) else [None] * len(original)
        for item, other in zip(original, others, strict=True):
            if step == EACH and below:
                _ignore(item, other, below)
        return
    if type(original) is not dict:
        return
    known = returned if type(returned) is dict else {}
    for name in list(original) if step == EACH else [step] if step in original or step in known else []:
        if below:
            _ignore(original.get(name), known.get(name), below)
        elif name in known:
            original[name] = json_values.copy(known[name])
        else:
            original.pop(name, None)


def _losses_to_hub(rules: Sequence[Rule]) -> Iterator[FieldSteps]:
    """Yield the paths in the spoke of the fields that its rules drop on the way to the hub."""
    for position, rule in enumerate(rules):
        if isinstance(rule, Drop) and rule.side is Side.SPOKE and (path := spoke_path(rule.path, rules[:position])) is not None:
            yield path


def _losses_to_spoke(rules: Sequence[Rule]) -> Iterator[FieldSteps]:
    """Yield the paths in the hub of the fields that a spoke's rules drop on the way to the spoke."""
    for position, rule in enumerate(rules):
        if isinstance(rule, Drop) and rule.side is Side.HUB and (path := hub_path(rule.path, rules[position + 1 :])) is not None:
            yield path

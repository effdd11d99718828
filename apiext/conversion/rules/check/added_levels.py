"""How much deeper rules nest values: a static bound, so that no converted object is nested too deeply to be written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.conversion.rules import model
from apiext.conversion.rules.inverse import inverse
from apiext.conversion.rules.model import EACH
from apiext.conversion.rules.paths import path_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.conversion.rules.check.places import PlacedRule
    from apiext.conversion.rules.check.report import CheckReport
    from apiext.conversion.rules.model import FieldSteps, Rule

MAX_ADDED_LEVELS: Final = 20
"""Levels of objects and lists that the rules of a spoke may add to a value in one direction. With those of two spokes an object of
`limits.MAX_DEPTH` can still be written."""


def check_added_levels(rules: Sequence[PlacedRule], report: CheckReport) -> None:
    """Report the rules of a spoke that nest a value too deeply, in either direction."""
    for ordered, forth in ((rules, True), (tuple(reversed(rules)), False)):
        levels = _Levels()
        for each in ordered:
            found = levels.take(each.rule if forth else inverse(each.rule), copies=forth)
            if found is not None and found[1] > MAX_ADDED_LEVELS:
                path, number = found
                text = f"{path_text(path)} can be nested {number} levels deeper than before, and rules may add {MAX_ADDED_LEVELS}"
                report.problem(each.name, text)
                break


class _Levels:
    """The levels that rules have added to values so far, by the path of the value."""

    def __init__(self) -> None:
        self._added: dict[FieldSteps, int] = {}
        self._within: dict[FieldSteps, int] = {}
        """The greatest number at a path and below."""

    def take(self, rule: Rule, *, copies: bool) -> tuple[FieldSteps, int] | None:
        """Note what a rule adds. Return the path and the levels that the value there has now; None if it adds none."""
        match rule:
            case model.Move(source, target):
                return self._put(target, self._at(source) + len(target) - len(source))
            case model.Copy(source, target) if copies:
                return self._put(target, self._at(source) + len(target) - len(source))
            case model.Wrap(path, member):
                return self._put((*path, EACH if member is None else member), self._at(path) + 1)
            case model.MapToList(path, _, value) if value is not None:
                return self._put((*path, EACH, value), self._at(path) + 1)
        return None

    def _at(self, path: FieldSteps) -> int:
        around = (self._added.get(path[:length], 0) for length in range(1, len(path)))
        return max(self._within.get(path, 0), *around, 0)

    def _put(self, path: FieldSteps, levels: int) -> tuple[FieldSteps, int] | None:
        if levels <= 0:
            return None
        self._added[path] = max(levels, self._added.get(path, 0))
        for length in range(1, len(path) + 1):
            self._within[path[:length]] = max(levels, self._within.get(path[:length], 0))
        return path, levels

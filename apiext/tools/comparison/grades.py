"""Grades of changes: the rules' own, and what a file of grades sets for rules, definitions, versions and fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

from apiext.tools.comparison.change import Change, Grade, Hurts, UngradedChange
from apiext.tools.comparison.rules import RULES

_ALL: Final = "*"


@dataclass(frozen=True, slots=True)
class Place:
    """Which changes a grade is for. Patterns have `*` and `?`."""

    definition: str = _ALL
    """Pattern of the definition's name, `widgets.example.com`."""
    version: str = _ALL
    """Pattern of the version."""
    path: str = ""
    """A field: the place has it and the fields below it. Empty: all."""

    def has(self, definition: str, version: str, path: str) -> bool:
        """Report whether a change is here."""
        if not fnmatchcase(definition, self.definition) or not fnmatchcase(version, self.version):
            return False
        return not self.path or (path.startswith(self.path) and path[len(self.path) : len(self.path) + 1] in ("", ".", "["))


@dataclass(frozen=True, slots=True)
class GradesAt:
    """Grades for a place."""

    place: Place
    rules: Mapping[str, Grade]


@dataclass(frozen=True, slots=True)
class ExceptionAt:
    """Changes to ignore at a place, and why."""

    place: Place
    rules: frozenset[str]
    """Names of rules; empty for all."""
    reason: str


@dataclass(frozen=True, slots=True)
class Grades:
    """Grades of changes. Without arguments, the rules' own."""

    rules: Mapping[str, Grade] = field(default_factory=dict)
    """Grades by the name of the rule."""
    places: Sequence[GradesAt] = ()
    """Grades for places; the last one that fits counts."""
    exceptions: Sequence[ExceptionAt] = ()
    """The first one that fits counts, before all grades."""
    compares_converted_versions: bool = False
    """Whether the served versions of a definition are compared even if a webhook converts between them."""

    def graded(self, change: UngradedChange, definition: str, version: str, *, is_used: bool = True) -> Change:
        """Return a change with its grade.

        Args:
            change: the change.
            definition: name of the definition.
            version: the version, as in Change.
            is_used: whether clients can use what changes: the version is served before and after, a webhook would be called. If not,
                few changes hurt.
        """
        rule = RULES[change.rule]
        hurts, grade, reason = rule.hurts, rule.grade, ""
        if not is_used and not rule.hurts_unserved and hurts is not Hurts.NOBODY:
            hurts, grade = Hurts.NOBODY, Grade.NOTE
        grade = self.rules.get(rule.name, grade)
        for at in self.places:
            if rule.name in at.rules and at.place.has(definition, version, change.path):
                grade = at.rules[rule.name]
        for exception in self.exceptions:
            if (not exception.rules or rule.name in exception.rules) and exception.place.has(definition, version, change.path):
                grade, reason = Grade.IGNORE, exception.reason
                break
        return Change(rule.name, version, change.path, change.message, hurts, grade, reason)

"""What breaks, and what to know, in lines: one for each field of a definition, with all versions in which the same happens."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from apiext.resources.comparison.change import Grade
from apiext.resources.comparison.definition_comparison import PAIR
from apiext.tools.plan import verdict
from apiext.tools.reports.texts import listed, named

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from apiext.resources.comparison.change import Change
    from apiext.tools.judgement.outcome import ObjectFinding
    from apiext.tools.plan.plan import DefinitionPlan, VersionsReport

_MISSING: Final = frozenset({"fieldRemoved", "newFieldMissing"})
"""Rules about a field that one of two versions lacks."""


def break_lines(plan: DefinitionPlan) -> list[str]:
    """Return why a plan is breaking, the worst first; what only deprecated versions or the status are about comes last."""
    return _lines(plan, plan.breaks)


def caution_lines(plan: DefinitionPlan) -> list[str]:
    """Return what a person should know, in the same order: the cautions, and the changes that are graded as warnings."""
    return _lines(plan, (*plan.cautions, *(verdict.text_of_change(one) for one in plan.changes if one.grade is Grade.WARNING)))


def _lines(plan: DefinitionPlan, reasons: Collection[str]) -> list[str]:
    wanted, known = set(reasons), set()
    rows: dict[str, _FieldRow] = {}
    for change in plan.changes:
        if (text := verdict.text_of_change(change)) in wanted:
            known.add(text)
            rows.setdefault(change.path or change.message, _FieldRow(change.path)).add_change(change)
    for finding in plan.objects.findings if plan.objects is not None else ():
        if (text := verdict.text_of_finding(finding)) in wanted:
            known.add(text)
            rows.setdefault(finding.path or finding.message, _FieldRow(finding.path)).add_finding(finding)
    deprecated = _deprecated(plan.versions)
    others = [line for line in dict.fromkeys(reasons) if line not in known]
    return others + [row.text(deprecated) for row in sorted(rows.values(), key=lambda row: row.rank(deprecated))]


@dataclass(slots=True)
class _FieldRow:
    """A field, with all that happens to it."""

    path: str
    messages: dict[str, list[str]] = field(default_factory=dict)
    """Versions by the message of a change."""
    missing: dict[str, list[str]] = field(default_factory=dict)
    """Pairs of versions of which the second one lacks the field, by rule."""
    findings: dict[str, list[ObjectFinding]] = field(default_factory=dict)
    """Findings by their message, one for each version."""

    def add_change(self, change: Change) -> None:
        """Add a change of the field."""
        is_missing = PAIR in change.version and change.rule in _MISSING
        found, key = (self.missing, change.rule) if is_missing else (self.messages, change.message)
        found.setdefault(key, []).append(change.version)

    def add_finding(self, finding: ObjectFinding) -> None:
        """Add what happens to the field in objects."""
        self.findings.setdefault(finding.message, []).append(finding)

    def rank(self, deprecated: Collection[str]) -> tuple[bool, bool, bool]:
        """Return the order of rows: the worst first."""
        changed = [version for found in (*self.messages.values(), *self.missing.values()) for version in found]
        versions = [_target(version) for version in changed] + [one.version for found in self.findings.values() for one in found]
        is_deprecated = all(version in deprecated for version in versions)
        return is_deprecated, self.path.partition(".")[0] == "status", not self.findings

    def text(self, deprecated: Collection[str]) -> str:
        """Return the line."""
        missing = [self._missing(rule, deprecated) for rule in self.missing]
        if not self.messages and not self.findings:
            return "; ".join(missing)
        parts = [
            f"{message}{_in_brackets([one for one in versions if not self._is_named(one, message)], deprecated)}"
            for message, versions in self.messages.items()
        ]
        # that a version lacks what was removed from it needs no words
        removed = {version for message, versions in self.messages.items() if message.endswith("was removed") for version in versions}
        if any(_target(pair) not in removed for pairs in self.missing.values() for pair in pairs):
            parts += missing
        for message, found in self.findings.items():
            most = max(found, key=lambda one: one.count)
            versions = [] if self.messages else [one.version for one in found]
            parts.append(named(most.count, f"{message}{_in_brackets(versions, deprecated)}", most.examples))
        return f"{self.path}: {'; '.join(parts)}" if self.path else "; ".join(parts)

    def _is_named(self, version: str, message: str) -> bool:
        """Report whether a message names a version, or both of a pair."""
        return (not self.path or PAIR in version) and {*version.split(PAIR)} <= {*re.findall(r"\w+", message)}

    def _missing(self, rule: str, deprecated: Collection[str]) -> str:
        pairs = [version.split(PAIR) for version in self.missing[rule]]
        has, lacks = (_ordered((pair[place] for pair in pairs), deprecated) for place in (0, 1))
        new = " (new)" if rule == "newFieldMissing" else ""
        verb, other = ("has" if len(has) == 1 else "have"), ("lacks" if len(lacks) == 1 else "lack")
        return f"{listed(has)} {verb} {self.path}{new}, {listed(lacks)} {other} it: writes there remove it"


def _target(version: str) -> str:
    """Return the second one of a pair of versions, or the version."""
    return version.rpartition(PAIR)[2]


def _in_brackets(versions: Collection[str], deprecated: Collection[str]) -> str:
    # what changes in a version differs from the other versions, too
    found = _ordered((one for one in versions if one and (PAIR not in one or _target(one) not in versions)), deprecated)
    return f" ({', '.join(found)})" if found else ""


def _ordered(versions: Iterable[str], deprecated: Collection[str]) -> list[str]:
    """Return each version once, pairs after others and deprecated ones last."""
    return sorted(dict.fromkeys(versions), key=lambda version: (_target(version) in deprecated, PAIR in version))


def _deprecated(report: VersionsReport | None) -> Collection[str]:
    return {row.name for row in report.rows if (role := row.after or row.before) is not None and role.deprecated} if report else ()

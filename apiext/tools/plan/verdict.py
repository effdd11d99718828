"""From changes, findings and steps to a verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from apiext.resources.comparison.change import Grade
from apiext.tools.judgement.outcome import FindingKind
from apiext.tools.plan.plan import Need, Safety, StepKind
from apiext.tools.reports.texts import named, placed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from apiext.resources.comparison.change import Change
    from apiext.tools.judgement.outcome import ObjectFinding, ObjectsReport
    from apiext.tools.plan.plan import PlanStep, ReleasePlan

HARMS: Final = frozenset(
    {
        FindingKind.UNREADABLE,
        FindingKind.UNKNOWN_VERSION,
        FindingKind.PRUNED,
        FindingKind.CHANGED,
        FindingKind.STUCK,
        FindingKind.STUCK_STATUS,
        FindingKind.LOST,
        FindingKind.ALTERED,
        FindingKind.RESURRECTED,
        FindingKind.UNCONVERTIBLE,
        FindingKind.UNAPPLIED,
        FindingKind.APPLIER,
        FindingKind.MANAGER,
    }
)
"""What may not happen to an object."""
_LOSSES: Final = frozenset({FindingKind.PRUNED, FindingKind.LOST})
_CAUTIONS: Final = frozenset({FindingKind.INVALID, FindingKind.TOLERATED, FindingKind.CONFLICT})
"""What a person should know before."""


def verdict_of(breaks: Sequence[str], steps: Iterable[PlanStep]) -> Safety:
    """Return the verdict."""
    if breaks:
        return Safety.BREAKING
    needed = any(step.need is Need.REQUIRED and step.kind is not StepKind.APPLY for step in steps)
    return Safety.STEPS if needed else Safety.SAFE


def solved_findings(steps: Iterable[PlanStep]) -> frozenset[FindingKind]:
    """Return the harm that steps undo."""
    return frozenset({FindingKind.MANAGER} if any(step.kind is StepKind.REAPPLY for step in steps) else ())


def breaks_by_changes(changes: Iterable[Change], solved: Collection[str] = ()) -> list[str]:
    """Return the changes that are graded as errors, as reasons; `solved` are rules whose changes the steps make harmless."""
    return [text_of_change(change) for change in changes if change.grade is Grade.ERROR and change.rule not in solved]


def breaks_by_objects(report: ObjectsReport | None, solved: frozenset[FindingKind] = frozenset()) -> list[str]:
    """Return the harm to objects that have none under the old definition; `solved` is what the steps undo."""
    return [text_of_finding(finding) for finding in _new(report, HARMS - solved)]


def without_defaults(back: ObjectsReport | None, forward: ObjectsReport | None) -> ObjectsReport | None:
    """Return the report about a rollback without the loss of fields that only defaults of the release have set."""
    if back is None or forward is None:
        return back
    given = [finding for finding in forward.findings if finding.kind is FindingKind.DEFAULTED]

    def is_default(finding: ObjectFinding) -> bool:
        return finding.kind in _LOSSES and any(
            finding.count <= one.count and f"{finding.path}.".replace("[", ".[").startswith(f"{one.path}.") for one in given
        )

    return replace(back, findings=[finding for finding in back.findings if not is_default(finding)])


def without_known(back: ObjectsReport | None, before: ObjectsReport | None) -> ObjectsReport | None:
    """Return the report about a rollback without what happens to as many objects before the release, too."""
    if back is None or before is None:
        return back
    counts: dict[tuple[str, str, str], int] = {}
    for finding in before.findings:
        key = finding.kind, finding.version, finding.path
        counts[key] = counts.get(key, 0) + finding.count
    left = [finding for finding in back.findings if finding.count > counts.get((finding.kind, finding.version, finding.path), 0)]
    return replace(back, findings=left)


def cautions_by_objects(report: ObjectsReport | None) -> list[str]:
    """Return what happens to objects without harm, and what could not be judged."""
    if report is None:
        return []
    found = [text_of_finding(finding) for finding in _new(report, _CAUTIONS)]
    return found + [f"{part.what}: not judged, since {part.reason}" for part in report.not_judged]


def has_warnings(plan: ReleasePlan) -> bool:
    """Report whether a person should look at something, although nothing breaks."""
    return any(one.cautions or any(change.grade is Grade.WARNING for change in one.changes) for one in plan.definitions)


def text_of_change(change: Change) -> str:
    """Return a change with its place."""
    return placed(change.version, change.path, change.message)


def text_of_finding(finding: ObjectFinding) -> str:
    """Return a finding with its place, its number of objects and the first of them."""
    return named(finding.count, placed(finding.version, finding.path, finding.message), finding.examples)


def is_new(finding: ObjectFinding) -> bool:
    """Report whether an object has the finding that did not have it under the old definition."""
    return finding.count > finding.already


def _new(report: ObjectsReport | None, kinds: frozenset[FindingKind]) -> list[ObjectFinding]:
    return [finding for finding in (report.findings if report else ()) if finding.kind in kinds and is_new(finding)]

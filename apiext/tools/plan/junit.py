"""A plan as JUnit XML: a test suite for each definition, a test case for each change, finding and refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.resources.comparison.change import Grade
from apiext.tools.plan import summary, verdict
from apiext.tools.plan.plan import Safety
from apiext.tools.reports.junit import FindingOutcome, ReportFinding, ReportSection, junit_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.tools.plan.plan import DefinitionPlan, ReleasePlan


def junit_of(plan: ReleasePlan) -> str:
    """Return a plan as JUnit XML. A case fails if it makes the plan breaking."""
    return junit_text("apiext plan", [ReportSection(one.name, _findings(one)) for one in plan.definitions])


def _findings(plan: DefinitionPlan) -> Iterator[ReportFinding]:
    known: set[str] = set()
    for change in plan.changes:
        text = verdict.text_of_change(change)
        known.add(text)
        failure = text if change.grade is Grade.ERROR and text in plan.breaks else ""
        yield _finding(plan, f"{change.rule} {change.version} {change.path}", f"{change.grade}: {text}", failure)
    for finding in plan.objects.findings if plan.objects is not None else ():
        text = verdict.text_of_finding(finding)
        known.add(text)
        yield _finding(plan, f"objects {finding.kind} {finding.version} {finding.path}", text, text if text in plan.breaks else "")
    steps = "; ".join(summary.step_title(number, step) for number, step in enumerate(plan.steps, 1))
    rest = [line for line in plan.breaks if line not in known]
    yield _finding(plan, "verdict", f"{summary.VERDICTS[plan.verdict]}{': ' if steps else ''}{steps}", "\n".join(rest))
    if (way := plan.way_back) is not None:
        skipped = "\n".join(way.breaks) if way.verdict is Safety.BREAKING else ""
        yield _finding(plan, "rollback", summary.rollback_line(way), skipped, FindingOutcome.SKIPPED)


def _finding(plan: DefinitionPlan, name: str, output: str, reason: str, outcome: FindingOutcome = FindingOutcome.FAILED) -> ReportFinding:
    """Return a finding that has passed unless there is a reason."""
    return ReportFinding(plan.name, " ".join(name.split()), outcome if reason else FindingOutcome.PASSED, reason, output)

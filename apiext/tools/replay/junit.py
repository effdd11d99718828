"""A replay as JUnit XML: a test suite for each transition, a test case for each definition, step and problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.tools.plan.summary import step_title
from apiext.tools.replay.text import text_of_problem, title_of
from apiext.tools.reports.junit import FindingOutcome, ReportFinding, ReportSection, junit_text
from apiext.tools.reports.texts import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.tools.replay.outcome import DefinitionReplay, ReleaseChange, ReplayReport


def junit_of(report: ReplayReport) -> str:
    """Return a replay as JUnit XML. A case fails if something is lost, or happens that the plan does not foretell."""
    return junit_text("apiext replay", [ReportSection(title_of(one), _findings(one)) for one in report.transitions])


def _findings(transition: ReleaseChange) -> Iterator[ReportFinding]:
    for part in transition.definitions:
        for number, taken in enumerate(part.steps, 1):
            yield _finding(part, step_title(number, taken.step), failure=taken.problem)
        yield _finding(part, f"{part.objects} objects", output="; ".join(part.not_proved))
        for problem in part.problems:
            text = text_of_problem(problem)
            name = " ".join(filter(None, (problem.kind, problem.version, problem.path)))
            yield _finding(part, name, failure=text if problem.is_harm else "", output=text)


def _finding(part: DefinitionReplay, name: str, *, failure: str = "", output: str = "") -> ReportFinding:
    outcome = FindingOutcome.FAILED if failure else FindingOutcome.PASSED
    return ReportFinding(part.name, name, outcome, printable(failure), printable(output))

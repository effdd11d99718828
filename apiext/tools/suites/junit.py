"""A run of suites as JUnit XML: a test suite for each file and manifest, a test case for each case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.tools.reports.junit import FindingOutcome, ReportFinding, ReportSection, junit_text
from apiext.tools.reports.texts import printable
from apiext.tools.suites.model import CaseOutcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.tools.suites.model import FinishedCase
    from apiext.tools.suites.report import RunReport

_OUTCOMES: Final = {
    CaseOutcome.PASSED: FindingOutcome.PASSED,
    CaseOutcome.FAILED: FindingOutcome.FAILED,
    CaseOutcome.ERROR: FindingOutcome.ERROR,
}
_COLLECTION: Final = "collection"


def junit_of(report: RunReport) -> str:
    """Return a run as JUnit XML."""
    return junit_text("apiext test", _sections(report))


def _sections(report: RunReport) -> Iterator[ReportSection]:
    cases = sorted(report.finished, key=lambda each: each.place)
    suites: dict[str, list[ReportFinding]] = {}
    for each in cases:
        suites.setdefault(f"{each.variant.suite.path}::{each.variant.label}", []).append(_finding(each))
    yield from (ReportSection(name, findings) for name, findings in suites.items())
    if report.problems:
        yield ReportSection(_COLLECTION, [_problem(printable(text)) for text in report.problems])


def _problem(text: str) -> ReportFinding:
    return ReportFinding(_COLLECTION, text.partition(": ")[0], FindingOutcome.ERROR, text)


def _finding(finished: FinishedCase) -> ReportFinding:
    case, result, suite = finished.case, finished.result, finished.variant.suite
    about = {"file": str(suite.path), "line": str(case.line), "time": f"{result.seconds:.4f}"}
    return ReportFinding(f"{suite.crd_name}.{case.kind}", case.name, _OUTCOMES[result.outcome], result.message, attributes=about)

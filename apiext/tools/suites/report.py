"""The report of a run: its results and its verdict, as a JSON document, and as JUnit XML: a test suite for each file and manifest."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from apiext.base.meta.encoding import json_values
from apiext.tools.reports.junit import FindingOutcome, ReportFinding, ReportSection, junit_text
from apiext.tools.reports.texts import printable
from apiext.tools.suites.model import CaseOutcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.suites.coverage.coverage import VersionCoverage
    from apiext.tools.suites.model import FinishedCase

API_VERSION: Final = "lab.apiext.dev/v1alpha1"
KIND: Final = "SuiteReport"
_OUTCOMES: Final = {
    CaseOutcome.PASSED: FindingOutcome.PASSED,
    CaseOutcome.FAILED: FindingOutcome.FAILED,
    CaseOutcome.ERROR: FindingOutcome.ERROR,
}
_COLLECTION: Final = "collection"


@dataclass(slots=True)
class RunReport:
    """A run of suites."""

    finished: list[FinishedCase] = field(default_factory=list)
    """In the order in which they ended."""
    problems: Sequence[str] = ()
    """Files that could not be run."""
    warnings: Sequence[str] = ()
    deselected: int = 0
    seconds: float = 0.0
    is_interrupted: bool = False
    coverage: Sequence[VersionCoverage] | None = None
    """None if it was not asked for."""

    @property
    def failures(self) -> list[FinishedCase]:
        """Return the cases that did not pass, in the order of their names."""
        return sorted((each for each in self.finished if each.result.outcome is not CaseOutcome.PASSED), key=lambda each: each.place)

    @property
    def is_failure(self) -> bool:
        """Return whether a case or a file did not pass."""
        return bool(self.problems) or any(each.result.outcome is not CaseOutcome.PASSED for each in self.finished)

    def summary(self) -> str:
        """Return the numbers on one line, as pytest does."""
        counts = Counter(each.result.outcome for each in self.finished)
        errors = counts[CaseOutcome.ERROR] + len(self.problems)
        parts = [
            (counts[CaseOutcome.FAILED], "failed"),
            (counts[CaseOutcome.PASSED], "passed"),
            (self.deselected, "deselected"),
            (len(self.warnings), "warning" if len(self.warnings) == 1 else "warnings"),
            (errors, "error" if errors == 1 else "errors"),
        ]
        texts = [f"{count} {name}" for count, name in parts if count] or ["no cases ran"]
        return ", ".join([*texts, *(["interrupted"] if self.is_interrupted else [])])

    def as_document(self) -> Object:
        """Return the report as JSON."""
        coverage = {} if self.coverage is None else {"coverage": [each.as_document() for each in self.coverage]}
        return coverage | {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "summary": self.summary(),
            "failed": self.is_failure,
            "seconds": round(self.seconds, 3),
            "deselected": self.deselected,
            "problems": list(self.problems),
            "warnings": list(self.warnings),
            "cases": [_case(each) for each in sorted(self.finished, key=lambda each: each.place)],
        }


def _case(finished: FinishedCase) -> Object:
    case, result, suite = finished.case, finished.result, finished.variant.suite
    return {
        "file": str(suite.path),
        "line": case.line,
        "suite": suite.name,
        "crd": suite.crd_name,
        "manifest": str(finished.variant.manifest),
        "kind": str(case.kind),
        "name": case.name,
        "outcome": str(result.outcome),
        "message": result.message,
        "expected": json_values.copy(result.expected),
        "found": json_values.copy(result.found),
        "seconds": round(result.seconds, 4),
    }


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

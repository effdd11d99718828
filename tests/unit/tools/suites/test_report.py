"""Reports of runs, as JSON and JUnit."""

from pathlib import Path
from xml.etree import ElementTree as ET

from apiext.tools.suites.model import CaseKind, CaseOutcome, CaseResult, FinishedCase, Suite, SuiteCase, SuiteVariant
from apiext.tools.suites.report import RunReport, junit_of


def _finished(name: str, result: CaseResult) -> FinishedCase:
    suite = Suite(Path("a.yaml"), "Widgets", "widgets.example.com", "v1", (), (), {}, ())
    return FinishedCase(SuiteVariant(suite, Path("crd.yaml"), "", "crd.yaml"), SuiteCase(CaseKind.ON_CREATE, 0, name, 7, {}), result)


def _report() -> RunReport:
    finished = [
        _finished("c", CaseResult(CaseOutcome.ERROR, "refused")),
        _finished("b", CaseResult(CaseOutcome.FAILED, "differs\n-a\n+b\x1b", {"a": 1}, {"a": 2})),
        _finished("a", CaseResult(CaseOutcome.PASSED, seconds=0.25)),
    ]
    return RunReport(finished, problems=["b.yaml:3: bad"], warnings=["w"], deselected=2)


def test_summary() -> None:
    """The summary has the numbers as pytest's; a file that could not be run is an error."""
    assert _report().summary() == "1 failed, 1 passed, 2 deselected, 1 warning, 2 errors"
    assert RunReport().summary() == "no cases ran"
    assert RunReport(is_interrupted=True).summary() == "no cases ran, interrupted"
    assert _report().is_failure
    assert not RunReport().is_failure


def test_document() -> None:
    """The document has the cases in order, with places, objects and outcomes."""
    document = _report().as_document()

    assert [(case["name"], case["outcome"], case["line"]) for case in document["cases"]] == [
        ("a", "passed", 7),
        ("b", "failed", 7),
        ("c", "error", 7),
    ]
    assert (document["cases"][1]["expected"], document["cases"][1]["found"]) == ({"a": 1}, {"a": 2})
    assert "coverage" not in document


def test_junit() -> None:
    """Each case is a test case with failure or error; so is a file that could not be run."""
    root = ET.fromstring(junit_of(_report()))  # noqa: S314 -- made by this test

    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("4", "1", "2")
    assert root.findtext("testsuite/testcase/failure") == "differs\n-a\n+b\ufffd"
    assert next(case.get("time") for case in root.iter("testcase")) == "0.2500"

"""A run of suites as JUnit XML: a test suite for each file and manifest, a test case for each case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from apiext.tools.plan.summary import printable
from apiext.tools.suites.model import CaseOutcome

if TYPE_CHECKING:
    from apiext.tools.suites.model import FinishedCase
    from apiext.tools.suites.report import RunReport

_NAME: Final = "apiext test"


def junit_of(report: RunReport) -> str:
    """Return a run as JUnit XML."""
    root = ET.Element("testsuites", name=_NAME)
    suites: dict[str, ET.Element] = {}
    for each in sorted(report.finished, key=lambda each: each.place):
        name = f"{each.variant.suite.path}::{each.variant.label}"
        if name not in suites:
            suites[name] = ET.SubElement(root, "testsuite", name=printable(name))
        _case(suites[name], each)
    if report.problems:
        suite = ET.SubElement(root, "testsuite", name="collection")
        for problem in report.problems:
            case = ET.SubElement(suite, "testcase", classname="collection", name=printable(problem.partition(": ")[0]))
            ET.SubElement(case, "error", message=printable(problem)).text = printable(problem)
    for parent in (root, *root):
        cases = list(parent.iter("testcase"))
        parent.set("tests", str(len(cases)))
        parent.set("failures", str(sum(case.find("failure") is not None for case in cases)))
        parent.set("errors", str(sum(case.find("error") is not None for case in cases)))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ET.Element, finished: FinishedCase) -> None:
    case, result = finished.case, finished.result
    element = ET.SubElement(
        suite,
        "testcase",
        classname=printable(f"{finished.variant.suite.crd_name}.{case.kind}"),
        name=printable(case.name),
        file=printable(str(finished.variant.suite.path)),
        line=str(case.line),
        time=f"{result.seconds:.4f}",
    )
    if result.outcome is not CaseOutcome.PASSED:
        lines = result.message.splitlines() or [""]
        problem = ET.SubElement(element, "failure" if result.outcome is CaseOutcome.FAILED else "error", message=printable(lines[0]))
        problem.text = "\n".join(map(printable, lines))

"""Reports as JUnit XML: a test suite for each section, a test case for each finding."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from apiext.tools.reports.texts import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class FindingOutcome(StrEnum):
    """What a finding is as a test case; the values are elements of JUnit."""

    PASSED = "passed"
    SKIPPED = "skipped"
    FAILED = "failure"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class ReportFinding:
    """Something that was checked."""

    owner: str
    """What was checked: the name of a definition."""
    name: str
    outcome: FindingOutcome = FindingOutcome.PASSED
    message: str = ""
    """Why it did not pass; lines."""
    output: str = ""
    """More about it; lines."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Further attributes of the test case."""


@dataclass(frozen=True, slots=True)
class ReportSection:
    """Findings about one thing."""

    name: str
    findings: Iterable[ReportFinding]


def junit_text(name: str, sections: Iterable[ReportSection]) -> str:
    """Return sections as JUnit XML."""
    root = ET.Element("testsuites", name=name)
    for section in sections:
        suite = ET.SubElement(root, "testsuite", name=printable(section.name))
        for finding in section.findings:
            _add(suite, finding)
    for parent in (root, *root):
        cases = list(parent.iter("testcase"))
        parent.set("tests", str(len(cases)))
        for what, outcome in (("failures", FindingOutcome.FAILED), ("errors", FindingOutcome.ERROR)):
            parent.set(what, str(sum(case.find(outcome) is not None for case in cases)))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add(suite: ET.Element, finding: ReportFinding) -> None:
    about = {"classname": finding.owner, "name": finding.name, **finding.attributes}
    case = ET.SubElement(suite, "testcase", {name: printable(text) for name, text in about.items()})
    if finding.outcome is not FindingOutcome.PASSED:
        lines = [printable(line) for line in finding.message.splitlines()] or [""]
        problem = ET.SubElement(case, finding.outcome, message=lines[0])
        if finding.outcome is not FindingOutcome.SKIPPED:
            problem.text = "\n".join(lines)
    if finding.output:
        ET.SubElement(case, "system-out").text = "\n".join(map(printable, finding.output.splitlines()))

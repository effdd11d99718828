"""A replay as JUnit XML: a test suite for each transition, a test case for each definition, step and problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from apiext.tools.plan.summary import printable, step_title
from apiext.tools.replay.text import text_of_problem, title_of

if TYPE_CHECKING:
    from apiext.tools.replay.outcome import DefinitionReplay, ReplayReport

_NAME: Final = "apiext replay"


def junit_of(report: ReplayReport) -> str:
    """Return a replay as JUnit XML. A case fails if something is lost, or happens that the plan does not foretell."""
    root = ET.Element("testsuites", name=_NAME)
    for transition in report.transitions:
        suite = ET.SubElement(root, "testsuite", name=printable(title_of(transition)))
        for part in transition.definitions:
            _definition(suite, part)
    for parent in (root, *root):
        cases = list(parent.iter("testcase"))
        parent.set("tests", str(len(cases)))
        parent.set("failures", str(sum(case.find("failure") is not None for case in cases)))
        parent.set("errors", "0")
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _definition(suite: ET.Element, part: DefinitionReplay) -> None:
    for number, taken in enumerate(part.steps, 1):
        _case(suite, part.name, step_title(number, taken.step), failure=taken.problem)
    _case(suite, part.name, f"{part.objects} objects", output="; ".join(part.not_proved))
    for problem in part.problems:
        text = text_of_problem(problem)
        name = " ".join(filter(None, (problem.kind, problem.version, problem.path)))
        _case(suite, part.name, name, failure=text if problem.is_harm else "", output=text)


def _case(suite: ET.Element, definition: str, name: str, *, failure: str = "", output: str = "") -> None:
    case = ET.SubElement(suite, "testcase", classname=definition, name=printable(name))
    if failure:
        ET.SubElement(case, "failure", message=printable(failure)).text = printable(failure)
    if output:
        ET.SubElement(case, "system-out").text = printable(output)

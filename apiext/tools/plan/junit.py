"""A plan as JUnit XML: a test suite for each definition, a test case for each change, finding and refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from apiext.resources.comparison.change import Grade
from apiext.tools.plan import summary, verdict
from apiext.tools.plan.plan import Safety
from apiext.tools.plan.summary import printable

if TYPE_CHECKING:
    from apiext.tools.plan.plan import DefinitionPlan, ReleasePlan

_NAME: Final = "apiext plan"


def junit_of(plan: ReleasePlan) -> str:
    """Return a plan as JUnit XML. A case fails if it makes the plan breaking."""
    root = ET.Element("testsuites", name=_NAME)
    for one in plan.definitions:
        _suite(root, one)
    for parent in (root, *root):
        cases = list(parent.iter("testcase"))
        parent.set("tests", str(len(cases)))
        parent.set("failures", str(sum(case.find("failure") is not None for case in cases)))
        parent.set("errors", "0")
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(root: ET.Element, plan: DefinitionPlan) -> None:
    suite = ET.SubElement(root, "testsuite", name=plan.name)
    steps = "; ".join(summary.step_title(number, step) for number, step in enumerate(plan.steps, 1))
    known: set[str] = set()
    for change in plan.changes:
        text = verdict.text_of_change(change)
        failure = text if change.grade is Grade.ERROR and text in plan.breaks else ""
        known.add(text)
        _case(suite, plan, f"{change.rule} {change.version} {change.path}", failure=failure, output=f"{change.grade}: {text}")
    for finding in plan.objects.findings if plan.objects is not None else ():
        text = verdict.text_of_finding(finding)
        known.add(text)
        name = f"objects {finding.kind} {finding.version} {finding.path}"
        _case(suite, plan, name, failure=text if text in plan.breaks else "", output=text)
    rest = [line for line in plan.breaks if line not in known]
    _case(suite, plan, "verdict", failure="\n".join(rest), output=f"{summary.VERDICTS[plan.verdict]}{': ' if steps else ''}{steps}")
    if plan.way_back is not None:
        way = plan.way_back
        skipped = "\n".join(way.breaks) if way.verdict is Safety.BREAKING else ""
        _case(suite, plan, "rollback", skipped=skipped, output=summary.rollback_line(way))


def _case(suite: ET.Element, plan: DefinitionPlan, name: str, *, failure: str = "", skipped: str = "", output: str = "") -> None:
    case = ET.SubElement(suite, "testcase", classname=plan.name, name=printable(" ".join(name.split())))
    if failure:
        ET.SubElement(case, "failure", message=printable(failure.splitlines()[0])).text = _lines(failure)
    elif skipped:
        ET.SubElement(case, "skipped", message=printable(skipped.splitlines()[0]))
    if output:
        ET.SubElement(case, "system-out").text = _lines(output)


def _lines(text: str) -> str:
    return "\n".join(map(printable, text.splitlines()))

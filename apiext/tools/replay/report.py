"""A replay as text, as a JSON document, which `replay.schema.json` describes, and as JUnit XML: a test suite for each transition."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.texts import counted
from apiext.tools.plan.summary import VERDICTS, step_title
from apiext.tools.replay.outcome import Foretold
from apiext.tools.reports.console import ConsoleReport
from apiext.tools.reports.junit import FindingOutcome, ReportFinding, ReportSection, junit_text
from apiext.tools.reports.members import members_of
from apiext.tools.reports.texts import named, placed, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.replay.outcome import DefinitionReplay, Problem, ReleaseChange, ReplayReport, StepReplay

API_VERSION: Final = "lab.apiext.dev/v1alpha1"
"""A member may be added without a new version; none is removed or changed."""
KIND: Final = "Replay"
_FORETOLD: Final = {
    Foretold.NO: "not foretold: ",
    Foretold.YES: "foretold: ",
    Foretold.BEFORE: "as before the release: ",
}


class ReplayText(ConsoleReport):
    """Writes a replay to a console."""

    def write(self, report: ReplayReport) -> None:
        """Write a replay."""
        verdict, style = ("NOT AS IT SHOULD BE", "bold red") if report.is_lost else ("NOTHING LOST", "bold green")
        ways = counted(len(report.transitions), "change")
        self.line(verdict, style, after=f"  {report.recording}: {counted(report.objects, 'object')}, {ways} of definitions")
        for transition in report.transitions:
            self.line("")
            self.line(title_of(transition), "bold")
            for part in transition.definitions:
                self._definition(part)
        if report.not_proved:
            self.line("")
            self.list("not proved", report.not_proved, "yellow")

    def _definition(self, part: DefinitionReplay) -> None:
        self.line(f"  {part.name}", after=f"  plan: {VERDICTS[part.verdict]}; {counted(part.objects, 'object')}")
        for number, taken in enumerate(part.steps, 1):
            done = f": {taken.problem}" if taken.problem else f"  {taken.seconds:.1f} s"
            self.line(f"    {step_title(number, taken.step)}", after=done, after_style="red" if taken.problem else "dim")
        for problem in part.problems:
            self.line(f"    - {text_of_problem(problem)}", "red" if problem.is_harm else "yellow")
        for text in part.not_proved:
            self.line(f"    not proved: {text}", "dim")


def title_of(transition: ReleaseChange) -> str:
    """Return the releases of a transition."""
    if transition.old == transition.new:
        return transition.old
    return f"{transition.old} -> {transition.new}{' (rollback)' if transition.is_way_back else ''}"


def text_of_problem(problem: Problem) -> str:
    """Return a problem with its place, its number of objects, the first of them, and whether it is foretold."""
    text = placed(problem.version, problem.path, problem.message)
    return _FORETOLD[problem.foretold] + (named(problem.count, text, problem.examples) if problem.count else text)


def document_of(report: ReplayReport) -> Object:
    """Return a replay as a JSON document."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "recording": report.recording,
        "objects": report.objects,
        "lost": report.is_lost,
        "notProved": list(report.not_proved),
        "transitions": list(map(_document_of_transition, report.transitions)),
    }


def schema() -> Object:
    """Return the JSON Schema of the document."""
    found: Object = json_codec.loads(files("apiext.tools.replay").joinpath("replay.schema.json").read_bytes())
    return found


def _document_of_transition(transition: ReleaseChange) -> Object:
    return {
        "from": transition.old,
        "to": transition.new,
        "wayBack": transition.is_way_back,
        "definitions": list(map(_document_of_definition, transition.definitions)),
    }


def _document_of_definition(part: DefinitionReplay) -> Object:
    return members_of(part, without="steps problems not_proved") | {
        "steps": list(map(_document_of_step, part.steps)),
        "problems": [members_of(problem) | {"harm": problem.is_harm} for problem in part.problems],
        "notProved": part.not_proved,
    }


def _document_of_step(taken: StepReplay) -> Object:
    step = taken.step
    return {
        "kind": step.kind,
        "need": step.need,
        "title": step.title,
        "seconds": round(taken.seconds, 3),
        "problem": taken.problem or None,
    }


def junit_of(report: ReplayReport) -> str:
    """Return a replay as JUnit XML. A case fails if something is lost, or happens that the plan does not foretell."""
    return junit_text("apiext replay", [ReportSection(title_of(one), _findings(one)) for one in report.transitions])


def _findings(transition: ReleaseChange) -> Iterator[ReportFinding]:
    for part in transition.definitions:
        for number, taken in enumerate(part.steps, 1):
            yield _finding(part, step_title(number, taken.step), failure=taken.problem)
        yield _finding(part, counted(part.objects, "object"), output="; ".join(part.not_proved))
        for problem in part.problems:
            text = text_of_problem(problem)
            name = " ".join(filter(None, (problem.kind, problem.version, problem.path)))
            yield _finding(part, name, failure=text if problem.is_harm else "", output=text)


def _finding(part: DefinitionReplay, name: str, *, failure: str = "", output: str = "") -> ReportFinding:
    outcome = FindingOutcome.FAILED if failure else FindingOutcome.PASSED
    return ReportFinding(part.name, name, outcome, printable(failure), printable(output))

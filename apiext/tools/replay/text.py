"""A replay as text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.tools.plan.summary import VERDICTS, step_title
from apiext.tools.replay.outcome import Foretold
from apiext.tools.reports.console import ConsoleReport
from apiext.tools.reports.texts import counted

if TYPE_CHECKING:
    from apiext.tools.replay.outcome import DefinitionReplay, Problem, ReleaseChange, ReplayReport

_NAMED: Final = 3
"""Objects that a problem names."""
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
    place = " ".join(filter(None, (problem.version, problem.path)))
    text = f"{place}: {problem.message}" if place else problem.message
    if problem.count:
        more = ", ..." if problem.count > min(len(problem.examples), _NAMED) else ""
        text = f"{counted(problem.count, 'object')}: {text} ({', '.join(problem.examples[:_NAMED])}{more})"
    return _FORETOLD[problem.foretold] + text

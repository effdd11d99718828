"""A run of suites as text: dots or lines while it runs, failures with differences, and a summary, as pytest's."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click

from apiext.base.texts import counted
from apiext.tools.reports.texts import printable
from apiext.tools.suites.coverage.coverage import coverage_lines
from apiext.tools.suites.model import CaseOutcome

if TYPE_CHECKING:
    from apiext.tools.suites.model import FinishedCase
    from apiext.tools.suites.report import RunReport

_WIDTH: Final = 100
_MARKS: Final = {CaseOutcome.PASSED: (".", "green"), CaseOutcome.FAILED: ("F", "red"), CaseOutcome.ERROR: ("E", "red")}
_MOST_WARNINGS: Final = 20


class SessionText:
    """Writes a run to stdout, or nothing if it is not `shown`."""

    def __init__(self, *, shown: bool, verbose: bool, total: int) -> None:
        self._shown = shown
        self._verbose = verbose
        self._total = total
        self._done = 0
        self._column = 0

    def begin(self, suites: int, processes: int) -> None:
        """Write the head."""
        self._rule("apiext test starts")
        self._line(f"{counted(self._total, 'case')} of {counted(suites, 'suite')} on {counted(processes, 'server')}")
        self._line("")

    def finished(self, each: FinishedCase) -> None:
        """Write a case that is finished."""
        self._done += 1
        if not self._shown:
            return
        mark, colour = _MARKS[each.result.outcome]
        if self._verbose:
            outcome = click.style(str(each.result.outcome).upper(), fg=colour)
            click.echo(f"{printable(each.place)} {outcome}  {each.result.seconds:.3f} s")
            return
        click.echo(click.style(mark, fg=colour), nl=False)
        self._column += 1
        if self._column == _WIDTH - 8 or self._done == self._total:
            click.echo(" " * (_WIDTH - 8 - self._column) + f" [{self._done * 100 // self._total:3d}%]")
            self._column = 0
        elif sys.stdout.isatty():
            sys.stdout.flush()

    def end(self, report: RunReport) -> None:
        """Write failures, warnings and the summary."""
        if self._column:
            self._line("")
        if failures := report.failures:
            self._rule("FAILURES")
            for each in failures:
                self._rule(each.place, mark="_", colour="red")
                self._line(f"{each.variant.suite.path}:{each.case.line}: {each.variant.suite.crd_name}, {each.case.kind}")
                for line in each.result.message.splitlines():
                    self._difference(line)
        if report.problems:
            self._rule("ERRORS")
            for problem in report.problems:
                self._line(problem, "red")
        self._warnings(report)
        if report.coverage is not None:
            self._rule("coverage")
            for line in coverage_lines(report.coverage):
                self._line(line)
        if failures:
            self._rule("short summary")
            for each in failures:
                first = (each.result.message.splitlines() or [""])[0]
                self._line(f"{str(each.result.outcome).upper()} {each.place} - {first}"[: 4 * _WIDTH])
        self._rule(f"{report.summary()} in {report.seconds:.2f}s", colour="red" if report.is_failure else "green")

    def _warnings(self, report: RunReport) -> None:
        if report.warnings:
            self._rule("warnings")
            for warning in report.warnings[:_MOST_WARNINGS]:
                self._line(warning, "yellow")
            if len(report.warnings) > _MOST_WARNINGS:
                self._line(f"... {len(report.warnings) - _MOST_WARNINGS} more")

    def _difference(self, line: str) -> None:
        self._line(line, {"-": "red", "+": "green", "@": "cyan"}.get(line[:1], ""))

    def _rule(self, text: str, *, mark: str = "=", colour: str = "") -> None:
        self._line(f" {printable(text)} ".center(_WIDTH, mark), colour)

    def _line(self, text: str, colour: str = "") -> None:
        if self._shown:
            click.echo(click.style(printable(text), fg=colour or None))

"""A plan as text for people: the verdict, what breaks, what to do. With details, everything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from apiext.base.texts import counted
from apiext.tools.plan import field_lines, summary, verdict
from apiext.tools.plan.plan import Safety, State
from apiext.tools.reports.console import ConsoleReport

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from apiext.tools.plan.plan import DefinitionPlan, PlanStep, ReleasePlan, VersionsReport, WayBack

_STYLES: Final = {Safety.SAFE: "bold green", Safety.STEPS: "bold yellow", Safety.BREAKING: "bold red"}
_MOST_LINES: Final = 40
"""Lines of a plan for five definitions without details; each further one may add _MORE_LINES."""
_FEW: Final = 5
_MORE_LINES: Final = 2
_COLUMNS: Final = 160
"""Columns of a line of a list without details."""


class _Line(NamedTuple):
    text: str
    style: str = ""
    after: str = ""
    after_style: str = ""


class _Limits(NamedTuple):
    """How much of a plan is written."""

    lines: int | None
    """The lines of a list; None for all."""
    has_steps: bool = True


_LIMITS: Final = (_Limits(5), _Limits(3), _Limits(2), _Limits(1), _Limits(1, has_steps=False))
"""From much to little: the first one with few enough lines counts."""


class PlanText(ConsoleReport):
    """Writes a plan to a console. With `details`, it writes everything."""

    def __init__(self, console: Console, *, details: bool) -> None:
        super().__init__(console)
        self._details = details

    def write(self, plan: ReleasePlan) -> None:
        """Write the whole plan."""
        number = sum(one.state is not State.UNCHANGED for one in plan.definitions)
        most = _MOST_LINES + _MORE_LINES * max(0, number - _FEW)
        lines: list[_Line] = []
        for limits in [_Limits(None)] if self._details else _LIMITS:
            lines = [*self._lines(plan, limits)]
            if len(lines) <= most:
                break
        for line in lines:
            self.line(line.text, line.style, after=line.after, after_style=line.after_style)

    def _lines(self, plan: ReleasePlan, limits: _Limits) -> Iterator[_Line]:
        head, colon, rest = summary.first_line(plan).partition(":")
        yield _Line(head + colon, _STYLES[plan.verdict], rest)
        yield _Line(summary.headline(plan), "dim")
        shown = summary.shown_first(plan)
        if shown:
            yield _Line("")
        for one in shown:
            yield from self._definition(one, limits)
        if not self._details:
            yield from _shared_steps(shown, limits)
        for text in filter(None, (summary.unchanged_line(plan), *plan.notes, *self._hints(plan))):
            yield _Line(text, "dim")

    def _hints(self, plan: ReleasePlan) -> Iterator[str]:
        has_steps = any(one.steps for one in plan.definitions)
        if self._details:
            if any(step.written is not None for one in plan.definitions for step in one.steps):
                yield "FILE is the manifest of the step: --steps-dir writes it"
            return
        shown = [one.versions for one in plan.definitions if one.state is not State.UNCHANGED and one.versions is not None]
        if any(not report.is_exact and len(report.rows) > 1 for report in shown):
            yield "stored versions are estimated: --stored counts exactly"
        if has_steps or any(one.changes for one in plan.definitions):
            yield "-v shows everything; --steps prints the steps as a shell script, -o html writes a page"

    def _definition(self, plan: DefinitionPlan, limits: _Limits) -> Iterator[_Line]:
        state = "" if plan.state is State.CHANGED else f" ({plan.state})"
        yield _Line(f"{plan.name}{state}: ", _STYLES[plan.verdict], summary.about_definition(plan))
        yield from _list(field_lines.break_lines(plan), limits, "red")
        if plan.verdict is Safety.STEPS:
            yield from _list([f"refused without the steps: {reason}" for reason in plan.refusals], limits, "yellow")
        yield from _list(field_lines.caution_lines(plan), limits, "yellow")
        if self._details:
            yield from self._all_about(plan)
        elif plan.way_back is not None and plan.way_back.verdict is Safety.BREAKING:
            yield from _list([f"rollback: {line}" for line in plan.way_back.breaks], limits, "yellow")

    def _all_about(self, plan: DefinitionPlan) -> Iterator[_Line]:
        yield from _steps("do", plan.steps)
        for number, change in enumerate(plan.changes):
            if not number:
                yield _Line("  changes", "bold")
            reason = f" (ignored: {change.reason})" if change.reason else ""
            yield _Line(f"    {change.grade:8} {change.rule:28} {verdict.text_of_change(change)}{reason}")
        if plan.objects is not None:
            yield _Line("  objects: ", "bold", summary.objects_line(plan.objects))
            for finding in plan.objects.findings:
                known = f", {finding.already} of them before, too" if finding.already else ""
                yield _Line(f"    {finding.kind:16} {verdict.text_of_finding(finding)}{known}")
        if plan.versions is not None:
            yield from _versions(plan.versions)
        if plan.way_back is not None:
            yield from _way_back(plan.way_back)


def _versions(report: VersionsReport) -> Iterator[_Line]:
    yield _Line("  stored: ", "bold", f"{summary.versions_line(report)} ({report.evidence})")
    for row in report.rows:
        role = row.after or row.before
        marks = [mark for mark in ("served", "storage", "deprecated") if role is not None and getattr(role, mark)]
        yield _Line(f"    {row.name}: {', '.join(marks) or 'not served'}; can be dropped: {row.droppable}")


def _way_back(way: WayBack) -> Iterator[_Line]:
    yield _Line(f"  {summary.rollback_line(way)}", "bold" if way.verdict is Safety.SAFE else _STYLES[way.verdict])
    for title, lines in (("because", way.breaks), ("know", way.cautions), ("lost or refused", way.loses)):
        yield from _titled(title, lines)
    yield from _steps("do", way.steps)


def _steps(title: str, steps: Sequence[PlanStep]) -> Iterator[_Line]:
    if steps:
        yield _Line(f"  {title}", "bold")
    for number, step in enumerate(steps, 1):
        yield _Line(f"    {summary.step_line(number, step)}")
        yield from (_Line(f"       $ {command}", "dim") for command in step.commands)
        stored = ", ".join(step.stored_versions) or "none"
        yield _Line(f"       done when {step.check_text}; storedVersions: {stored}", "dim")


def _shared_steps(plans: Sequence[DefinitionPlan], limits: _Limits) -> Iterator[_Line]:
    """Yield the steps of all definitions, those once that several share."""
    shared = summary.shared_steps(plans)
    for names, lines in shared:
        about = f" for {summary.names_line(names)}" if len(plans) > 1 else ""
        if not limits.has_steps:
            yield _Line("do", "bold", f"{about}: {counted(len(lines), 'step')}, which --steps prints")
            continue
        yield _Line("do", "bold", about)
        yield from (_Line(f"  {line}") for line in lines)


def _titled(title: str, lines: Sequence[str]) -> Iterator[_Line]:
    if lines:
        yield _Line(f"  {title}", "bold")
        yield from (_Line(f"    - {line}") for line in lines)


def _list(lines: Sequence[str], limits: _Limits, style: str) -> Iterator[_Line]:
    """Yield a line for each text, and how many are left out."""
    for line in lines[: limits.lines]:
        yield _Line(f"  - {line}" if limits.lines is None or len(line) <= _COLUMNS else f"  - {line[:_COLUMNS]}...", style)
    if limits.lines is not None and len(lines) > limits.lines:
        yield _Line(f"  ... and {len(lines) - limits.lines} more", "dim")

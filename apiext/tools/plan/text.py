"""A plan as text for people: the verdict, what to do, then details."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.tools.plan import summary, verdict
from apiext.tools.plan.plan import Safety, State
from apiext.tools.reports.console import ConsoleReport

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from apiext.tools.plan.plan import DefinitionPlan, PlanStep, ReleasePlan, VersionsReport, WayBack

_STYLES: Final = {Safety.SAFE: "bold green", Safety.STEPS: "bold yellow", Safety.BREAKING: "bold red"}
_SHOWN: Final = 5
"""Lines of a list without -v."""


class PlanText(ConsoleReport):
    """Writes a plan to a console. With `details`, it writes everything."""

    def __init__(self, console: Console, *, details: bool) -> None:
        super().__init__(console)
        self._details = details

    def write(self, plan: ReleasePlan) -> None:
        """Write the whole plan."""
        self.line(summary.VERDICTS[plan.verdict].upper(), _STYLES[plan.verdict], after=f"  {summary.headline(plan)}")
        for one in summary.shown_first(plan):
            self._definition(one)
        for line in filter(None, (summary.unchanged_line(plan), *plan.notes)):
            self.line(line, "dim")
        if self._details and any(step.manifest is not None for one in plan.definitions for step in one.steps):
            self.line("FILE is the manifest of the step: --steps-dir writes it", "dim")
        if not self._details and any(one.changes or one.steps for one in plan.definitions):
            self.line("-v shows all changes, commands and numbers; --steps prints the steps as a shell script", "dim")

    def _definition(self, plan: DefinitionPlan) -> None:
        self.line("")
        state = "" if plan.state is State.CHANGED else f" ({plan.state})"
        self.line(plan.name + state, "bold", after=f"  {summary.VERDICTS[plan.verdict]}", after_style=_STYLES[plan.verdict])
        self._list("breaks", plan.breaks, "red")
        if plan.verdict is Safety.STEPS:
            self._list("refused without the steps", plan.refusals, "yellow")
        if self._details or not summary.is_plain(plan.steps):
            self._steps("do", plan.steps)
        self._list("know", plan.cautions, "yellow")
        self._pair("changes", summary.changes_line(plan))
        if self._details:
            for change in plan.changes:
                reason = f" (ignored: {change.reason})" if change.reason else ""
                self.line(f"    {change.grade:8} {change.rule:28} {verdict.text_of_change(change)}{reason}")
        if plan.objects is not None:
            self._pair("objects", summary.objects_line(plan.objects))
            for finding in plan.objects.findings if self._details else ():
                known = f", {finding.already} of them before, too" if finding.already else ""
                self.line(f"    {finding.kind:16} {verdict.text_of_finding(finding)}{known}")
        if plan.versions is not None:
            self._versions(plan.versions)
        if plan.way_back is not None:
            self._way_back(plan.way_back)

    def _versions(self, report: VersionsReport) -> None:
        if len(report.rows) > 1 or self._details:
            evidence = report.evidence if self._details or report.is_exact else "estimated: --stored counts exactly"
            self._pair("stored", f"{summary.versions_line(report)} ({evidence})")
        if self._details:
            for row in report.rows:
                role = row.after or row.before
                marks = [mark for mark in ("served", "storage", "deprecated") if role is not None and getattr(role, mark)]
                self.line(f"    {row.name}: {', '.join(marks) or 'not served'}; can be dropped: {row.droppable}")

    def _way_back(self, way: WayBack) -> None:
        self._pair("rollback", summary.rollback_line(way), "" if way.verdict is Safety.SAFE else _STYLES[way.verdict])
        self._list("  because", way.breaks, "red")
        if self._details or not summary.is_plain(way.steps):
            self._steps("  do", way.steps)
        if self._details:
            self._list("  know", way.cautions, "yellow")
            self._list("  lost or refused", way.loses, "")

    def _steps(self, title: str, steps: Sequence[PlanStep]) -> None:
        if steps:
            self.line(f"  {title}", "bold")
        for number, step in enumerate(steps, 1):
            reason = f": {step.reason}" if step.reason else ""
            self.line(f"    {summary.step_title(number, step)}{reason}")
            for line in self._step_details(step):
                self.line(f"       {line}", "dim")

    def _step_details(self, step: PlanStep) -> Iterator[str]:
        if self._details:
            yield from (f"$ {command}" for command in step.commands)
            yield f"done when {step.check_text}; storedVersions: {', '.join(step.stored_versions) or 'none'}"

    def _list(self, title: str, lines: Sequence[str], style: str) -> None:
        self.list(title, lines, style, most=None if self._details else _SHOWN, indent="  ")

    def _pair(self, name: str, text: str, style: str = "") -> None:
        self.line(f"  {name}: ", "bold", after=text, after_style=style)

"""A plan as Markdown for a pull request: tables, with details folded, in bounded length."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from apiext.tools.plan import summary, verdict
from apiext.tools.plan.plan import Safety, State
from apiext.tools.reports.texts import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from apiext.tools.plan.plan import DefinitionPlan, PlanStep, ReleasePlan

MAX_CHARACTERS: Final = 60_000
"""A comment on GitHub has at most 65,536."""
_ROWS: Final = 50
"""Rows of a table, and lines of a list."""
_MARKS: Final = {Safety.SAFE: "✅", Safety.STEPS: "⚠️", Safety.BREAKING: "❌"}
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~])")
_CUT: Final = "\n\n*The rest does not fit here: see the output of the job.*\n"


def markdown_of(plan: ReleasePlan) -> str:
    """Return a plan as Markdown."""
    blocks = [*_head(plan)]
    for one in summary.shown_first(plan):
        blocks += _definition(one)
    text, left = "", MAX_CHARACTERS - len(_CUT)
    for block in blocks:
        if len(text) + len(block) > left:
            return text.rstrip() + _CUT
        text += block
    return text


def _head(plan: ReleasePlan) -> Iterator[str]:
    yield f"### {_MARKS[plan.verdict]} apiext plan: {summary.VERDICTS[plan.verdict]}\n\n{_text(summary.headline(plan))}\n\n"
    rows = [
        (
            f"`{one.name}`" + ("" if one.state is State.CHANGED else f" ({one.state})"),
            f"{_MARKS[one.verdict]} {summary.VERDICTS[one.verdict]}",
            summary.changes_line(one),
            _text(summary.objects_line(one.objects)) if one.objects is not None else "not judged",
            summary.VERDICTS[one.way_back.verdict] if one.way_back is not None else "",
        )
        for one in summary.shown_first(plan)
    ]
    if rows:
        yield _table(("definition", "verdict", "changes", "objects", "rollback"), rows)
    notes = [line for line in (summary.unchanged_line(plan), *plan.notes) if line]
    if notes:
        yield _list(notes)


def _definition(plan: DefinitionPlan) -> Iterator[str]:
    details = [*_details(plan)]
    if plan.breaks or plan.cautions or not summary.is_plain(plan.steps) or details:
        yield f"#### `{plan.name}`\n\n"
    if plan.breaks:
        yield "**Breaks**\n\n" + _list(plan.breaks)
    if not summary.is_plain(plan.steps):
        yield "**Do, in this order** (FILE: a manifest of `apiext plan --steps-dir`)\n\n" + _steps(plan.steps)
    if plan.cautions:
        yield "**Know**\n\n" + _list(plan.cautions)
    yield from details


def _details(plan: DefinitionPlan) -> Iterator[str]:
    if plan.changes:
        rows: list[tuple[str, ...]] = [(change.grade, f"`{change.rule}`", _text(verdict.text_of_change(change))) for change in plan.changes]
        yield _folded(f"Changes: {summary.changes_line(plan)}", _table(("grade", "rule", "change"), rows))
    if plan.objects is not None and plan.objects.findings:
        rows = [(finding.kind, str(finding.count), _text(verdict.text_of_finding(finding))) for finding in plan.objects.findings]
        yield _folded(f"Objects: {summary.objects_line(plan.objects)}", _table(("finding", "objects", "what"), rows))
    if plan.versions is not None and len(plan.versions.rows) > 1:
        rows = [
            (
                f"`{row.name}`",
                "" if row.objects is None else str(row.objects),
                "yes" if row.is_listed else "",
                _text(row.droppable),
            )
            for row in plan.versions.rows
        ]
        table = _table(("version", "objects", "in storedVersions", "can be dropped"), rows)
        yield _folded(f"Versions: {summary.versions_line(plan.versions)}", f"{_text(plan.versions.evidence)}\n\n{table}")
    if plan.way_back is not None:
        way = plan.way_back
        body = _list(way.breaks) + (_steps(way.steps) if not summary.is_plain(way.steps) else "") + _list(way.loses)
        if body:
            yield _folded(f"Rollback: {summary.rollback_line(way)}", body)


def _steps(steps: Sequence[PlanStep]) -> str:
    lines = []
    for number, step in enumerate(steps, 1):
        reason = f": {step.reason}" if step.reason else ""
        lines.append(f"{number}. {_text(summary.step_title(number, step).partition('. ')[2] + reason)}\n")
        if step.commands:
            lines += ["   ```sh\n", *(f"   {printable(command)}\n" for command in step.commands), "   ```\n"]
        lines.append(f"   Done when {_text(step.check_text)}.\n")
    return "".join(lines) + "\n"


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{_html(title)}</summary>\n\n{body}</details>\n\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    found = [*rows]
    lines = [" | ".join(head), " | ".join("---" for _ in head), *(" | ".join(row) for row in found[:_ROWS])]
    return "".join(f"| {line} |\n" for line in lines) + _more(len(found)) + "\n"


def _list(lines: Sequence[str]) -> str:
    return "".join(f"- {_text(line)}\n" for line in lines[:_ROWS]) + _more(len(lines)) + ("\n" if lines else "")


def _more(number: int) -> str:
    return f"\n*... and {number - _ROWS} more*\n" if number > _ROWS else ""


def _text(text: str) -> str:
    """Return a text that Markdown shows as it is."""
    return _SPECIAL.sub(r"\\\1", printable(text))


def _html(text: str) -> str:
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

"""A plan as Markdown for a comment of a pull request: what breaks and what to do, with details folded, in bounded length."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from apiext.tools.plan import field_lines, summary, verdict
from apiext.tools.plan.plan import Safety, State
from apiext.tools.reports.texts import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from apiext.tools.plan.plan import DefinitionPlan, PlanStep, ReleasePlan

MAX_CHARACTERS: Final = 60_000
"""A comment on GitHub has at most 65,536."""
_ROWS: Final = 50
"""Rows of a table, and lines of a list."""
_REASONS: Final = 8
"""Lines below a definition that are not folded."""
_MARKS: Final = {Safety.SAFE: "✅", Safety.STEPS: "⚠️", Safety.BREAKING: "❌"}
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~])")
_CUT: Final = "\n\n*Some details do not fit here: see the output of the job, or `apiext plan -v`.*\n"


def markdown_of(plan: ReleasePlan) -> str:
    """Return a plan as Markdown: what to read, then everything in folded parts. A part that does not fit is left out, and it says so."""
    room = MAX_CHARACTERS - len(_CUT)
    text, is_cut = _fitting(_blocks(plan), room)
    for one in summary.shown_first(plan):
        before, after = f"<details><summary>{_html(one.name)}: everything</summary>\n\n", "</details>\n\n"
        found, is_less = _fitting(_details(one), room - len(text) - len(before) - len(after))
        is_cut |= is_less
        text += before + found + after if found else ""
    return text.rstrip() + _CUT if is_cut else text


def _fitting(parts: Iterable[str], room: int) -> tuple[str, bool]:
    """Return the parts that fit into a number of characters, and whether others do not."""
    text, is_cut = "", False
    for part in parts:
        if len(text) + len(part) > room:
            is_cut = True
        else:
            text += part
    return text, is_cut


def _blocks(plan: ReleasePlan) -> Iterator[str]:
    shown = summary.shown_first(plan)
    yield f"### {_MARKS[plan.verdict]} {_text(summary.first_line(plan))}\n\n{_text(summary.headline(plan))}\n\n"
    for one in shown:
        state = "" if one.state is State.CHANGED else f" ({one.state})"
        yield f"- {_MARKS[one.verdict]} **`{one.name}`**{state}: {_text(summary.about_definition(one))}\n{_reasons(one)}"
    yield "\n"
    for names, lines in summary.shared_steps(shown):
        steps = "".join(f"{_text(line)}\n" for line in lines)
        yield f"**Do, in this order,** for {_text(summary.names_line(names))}\n\n{steps}\n"
    notes = [line for line in (summary.unchanged_line(plan), *plan.notes) if line]
    if notes:
        yield _list(notes)


def _reasons(plan: DefinitionPlan) -> str:
    """Return what breaks and what to know, as a list below the definition."""
    lines = [(_MARKS[Safety.BREAKING], line) for line in field_lines.break_lines(plan)]
    lines += [(_MARKS[Safety.STEPS], line) for line in field_lines.caution_lines(plan)]
    more = f"  - ... and {len(lines) - _REASONS} more\n" if len(lines) > _REASONS else ""
    return "".join(f"  - {mark} {_text(line)}\n" for mark, line in lines[:_REASONS]) + more


def _details(plan: DefinitionPlan) -> Iterator[str]:
    if not summary.is_plain(plan.steps):
        yield _folded("Steps with commands (FILE: a manifest of apiext plan --steps-dir)", _steps(plan.steps))
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
            yield _folded(summary.rollback_line(way).capitalize(), body)


def _steps(steps: Sequence[PlanStep]) -> str:
    lines = []
    for number, step in enumerate(steps, 1):
        lines.append(f"{_text(summary.step_line(number, step))}\n")
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

"""A plan as an HTML page of one file: verdict, fields of both schemas, objects, and steps to copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.pages.page import HtmlPage, encoded
from apiext.tools.plan import field_lines, summary, verdict
from apiext.tools.plan.field_tree import trees_of
from apiext.tools.plan.script import yaml_of
from apiext.tools.reports.members import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.judgement.outcome import ObjectsReport
    from apiext.tools.plan.plan import DefinitionPlan, PlanStep, ReleasePlan, VersionsReport, WayBack

_PAGE: Final = HtmlPage("apiext.tools.plan")
MAX_MANIFEST: Final = 16_384
"""Characters of a manifest that a command on the page holds."""
_END: Final = "APIEXT_END_OF_MANIFEST"


def page_of(plan: ReleasePlan) -> str:
    """Return a plan as a page."""
    data = {
        "summary": summary.first_line(plan),
        "verdict": plan.verdict,
        "about": summary.headline(plan),
        "notes": [line for line in (summary.unchanged_line(plan), *plan.notes) if line],
        "definitions": [_definition(one) for one in summary.shown_first(plan)],
    }
    return _PAGE.filled(encoded(data)).decode()


def _definition(plan: DefinitionPlan) -> Object:
    return {
        "name": plan.name,
        "state": plan.state,
        "verdict": plan.verdict,
        "about": summary.about_definition(plan),
        "breaks": field_lines.break_lines(plan),
        "refusals": list(plan.refusals),
        "cautions": field_lines.caution_lines(plan),
        "steps": _steps(plan.steps),
        "trees": plain(trees_of(*plan.compared, plan.changes)),
        "objects": _objects(plan.objects),
        "versions": _versions(plan.versions),
        "rollback": _way_back(plan.way_back),
    }


def _objects(report: ObjectsReport | None) -> Object | None:
    if report is None:
        return None
    findings = [f"{one.kind}: {verdict.text_of_finding(one)}" for one in report.findings]
    return {"text": summary.objects_line(report), "findings": findings}


def _versions(report: VersionsReport | None) -> list[str]:
    if report is None:
        return []
    rows = [
        f"{row.name}{'' if row.objects is None else f': stored objects {row.objects}'}; can be dropped: {row.droppable}"
        for row in report.rows
    ]
    return [*rows, f"{summary.versions_line(report)}, {report.evidence}"]


def _way_back(way: WayBack | None) -> Object | None:
    if way is None:
        return None
    return {"text": summary.rollback_line(way), "breaks": list(way.breaks), "loses": list(way.loses), "steps": _steps(way.steps)}


def _steps(steps: Sequence[PlanStep]) -> list[Object]:
    return [
        {
            "text": summary.step_line(number, step).partition(" ")[2],
            "commands": [_command(command, step) for command in step.commands],
            "done": step.check_text,
        }
        for number, step in enumerate(steps, 1)
    ]


def _command(command: str, step: PlanStep) -> str:
    """Return a command with its manifest, if that is not long."""
    text = yaml_of(step.written) if step.written is not None and "FILE" in command else ""
    if not text or len(text) > MAX_MANIFEST:
        return command
    return f"{command.replace('FILE', '/dev/stdin')} <<'{_END}'\n{text}{_END}"
